"""What the benchmarks share: files that are found, checked and fetched; presets, splits and small versions.

A file is looked for in the folder named by ``DRIFTFIT_DATA``, then in the user's cache; if it is in neither, it is
downloaded into the cache. Every file is checked against a SHA-256 sum before it is used.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from driftfit.domains import Domain, DomainSequence
from driftfit.domains.samples import some_rows
from driftfit.errors import InputError
from driftfit.extras import MissingExtra, has, need
from driftfit.seeds import derive_seed

# A folder may carry its own sums, for data that no publisher has summed (a user's own cut).
SUMS_NAME = "SHA256SUMS"
# Images of a domain where each has its own.
_DISTINCT = 10_000
Preset = Literal["reference", "paper"]
# "adapt": source, given domains and the target that a method adapts to; "heldout": the same
# source and fresh samples of the target that no method sees.
Split = Literal["adapt", "heldout"]


@dataclass(frozen=True)
class DataFile:
    """One file of a data set."""

    path: str  # relative to the data folder
    # Of the content; for a .gz file of what it holds, because archives of the same data differ in their headers.
    sha256: str
    size: int  # bytes that the sum was taken over
    url: str | None = None
    remedy: str = ""  # what to do where there is no address to download from


def data_folder() -> Path | None:
    """The folder named by ``DRIFTFIT_DATA``, if any."""
    named = os.environ.get("DRIFTFIT_DATA")
    return Path(named).expanduser() if named else None


def cache_folder() -> Path:
    """Where downloads are kept; ``DRIFTFIT_CACHE`` overrides the system's choice."""
    named = os.environ.get("DRIFTFIT_CACHE")
    if named:
        return Path(named).expanduser()
    if not has("pooch"):  # nothing was downloaded here: any fixed place will do to look and to name
        return Path.home() / ".cache" / "driftfit"
    import pooch

    return Path(pooch.os_cache("driftfit"))


def locate(file: DataFile) -> Path | None:
    """The file on this machine, unchecked, or None where it is not at hand."""
    for place in (data_folder, cache_folder):
        folder = place()
        if folder is not None and (folder / file.path).is_file():
            return folder / file.path
    return None


