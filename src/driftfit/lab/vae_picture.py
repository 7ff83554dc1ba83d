"""Tiles of generated digits: one block for each digit, one line for each kind of path."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from driftfit.files import atomic_file

__all__ = ["draw_paths"]


def draw_paths(paths: Mapping[str, Sequence[Sequence[Any]]], positions: Sequence[float], folder: Path) -> list[Path]:
    """Write ``vae.png`` and ``vae.svg``.

    Parameters
    ----------
    paths : mapping
        From the name of a line to its images: for each digit one image at each position.
    positions : sequence of float
        Between 0, the source, and 1, the target.
    folder : Path

    Returns
    -------
    list of Path
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    n_digits = len(next(iter(paths.values())))
    n_columns = min(2, n_digits)
    n_lines = -(-n_digits // n_columns)
    figure = Figure(figsize=(0.62 * len(positions) * n_columns + 1.6, 0.72 * len(paths) * n_lines + 0.6))
    figure.set_layout_engine("constrained")
    axes = figure.subplots(n_lines, n_columns, squeeze=False)
    names = [textwrap.fill(name, 14) for name in paths]
    for number, axis in enumerate(axes.flat):
        if number >= n_digits:
            axis.set_axis_off()
            continue
        tiles = [[np.pad(image, 1, constant_values=0.5) for image in images[number]] for images in paths.values()]
        height, width = tiles[0][0].shape
        axis.imshow(np.block(tiles), cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest")
        axis.set_xticks([width * (i + 0.5) for i in range(len(positions))], [f"t = {t:.2g}" for t in positions])
        left = number % n_columns == 0
        axis.set_yticks([height * (i + 0.5) for i in range(len(paths))], names if left else [""] * len(names))
        axis.tick_params(length=0, labelsize=7)
        axis.spines[:].set_visible(False)
    written = []
    # A fixed salt and no date: the same images give the same files.
    with mpl.rc_context({"svg.hashsalt": "driftfit"}):
        for ending, metadata in ((".png", {"Software": None}), (".svg", {"Date": None})):
            target = folder / f"vae{ending}"
            with atomic_file(target) as file:
                figure.savefig(file, format=ending[1:], dpi=150, facecolor="white", metadata=metadata)
            written.append(target)
    return written
