"""Pictures of a path: what the domains look like and how accuracy moves along them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from driftfit.domains import DomainSequence
from driftfit.files import atomic_file
from driftfit.methods import Transport, generate_path

# One hue per class, readable in print and by colour-blind readers.
PALETTE = ("#3b6fb6", "#d9662b", "#4a9c6d", "#9b5fb0", "#c2a83e", "#5bb5c4", "#b3425f", "#7a7a7a", "#2f4858", "#8cb369")


def save(figure: Any, target: Path) -> None:
    """Write a figure atomically and close it."""
    import matplotlib.pyplot as plt

    with atomic_file(target) as file:
        figure.savefig(file, format=target.suffix[1:], dpi=130, bbox_inches="tight", facecolor="white")
    plt.close(figure)


def image_rows(axes: Any, sequence: DomainSequence, n_generated: int, shape: tuple[int, int], n_rows: int = 3) -> None:
    """A few images of the source followed along the plans to the target, one panel of tiles."""
    path = generate_path(Transport().couple(sequence.masked()), n_generated)
    rows = np.linspace(0, len(sequence.source) - 1, n_rows).astype(int)
    columns = [sequence.source.samples[rows]]
    at = rows
    step = iter(path.steps)
    for plan in path.plans:
        # Follow the heaviest entry that leaves each image.
        entry = np.array([np.flatnonzero(plan.rows == row)[plan.mass[plan.rows == row].argmax()] for row in at])
        for _ in range(n_generated):
            columns.append(next(step).domain.samples[entry])
        at = plan.cols[entry]
        columns.append(next(step).domain.samples[at])
    tiles = [np.pad(np.asarray(images).reshape(-1, *shape), ((0, 0), (1, 1), (1, 1))) for images in columns]
    axes.imshow(np.hstack([np.vstack(list(column)) for column in tiles]), cmap="gray_r", vmin=0, vmax=1)
    given = [0, *(1 + i for i, s in enumerate(path.steps) if not s.generated)]
    width = shape[1] + 2
    axes.set_xticks([width * (i + 0.5) for i in given], [f"{domain.name}°\ngiven" for domain in sequence])
    axes.set_yticks([])
    axes.set_title("One image followed along the transport plans; unmarked columns are generated", fontsize=10)


def cloud_row(axes: Any, sequence: DomainSequence, classifier: Any, n_generated: int) -> None:
    """Real and generated 2-D domains side by side, the last one with the adapted decision regions."""
    path = generate_path(Transport().couple(sequence.masked()), n_generated)
    steps = [(sequence.source, False), *((step.domain, step.generated) for step in path.steps)]
    chosen = np.linspace(0, len(steps) - 1, len(axes)).round().astype(int)
    for axis, index in zip(axes, chosen, strict=True):
        domain, generated = steps[index]
        _cloud(axis, domain, classifier, is_target=index == len(steps) - 1, is_source=index == 0)
        kind = "generated" if generated else "given"
        axis.set_title(f"{'source' if index == 0 else 'target' if index == len(steps) - 1 else kind}", fontsize=10)


def _cloud(axis: Any, domain: Any, classifier: Any, *, is_target: bool, is_source: bool) -> None:
    points = np.asarray(domain.samples)
    if is_target:
        low, high = points.min(axis=0) - 0.4, points.max(axis=0) + 0.4
        grid = np.stack(np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 120)), axis=-1)
        regions = np.searchsorted(classifier.classes_, classifier.predict(grid.reshape(-1, 2))).reshape(120, 120)
        axis.contourf(grid[..., 0], grid[..., 1], regions, levels=[-0.5, 0.5, 1.5], colors=PALETTE[:2], alpha=0.2)
    labels = domain.labels if is_source else classifier.predict(points) if is_target else None
    if labels is None:
        colors: Any = "#888888"
    else:
        colors = [PALETTE[i % len(PALETTE)] for i in np.searchsorted(classifier.classes_, labels)]
    axis.scatter(points[:, 0], points[:, 1], s=4, c=colors, linewidths=0)
    axis.set_aspect("equal")
    axis.set_xticks([])
    axis.set_yticks([])


def accuracy_bars(axis: Any, accuracies: dict[str, list[float]], title: str) -> None:
    """Mean accuracy of each method as a bar, every seed as a dot."""
    names = list(accuracies)
    means = [100 * float(np.mean(values)) for values in accuracies.values()]
    places = np.arange(len(names))[::-1]
    axis.barh(places, means, color=[PALETTE[1] if name == "GOAT" else "#b8c4d6" for name in names], height=0.62)
    for place, values, mean in zip(places, accuracies.values(), means, strict=True):
        axis.plot(100 * np.array(values), [place] * len(values), "o", ms=3.5, color="#333333", alpha=0.7)
        axis.text(min(max(100 * max(values), mean) + 1.5, 101), place, f"{mean:.0f} %", va="center", fontsize=9)
    axis.set_yticks(places, names, fontsize=9)
    axis.set_xlim(0, 109)
    axis.set_xlabel("accuracy on held-out target samples (%)", fontsize=9)
    axis.set_title(title, fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)
