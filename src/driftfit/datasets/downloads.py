"""Where data files lie, whether they are whole, and how to get them.

A file is looked for in the folder named by ``DRIFTFIT_DATA``, then in the user's
cache; if it is in neither, it is downloaded into the cache. Every file is checked
against a SHA-256 sum before it is used.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

from driftfit.errors import InputError
from driftfit.extras import MissingExtra, has, need

__all__ = ["DataFile", "cache_folder", "data_folder", "locate", "read_bytes", "stamp"]

# A folder may carry its own sums, for data that no publisher has summed (a user's own cut).
SUMS_NAME = "SHA256SUMS"


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Attributes
    ----------
    path : str
        Relative to the data folder.
    sha256 : str
        Of the content; for a ``.gz`` file of what it holds, because archives of the same
        data differ in their headers.
    size : int
        Bytes that the sum was taken over.
    url : str or None
        Where it can be downloaded.
    remedy : str
        What to do where there is no address to download from.
    """

    path: str
    sha256: str
    size: int
    url: str | None = None
    remedy: str = ""


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
    """The checked content of a file, unpacked where it is a ``.gz``.

    Parameters
    ----------
    file : DataFile
    download : bool
        Whether a missing file may be fetched from the network.
    """
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
