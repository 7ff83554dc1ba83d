"""The paper's picture of generated digits, in pixels and in the latent space of a VAE, with numbers beside it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from driftfit.datasets import rotated_mnist
from driftfit.datasets.common import Preset
from driftfit.domains import Domain, Interpolated
from driftfit.errors import InputError
from driftfit.files import write_json
from driftfit.lab.output import draw_paths
from driftfit.lab.paper import provenance_of
from driftfit.models.networks import ConvVAE, conv_net, fit_vae
from driftfit.models.torch.samples import Stored, logits, pick_device
from driftfit.models.torch.training import Adam, Recipe, Trainer, seeded
from driftfit.seeds import derive_seed
from driftfit.transport import Exact, OracleCoupling, Plan, Problem, solve, transport

TARGET_ANGLE = 45.0

# What each row of numbers is about; the last two are what the others are to be compared with.
INPUT_OT = "input space, optimal plan"
LATENT_OT = "latent space, optimal plan"
INPUT_TRUE = "input space, true pairs"
LATENT_TRUE = "latent space, true pairs"
REAL = "real rotation"
REAL_DECODED = "real rotation, through the VAE"
# Generated images whose distances to all real ones are held at a time.
_PART = 2048
# Images in the picture: the first ones of the source, whatever they show.
N_PICTURED = 4


@dataclass(frozen=True)
class VAESettings:
    """Everything about a run but the data: Adam and the batch size are the paper's.

    ``epochs``: the paper names none. With so small a learning rate the loss still sinks after thousands of steps; 300
    epochs are 12,000 steps on the full data. ``n_generated``: generated domains between source and target.
    ``batch_size``: the paper's is 512; with few images on a CPU a smaller one makes more steps of the same time.
    ``classifier_lr``: of the classifiers of real digits that look at generated images, one for each angle.
    """

    epochs: int = 300
    n_generated: int = 4
    batch_size: int = 512
    lr: float = 1e-4
    classifier_epochs: int = 10
    classifier_batch_size: int = 128
    classifier_lr: float = 1e-3

    def __post_init__(self) -> None:
        for name in ("epochs", "n_generated", "batch_size"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)!r}")

    @property
    def positions(self) -> list[float]:
        """Positions of all domains, source and target included."""
        return [i / (self.n_generated + 1) for i in range(self.n_generated + 2)]


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

    ``preset``: of Rotated MNIST: the 10,000 test images, or 50,000 training images. ``seed`` and ``seeds``: the first
    seed, and how many runs; the picture shows the first one. ``chosen``: how long and how it is trained, and how many
    domains are generated. ``n_samples``: at most this many images in each domain, for a trial. ``device``: ``"auto"``,
    ``"cpu"`` or ``"cuda"``. ``output``: folder for ``vae.png``, ``vae.svg`` and ``vae.json``; they are written
    after every run. ``quiet``: no progress on stderr. Returns what ``vae.json`` holds: ``settings``,
    ``provenance`` and ``runs``, each with ``seed``, ``losses``, ``plans``, ``reconstruction`` and ``rows``, one for
    each kind of images and position.
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
        write_json(folder / "vae.json", result)
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


def _teller(title: str, quiet: bool) -> Callable[[str], None]:
    started = time.perf_counter()

    def tell(text: str) -> None:
        if not quiet:
            print(f"[{title}, {time.perf_counter() - started:.0f} s] {text}", file=sys.stderr, flush=True)

    return tell


@dataclass(frozen=True, eq=False)
class Data:
    """Own images at every angle, source first and target last, and real images that no path is made of."""

    own: list[Tensor]
    labels: Tensor
    heldout: list[Tensor]
    heldout_labels: Tensor


@dataclass(frozen=True, eq=False)
class ImagePath:
    """Images at every position, the source row of each image, and its mass."""

    images: list[Tensor]
    rows: Tensor
    mass: Tensor


def load_digits(preset: Preset, seed: int, n_samples: int | None, positions: list[float], device: torch.device) -> Data:
    """The same digits at every angle, in the same order, and other digits at every angle."""
    own: list[Domain] = []
    heldout: list[Domain] = []
    for position in positions:
        angle = position * TARGET_ANGLE
        shared: dict[str, Any] = {"preset": preset, "seed": seed, "n_samples": n_samples, "target_angle": angle}
        own.append(rotated_mnist(0, **shared).target)
        heldout.append(rotated_mnist(0, split="heldout", **shared).target)
    images = [[torch.from_numpy(np.ascontiguousarray(d.samples)).to(device) for d in kept] for kept in (own, heldout)]
    labels = [torch.as_tensor(np.array(kept[0].labels), device=device) for kept in (own, heldout)]
    return Data(images[0], labels[0], images[1], labels[1])


def make_paths(data: Data, vae: ConvVAE, positions: list[float]) -> tuple[dict[str, Plan], dict[str, ImagePath]]:
    """Plans by name, and images along them and along the real rotation."""
    pixels = [data.own[0], data.own[-1]]
    latents = [vae.latents(images) for images in pixels]
    plans = {
        INPUT_OT: transport(pixels[0].flatten(1), pixels[1].flatten(1), solver=Exact()),
        LATENT_OT: transport(latents[0], latents[1], solver=Exact()),
    }
    # Each image with its own rotation, as no method can know it.
    true = true_pairs(len(pixels[0]))
    paths = {
        INPUT_OT: _path(plans[INPUT_OT], pixels, positions),
        LATENT_OT: _path(plans[LATENT_OT], latents, positions, vae),
        INPUT_TRUE: _path(true, pixels, positions),
        LATENT_TRUE: _path(true, latents, positions, vae),
        REAL: _image_path(data.own, true),
        REAL_DECODED: _image_path([vae.images(vae.latents(images)) for images in data.own], true),
    }
    return plans, paths


def true_pairs(n: int) -> Plan:
    """Row i with row i: the same objects in the same order.

    >>> true_pairs(2).cols.tolist()
    [0, 1]
    """
    # The costs are not looked at, so the samples are left out.
    return solve(Problem.of([[0.0]] * n, [[0.0]] * n), OracleCoupling(), certified=False)


def _path(plan: Plan, ends: list[Tensor], positions: list[float], vae: ConvVAE | None = None) -> ImagePath:
    """Images on the straight lines of a plan, decoded where the lines lie in a latent space."""
    points = [Interpolated.of(ends[0], ends[1], plan.rows, plan.cols, position).whole() for position in positions]
    return _image_path([x if vae is None else vae.images(x) for x in points], plan)


def _image_path(images: list[Tensor], plan: Plan) -> ImagePath:
    device = images[0].device
    return ImagePath(images, torch.from_numpy(plan.rows).to(device), torch.from_numpy(plan.mass).to(device))


def plan_numbers(plan: Plan, labels: Tensor) -> dict[str, float | None]:
    """How much of a plan joins images of one class, and the same image."""
    codes = labels.cpu().numpy()
    return {
        "same_class_percent": float(plan.mass[codes[plan.rows] == codes[plan.cols]].sum()) * 100,
        "same_image_percent": float(plan.mass[plan.rows == plan.cols].sum()) * 100,
        "gap": None if plan.certificate is None else plan.certificate.gap,
    }


def pixel_error(vae: ConvVAE, images: Tensor) -> float:
    """Root mean square error of a pixel after encoding and decoding."""
    return float((vae.images(vae.latents(images)) - images).square().mean().sqrt())


def measure_paths(
    paths: dict[str, ImagePath], data: Data, seed: int, chosen: VAESettings, tell: Callable[[str], None]
) -> list[dict[str, Any]]:
    """How near images at each position are to real digits of that angle; labels serve the diagnosis alone."""
    rows = []
    angles = torch.tensor([p * TARGET_ANGLE for p in chosen.positions], device=data.labels.device)
    for number, position in enumerate(chosen.positions):
        classifier = _digit_classifier(
            data.heldout[number], data.heldout_labels, derive_seed(seed, "judge", number), chosen
        )
        for name, path in paths.items():
            images, mass = path.images[number], path.mass
            distances = _nearest(images, data.heldout)
            found = angles[distances.argmin(1)]
            chances = logits(classifier, Stored(images)).softmax(1)
            top = chances.max(1)
            own = (images - data.own[number][path.rows]).flatten(1).norm(dim=1)
            values = {
                "nearest": distances[:, number],
                "own": own,
                "angle": found,
                "angle_error": (found - angles[number]).abs(),
                "classifier_accuracy": (top.indices == data.labels[path.rows]) * 100.0,
                "classifier_confidence": top.values * 100.0,
            }
            means = {key: float((value.double() * mass).sum()) for key, value in values.items()}
            rows.append({"images": name, "position": position, "true_angle": float(angles[number]), **means})
        tell(f"position {position:.2f} measured")
    return rows


def _nearest(images: Tensor, references: list[Tensor]) -> Tensor:
    """Distance of each image (row) to the nearest of each set of real ones (column)."""
    parts = torch.split(images.flatten(1), _PART)
    return torch.stack([torch.cat([torch.cdist(x, real.flatten(1)).amin(1) for x in parts]) for real in references], 1)


def _digit_classifier(images: Tensor, labels: Tensor, seed: int, chosen: VAESettings) -> torch.nn.Module:
    """A classifier of real digits of one angle, none of which is on a path."""
    with seeded(seed, torch.device("cpu")):
        module = conv_net(images.shape[-1], 10, n_conv=2, hidden=(128,), width=16, in_channels=images.shape[1])
    recipe = Recipe(chosen.classifier_epochs, chosen.classifier_batch_size, Adam(lr=chosen.classifier_lr))
    trainer = Trainer(module.to(images.device), recipe)
    trainer.train(Stored(images), torch.arange(len(images), device=images.device), labels, seed=seed)
    return trainer.module