def stamp(*files: DataFile) -> tuple[tuple[str, int, int], ...]:
    """What tells whether files on this machine have changed: path, size and time; empty where one is missing."""
    paths = [locate(file) for file in files]
    found = [path for path in paths if path is not None]
    if len(found) < len(paths):
        return ()
    return tuple((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in found)


def read_bytes(file: DataFile, *, download: bool = True) -> bytes:
    """The checked content of a file, unpacked where it is a ``.gz``; a missing one may be fetched from the network."""
    path = locate(file)
    if path is None:
        if not download or file.url is None or os.environ.get("DRIFTFIT_OFFLINE"):
            raise _missing(file)
        path = _download(file)
    return _checked_content(path, file)


def _checked_content(path: Path, file: DataFile) -> bytes:
    raw = path.read_bytes()
    own_sum = _own_sums(path, file)
    if own_sum is not None and hashlib.sha256(raw).hexdigest() != own_sum:
        raise _damaged(path, f"its sum differs from the one in {SUMS_NAME}")
    try:
        content = gzip.decompress(raw) if path.suffix == ".gz" else raw
    except (EOFError, OSError, zlib.error) as error:
        raise _damaged(path, f"it cannot be unpacked ({error})") from None
    if own_sum is None:
        if len(content) != file.size:
            raise _damaged(path, f"it holds {len(content):,} bytes instead of {file.size:,}")
        if hashlib.sha256(content).hexdigest() != file.sha256:
            raise _damaged(path, "its SHA-256 sum is wrong")
    return content


def _own_sums(path: Path, file: DataFile) -> str | None:
    """The sum that the data folder itself states for a file."""
    sums = path.parents[len(Path(file.path).parts) - 1] / SUMS_NAME
    if not sums.is_file():
        return None
    for line in sums.read_text().splitlines():
        digest, _, name = line.partition("  ")
        if name.strip().lstrip("*./") == file.path:
            return digest.strip()
    return None


def _download(file: DataFile) -> Path:
    try:
        need("pooch", "paper", "downloading it")
    except MissingExtra as error:
        raise _missing(file, str(error)) from None
    import pooch

    folder = cache_folder() / Path(file.path).parent
    try:
        # The sum is that of the content, so it is checked after unpacking, when the file is read.
        found = pooch.retrieve(file.url, known_hash=None, fname=Path(file.path).name, path=folder, progressbar=False)
    except Exception as error:
        raise _missing(file, f"the download failed: {type(error).__name__}: {error}") from None
    path = Path(found)
    try:
        _checked_content(path, file)
    except InputError:
        path.unlink(missing_ok=True)
        raise
    return path


def _missing(file: DataFile, why: str = "") -> InputError:
    places = [str(folder / file.path) for folder in (data_folder(), cache_folder()) if folder is not None]
    fetch = f"fetch {file.url}" if file.url else file.remedy
    reason = f" ({why})" if why else ""
    return InputError(
        f"{file.path} is not on this machine{reason}; {fetch} and put it at {' or '.join(places)}"
        + ("" if data_folder() else ", or set DRIFTFIT_DATA to a folder that holds it")
    )


def _damaged(path: Path, why: str) -> InputError:
    return InputError(f"{path} is damaged or truncated: {why}; delete it and fetch it again")


def check_words(preset: str, split: str) -> None:
    """Raise unless both words are known."""
    if preset not in ("reference", "paper"):
        raise InputError(f"preset must be 'reference' or 'paper', got {preset!r}")
    if split not in ("adapt", "heldout"):
        raise InputError(f"split must be 'adapt' or 'heldout', got {split!r}")


def check_count(n_given: int, most: int) -> None:
    """Raise unless the number of given domains can be cut."""
    if not 0 <= n_given <= most:
        raise InputError(f"n_given must lie between 0 and {most}, got {n_given!r}")


def positions(n_given: int) -> list[float]:
    """Evenly spaced positions strictly between 0 and 1.

    >>> positions(3)
    [0.25, 0.5, 0.75]
    """
    return [i / (n_given + 1) for i in range(1, n_given + 1)]


def image_domain(images: NDArray[Any], labels: NDArray[np.int64], name: str, shift: float = 0.0) -> Domain:
    """Byte images as float32 of shape (n, 1, height, width) with values ``pixel / 255 + shift``."""
    samples = images[:, None].astype(np.float32) / np.float32(255)
    return Domain(samples + np.float32(shift) if shift else samples, labels=labels, name=name)


def distinct_rows(n_images: int, n_domains: int, n_samples: int | None, seed: int) -> list[NDArray[np.int64]]:
    """Numbers of images for each domain, no image in two of them; at most 10,000 each unless more are asked for.

    Source and target are the same whatever is given between them, while there are images enough.

    >>> [len(rows) for rows in distinct_rows(60_000, 2, None, 0)], len(distinct_rows(60_000, 6, 16_000, 0)[0])
    ([10000, 10000], 10000)
    """
    size = min(n_samples or _DISTINCT, n_images // n_domains)
    order = np.random.default_rng(derive_seed(seed, "distinct")).permutation(n_images)
    blocks = [order[number * size : (number + 1) * size] for number in range(n_domains)]
    return [blocks[0], *blocks[2:], blocks[1]]


def limit_domains(sequence: DomainSequence, n_samples: int | None, seed: int) -> DomainSequence:
    """Every domain reduced to ``n_samples``, for small trials; the draw depends on the seed alone.

    Domains of one size are thinned alike, so that pairs of samples stay together.
    """
    if n_samples is None:
        return sequence
    if n_samples < 2:
        raise InputError(f"n_samples must be at least 2, got {n_samples!r}")
    # Not `Domain.subsample`, which looks at the labels of a source.
    kept = [some_rows(len(domain), n_samples, derive_seed(seed, "limit", len(domain))) for domain in sequence]
    return DomainSequence([domain.take(rows) for domain, rows in zip(sequence, kept, strict=True)])
