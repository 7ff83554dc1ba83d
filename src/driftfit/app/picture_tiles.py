"""Pictures of a path of images, real and generated, as rows of grey values."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftfit.app.job import Result
from driftfit.app.report_numbers import as_array

__all__ = ["image_tiles"]

_TILES = 8


def image_tiles(result: Result) -> dict[str, Any] | None:
    """A few images of each domain on the path; None where samples are not images.

    Generated images are shown where the encoder can be turned back into pixels.
    """
    shape = result.checked.table.image_shape
    if shape is None:
        return None
    front = [step for name, step in getattr(result.source.estimator, "steps", []) if name == "encoder"]
    if front and not hasattr(front[0], "inverse_transform"):
        return _real_tiles(result, shape)
    path = result.path
    places = [(0.0, False, path.source), *((step.position, step.generated, step.domain) for step in path.steps)]
    steps = []
    for position, generated, domain in places:
        samples = as_array(domain.take(np.arange(min(_TILES, len(domain)))))
        pixels = front[0].inverse_transform(samples) if front else samples
        steps.append({"position": position, "generated": generated, "tiles": _grey(pixels)})
    return {"shape": list(shape), "steps": steps}


def _real_tiles(result: Result, shape: tuple[int, int]) -> dict[str, Any]:
    sequence = result.checked.prepared.training
    steps = [
        {"position": number / (len(sequence) - 1), "generated": False, "tiles": _grey(domain.samples[:_TILES])}
        for number, domain in enumerate(sequence)
    ]
    return {"shape": list(shape), "steps": steps}


def _grey(pixels: Any) -> list[list[float]]:
    return [np.clip(row, 0.0, 1.0).round(3).tolist() for row in np.asarray(pixels)]
