"""Portraits: photographs of pupils in the order of their years; the label is the gender."""

from __future__ import annotations

import io
import zipfile
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from driftfit.datasets.common import (
    DataFile,
    Preset,
    Split,
    check_count,
    check_words,
    image_domain,
    limit_domains,
    read_bytes,
)
from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.seeds import derive_seed

Cut = Literal["auto", "count", "year"]

FILES: dict[str, DataFile] = {
    "portraits": DataFile(
        "portraits/portraits_32x32.npz",
        "1edc990e230b54c33aa2a477ef3f9f5b1d899f3b2918ebdac020c52b85eaf7e0",
        17_527_907,
        remedy=(
            "make an .npz with images (n x 32 x 32 uint8, sorted by year), labels (0 female, 1 male) and years from "
            "'A Century of Portraits' (Ginosar et al. 2015), state its sum in a SHA256SUMS file of the data folder,"
        ),
    )
}

_COMPLETE = 37_921
_SIZE, _BLOCKS = 2_000, 7
# The last year of the target in the published cut of the complete set.
_LAST_YEAR = 1973
_HELDOUT = 1_000
_GIVEN = {0: [], 1: [3], 2: [2, 4], 3: [1, 3, 5], 4: [0, 2, 4, 6], 7: [0, 1, 2, 3, 4, 5, 6]}


def portraits(
    n_given: int = 2,
    *,
    preset: Preset = "reference",
    seed: int = 0,
    split: Split = "adapt",
    cut: Cut = "auto",
    distinct: bool = False,
    n_samples: int | None = None,
    download: bool = True,
) -> DomainSequence:
    """The first 2,000 portraits as the source, 2,000 later ones as the target.

    ``n_given``: blocks, out of seven, between source and target. ``preset``: ``paper``: the target is the last 2,000 of
    all images. ``split``: ``heldout``: up to 1,000 images that follow the target in time. ``cut``: ``count``: seven
    blocks of 2,000 and the target right behind them. ``year``: the target is the last 2,000 images up to 1973 and the
    blocks share what lies between; for copies that miss some images. ``auto``: by count for the complete set only.
    ``distinct``: a quarter of the target, drawn by the seed, is held out; otherwise held-out images are of later years.
    """
    check_words(preset, split)
    check_count(n_given, _BLOCKS)
    if n_given not in _GIVEN:
        raise InputError(f"n_given must be one of {', '.join(map(str, _GIVEN))} for Portraits, got {n_given!r}")
    images, labels, years = _load(download)
    size = min(_SIZE, len(images) // 9)
    start, bounds, first, last = _bounds(years, size, preset, portraits_cut(len(images), preset, cut))

    def block(name: str, low: int, high: int) -> Domain:
        span = f"{name} {years[low]}-{years[high - 1]}"
        return image_domain(images[low:high], labels[low:high], span)

    source, target = block("source", 0, start), block("target", first, last)
    if distinct:
        fresh, target = _quartered(target, seed)
        if split == "heldout":
            return limit_domains(DomainSequence([source, fresh]), n_samples, seed)
    if split == "heldout":
        end = min(len(images), last + _HELDOUT)
        if end - last < 50:
            raise InputError(
                f"only {len(images) - last} images follow the target of the cut {cut!r}, too few to hold out; "
                "use cut='year' or the complete set"
            )
        return limit_domains(DomainSequence([source, block("held out", last, end)]), n_samples, seed)
    given = [block(f"block {i}", bounds[i], bounds[i + 1]) for i in _GIVEN[n_given]]
    return limit_domains(DomainSequence([source, *given, target]), n_samples, seed)


def _quartered(target: Domain, seed: int) -> tuple[Domain, Domain]:
    """A quarter of the images and the rest."""
    order = np.random.default_rng(derive_seed(seed, "portraits")).permutation(len(target))
    return target.take(np.sort(order[: len(order) // 4])), target.take(np.sort(order[len(order) // 4 :]))


def portraits_cut(n_images: int, preset: Preset = "reference", cut: Cut = "auto") -> Literal["count", "year"]:
    """The cut that is used for a copy of so many images.

    >>> portraits_cut(37_921), portraits_cut(18_086)
    ('count', 'year')
    """
    if cut not in ("auto", "count", "year"):
        raise InputError(f"cut must be 'auto', 'count' or 'year', got {cut!r}")
    if cut != "auto":
        return cut
    return "count" if n_images >= _COMPLETE or preset == "paper" else "year"


def _bounds(
    years: NDArray[np.uint16], size: int, preset: Preset, cut: Literal["count", "year"]
) -> tuple[int, list[int], int, int]:
    """End of the source, borders of the seven blocks, first and last index of the target."""
    n = len(years)
    if cut == "year":
        last = int(np.searchsorted(years, _LAST_YEAR, side="right"))
        first = last - size
        between = first - size
        if between < 2 * _BLOCKS:
            raise InputError(f"only {between} images lie between source and target up to {_LAST_YEAR}; use cut='count'")
        bounds = [size + between * i // _BLOCKS for i in range(_BLOCKS + 1)]
        return size, bounds, first, last
    bounds = [size * (i + 1) for i in range(_BLOCKS + 1)]
    if preset == "paper":
        return size, bounds, n - size, n
    first = bounds[-1]
    return size, bounds, first, first + size


def _load(download: bool) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint16]]:
    content = read_bytes(FILES["portraits"], download=download)
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            images, labels, years = archive["images"], archive["labels"], archive["years"]
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{FILES['portraits'].path} lacks images, labels or years ({error}); make it again") from None
    if not len(images) == len(labels) == len(years) or (np.diff(years.astype(np.int64)) < 0).any():
        raise InputError(f"{FILES['portraits'].path} is not sorted by year, or its arrays differ in length")
    return images, labels.astype(np.int64), years
