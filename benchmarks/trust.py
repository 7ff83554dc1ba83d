"""The table of verdicts in `docs/trust.md`, over seeds.

    python benchmarks/trust.py [--seeds 20] [--first-seed 0] [--json results/trust-verdicts.json]
    python benchmarks/trust.py --pictures

Labels of unlabelled domains are looked at here only, to compare; the library never sees them.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from records import write_record

from driftfit.domains import Domain, DomainSequence


def dialed_digits(seed: int) -> DomainSequence:
    """Digits whose class proportions jump while every class stays what it is; no image occurs twice.

    The source has 60 images of each class. In the next domain five classes keep 60 images and the
    others drop to 6; in the target it is the other way round.
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    rng = np.random.default_rng(seed)
    images, labels = digits.data / 16.0, digits.target
    pools = [rng.permutation(np.flatnonzero(labels == label)) for label in range(10)]
    first = rng.permutation(10) < 5
    counts = [np.full(10, 60), np.where(first, 60, 6), np.where(first, 6, 60)]
    ends = np.cumsum(counts, axis=0)
    domains = []
    for name, count, end in zip(("even", "first five", "last five"), counts, ends, strict=True):
        rows = np.concatenate([pools[label][end[label] - count[label] : end[label]] for label in range(10)])
        rows = rng.permutation(rows)
        domains.append(Domain(images[rows], labels=labels[rows], name=name))
    return DomainSequence(domains)


def mixed_digits(seed: int) -> DomainSequence:
    """Upright digits of which a growing share is turned by 60 degrees: gradual in number, not in place."""
    from driftfit.datasets.toy import rotated_digits

    upright, turned = rotated_digits((0, 60), seed=seed)
    rng = np.random.default_rng(seed)
    domains = [upright]
    for share in (0.25, 0.5, 0.75, 1.0):
        chosen = rng.random(len(upright)) < share
        samples = np.where(chosen[:, None], turned.samples, upright.samples)
        domains.append(Domain(samples, labels=upright.labels, name=f"{share:.0%} turned"))
    return DomainSequence(domains)


def scenes() -> dict[str, tuple[Any, set[str]]]:
    """Each scene with the verdicts that are right for it."""
    from driftfit.datasets.toy import rotated_digits

    labels, generate, no = "get labels here", "generate domains between these two", "do not adapt"
    return {
        'class proportions jump, classes stay ("dialing ratios")': (dialed_digits, {no, labels}),
        "digits turned to 60 degrees in steps of 5": (
            lambda seed: rotated_digits(tuple(range(0, 61, 5)), seed=seed),
            {"adapt"},
        ),
        "digits turned by 60 degrees at once": (lambda seed: rotated_digits((0, 60), seed=seed), {generate, labels}),
        "a growing share of the digits turned by 60 degrees": (mixed_digits, {no, labels}),
        "digits turned to 60 degrees in steps of 20": (
            lambda seed: rotated_digits((0, 20, 40, 60), seed=seed),
            {generate, labels},
        ),
        "the same digits twice": (lambda seed: rotated_digits((0, 0), seed=seed), {no}),
    }


def verdicts(n_seeds: int, first: int = 0) -> list[dict[str, Any]]:
    """The verdict on each scene, for every seed and two models."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC

    from driftfit.selection import check

    rows = []
    for model in (SVC(), LogisticRegression(max_iter=200)):
        for name, (make, right) in scenes().items():
            for seed in range(first, first + n_seeds):
                advice = check(make(seed), model, seed=seed).advice.value
                about = {"model": type(model).__name__, "path": name, "right advice": ", ".join(sorted(right))}
                rows.append({**about, "seed": seed, "advice": advice, "right": advice in right})
                print(rows[-1], flush=True)
    return rows


def ring(angle: float, seed: int, n: int = 300) -> tuple[Any, Any]:
    """Three classes at 0, 120 and 240 degrees, turned by an angle."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    turn = np.deg2rad(120.0 * labels + angle)
    return 4.0 * np.stack([np.cos(turn), np.sin(turn)], axis=1) + 0.3 * rng.normal(size=(n, 2)), labels


def pictures(folder: Path) -> None:
    """The ring whose two readings nothing can tell apart."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 2.7), layout="constrained")
    colours = np.array(["#4477aa", "#ee6677", "#228833"])
    source, labels = ring(0, 0)
    target, turned = ring(80, 1)
    panels = (
        ("source", source, colours[labels]),
        ("target, as it is seen", target, "0.5"),
        ("its classes, if it turned by 80 degrees", target, colours[turned]),
        ("its classes, if it turned back by 40", target, colours[(turned + 1) % 3]),
    )
    for axes, (title, points, colour) in zip(figure.subplots(1, 4), panels, strict=True):
        axes.scatter(*points.T, s=4, c=colour)
        axes.set(xticks=[], yticks=[], aspect="equal", xlim=(-5.5, 5.5), ylim=(-5.5, 5.5))
        axes.set_title(title, fontsize=9)
    figure.savefig(folder / "symmetric-ring.png", dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", action="store_true", help="draw the pictures of the page instead")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--json", dest="target", type=Path)
    arguments = parser.parse_args()
    if arguments.pictures:
        return pictures(Path("docs/images"))
    rows = verdicts(arguments.seeds, arguments.first_seed)
    if arguments.target:
        write_record(arguments.target, rows, range(arguments.first_seed, arguments.first_seed + arguments.seeds))


if __name__ == "__main__":
    main()
