"""The paper's picture of generated digits, in pixels and in the latent space of a VAE, with numbers beside it."""

from __future__ import annotations

import csv
import io
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from driftfit.datasets.common import Preset
from driftfit.errors import InputError
from driftfit.files import write_json, write_text
from driftfit.lab.launch import provenance_of
from driftfit.lab.vae_measures import VAESettings, measure_paths, pixel_error, plan_numbers
from driftfit.lab.vae_paths import (
    INPUT_OT,
    LATENT_OT,
    LATENT_TRUE,
    REAL,
    TARGET_ANGLE,
    ImagePath,
    load_digits,
    make_paths,
)
from driftfit.lab.vae_picture import draw_paths
from driftfit.models.networks import ConvVAE, fit_vae
from driftfit.models.torch.samples import pick_device
from driftfit.models.torch.training import seeded
from driftfit.seeds import derive_seed

__all__ = ["VAESettings", "run_vae"]

# Images in the picture: the first ones of the source, whatever they show.
N_PICTURED = 4


def run_vae(
    *,
    preset: Preset = "reference",
    seed: int = 0,
    seeds: int = 1,
    chosen: VAESettings | None = None,
    n_samples: int | None = None,
    device: str = "auto",
    output: str | Path = Path("runs") / "vae",
    quiet: bool = False,
) -> dict[str, Any]:
    """Train the VAE on upright and turned digits, follow plans between them, draw and measure the images.

    Parameters
    ----------
    preset : {"reference", "paper"}
        Of Rotated MNIST: the 10,000 test images, or 50,000 training images.
    seed, seeds : int
        The first seed, and how many runs; the picture shows the first one.
    chosen : VAESettings, optional
        How long and how it is trained, and how many domains are generated.
    n_samples : int, optional
        At most this many images in each domain, for a trial.
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    output : path
        Folder for ``vae.png``, ``vae.svg``, ``vae.json`` and ``vae.csv``; they are written after every run.
    quiet : bool
        No progress on stderr.

    Returns
    -------
    dict
        What ``vae.json`` holds: ``settings``, ``provenance`` and ``runs``, each with ``seed``, ``losses``,
        ``plans``, ``reconstruction`` and ``rows``, one for each kind of images and position.
    """
    if seeds < 1:
        raise InputError(f"seeds must be at least 1, got {seeds!r}")
    place, folder = pick_device(device), Path(output)
    chosen = chosen or VAESettings()
    about = {"preset": preset, "n_samples": n_samples, "target_angle": TARGET_ANGLE, "pictured": N_PICTURED}
    result: dict[str, Any] = {
        "settings": {**about, **asdict(chosen)},
        "provenance": provenance_of(place, asdict(chosen)),
        "runs": [],
    }
    for number in range(seed, seed + seeds):
        tell = _teller(f"vae, seed {number}", quiet)
        run, paths = _run_seed(preset, number, n_samples, chosen, place, tell)
        result["runs"].append(run)
        if number == seed:
            shown = {name: paths[name] for name in (INPUT_OT, LATENT_OT, LATENT_TRUE, REAL)}
            draw_paths({name: _pictured(path) for name, path in shown.items()}, chosen.positions, folder)
        _write(result, folder)
        tell(f"written to {folder}")
    return result


def _run_seed(
    preset: Preset,
    seed: int,
    n_samples: int | None,
    chosen: VAESettings,
    device: torch.device,
    tell: Callable[[str], None],
) -> tuple[dict[str, Any], dict[str, ImagePath]]:
    times = [time.perf_counter()]
    data = load_digits(preset, seed, n_samples, chosen.positions, device)
    source, target = data.own[0], data.own[-1]
    tell(f"{len(source)} images at each angle, {len(data.heldout[0])} held out")
    times.append(time.perf_counter())
    vae, losses = _trained(source, target, seed, chosen, tell)
    times.append(time.perf_counter())
    plans, paths = make_paths(data, vae, chosen.positions)
    tell("plans made")
    times.append(time.perf_counter())
    rows = measure_paths(paths, data, seed, chosen, tell)
    times.append(time.perf_counter())
    stages = ("data", "training", "plans and paths", "measures")
    ends = {"source": source, "target": target, "held-out source": data.heldout[0], "held-out target": data.heldout[-1]}
    run = {
        "seed": seed,
        "n_images": len(source),
        "n_heldout": len(data.heldout[0]),
        "losses": losses,
        "plans": [{"plan": name, **plan_numbers(plan, data.labels)} for name, plan in plans.items()],
        "reconstruction": {name: pixel_error(vae, images) for name, images in ends.items()},
        "rows": rows,
        "seconds": {name: round(times[i + 1] - times[i], 2) for i, name in enumerate(stages)},
    }
    return run, paths


def _trained(
    source: Tensor, target: Tensor, seed: int, chosen: VAESettings, tell: Callable[[str], None]
) -> tuple[ConvVAE, list[float]]:
    """The VAE of source and target together, without labels, and its loss after each epoch."""
    # Weights are drawn on the CPU, so that they are the same on every device.
    with seeded(derive_seed(seed, "vae weights"), torch.device("cpu")):
        vae = ConvVAE(source.shape[-1], in_channels=source.shape[1]).to(source.device)
    every = max(1, chosen.epochs // 10)
    started = time.perf_counter()

    def on_epoch(epoch: int, loss: float) -> None:
        if epoch % every == 0:
            left = (time.perf_counter() - started) / epoch * (chosen.epochs - epoch)
            tell(f"epoch {epoch}/{chosen.epochs}, loss {loss:.1f}, {left:.0f} s left")

    losses = fit_vae(
        vae,
        torch.cat([source, target]),
        epochs=chosen.epochs,
        batch_size=chosen.batch_size,
        lr=chosen.lr,
        seed=derive_seed(seed, "vae"),
        on_epoch=on_epoch,
    )
    return vae, losses


def _pictured(path: ImagePath) -> list[list[Any]]:
    """The images that begin at the first rows of the source: one list for each row, one image for each position."""
    entries = [int((path.mass * (path.rows == row)).argmax()) for row in range(min(N_PICTURED, len(path.images[0])))]
    return [[images[entry, 0].cpu().numpy() for images in path.images] for entry in entries]


def _write(result: dict[str, Any], folder: Path) -> None:
    write_json(folder / "vae.json", result)
    table = [{"seed": run["seed"], **row} for run in result["runs"] for row in run["rows"]]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(table[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()} for row in table
    )
    write_text(folder / "vae.csv", text.getvalue())


def _teller(title: str, quiet: bool) -> Callable[[str], None]:
    started = time.perf_counter()

    def tell(text: str) -> None:
        if not quiet:
            print(f"[{title}, {time.perf_counter() - started:.0f} s] {text}", file=sys.stderr, flush=True)

    return tell
