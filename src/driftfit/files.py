"""Files and folders appear whole or not at all; what a killed process left behind is found again.

Every change of the disk goes through `DISK`, so that a test can let each one fail in turn. A temporary lies beside
its target and is locked by its writer: a lock ends with the process that holds it, however that ended, so a
temporary without a lock belongs to nobody and is removed.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import logging
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from driftfit.errors import InputError

_LOG = logging.getLogger("driftfit")

# On Windows nothing is locked, so nothing counts as left behind.
_LOCKS = find_spec("fcntl") is not None

_REMEDIES = {
    errno.ENOSPC: "make room or choose another folder",
    errno.EDQUOT: "make room or choose another folder",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ENOTDIR: "a part of this path is a file; choose another folder",
    errno.EROFS: "this disk is read-only; choose another folder",
}


class Disk:
    """The few operations that change a disk."""

    def make_folders(self, folder: Path) -> None:
        """A folder with its parents, where they are missing."""
        folder.mkdir(parents=True, exist_ok=True)

    def make_folder(self, folder: Path) -> None:
        """A new folder."""
        folder.mkdir()

    def create(self, path: Path) -> int:
        """A new file, open for writing."""
        return os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0), 0o666)

    def write(self, handle: int, data: memoryview) -> int:
        """Bytes into an open file; how many were taken."""
        return os.write(handle, data)

    def sync(self, handle: int) -> None:
        """What was written survives a power cut."""
        os.fsync(handle)

    def rename(self, old: Path, new: Path) -> None:
        """A new name in one step; a file of that name is replaced."""
        old.replace(new)

    def remove_file(self, path: Path) -> None:
        """A file that may be gone already."""
        path.unlink(missing_ok=True)

    def remove_folder(self, folder: Path) -> None:
        """A folder with all that is in it, as far as that goes."""
        shutil.rmtree(folder, ignore_errors=True)


DISK = Disk()


def cannot_write(target: Path, error: OSError) -> InputError:
    """What went wrong with an output, and the remedy, in one line."""
    reason = error.strerror or str(error) or type(error).__name__
    remedy = _REMEDIES.get(error.errno or 0, "choose another folder")
    return InputError(f"cannot write {str(target)!r} ({reason}); {remedy}")


@contextmanager
def atomic_file(target: Path) -> Iterator[IO[bytes]]:
    """A file to write into, which takes the place of ``target`` when the block ends well.

    A link is followed. Whatever fails, the old file stays as it was and no temporary is left.

    ``target``: made with its folders where they are missing.
    """
    try:
        place = Path(os.path.realpath(target)) if target.is_symlink() else target
        _check_regular(place)
        DISK.make_folders(place.parent)
        _remove_stale_files(place)
        with _temporary_file(place) as (temporary, handle):
            with io.BufferedWriter(_Output(handle), 1 << 20) as file:
                yield file
            DISK.sync(handle)
            if not _LOCKS:  # an open file cannot be renamed there
                os.close(handle)
            DISK.rename(temporary, place)
            _sync_folder(place.parent)
    except OSError as error:
        raise cannot_write(target, error) from error


def write_bytes(target: Path, data: bytes) -> None:
    """Write a whole file."""
    with atomic_file(target) as file:
        file.write(data)


def write_text(target: Path, text: str) -> None:
    """Write a whole file of text in UTF-8."""
    write_bytes(target, text.encode("utf-8"))


def write_json(target: Path, content: Any) -> None:
    """Write plain data as indented JSON."""
    write_text(target, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


@contextmanager
def new_folder(folder: Path, may_replace: Callable[[Path], None]) -> Iterator[Path]:
    """A folder to write into, which takes the place of ``folder`` when the block ends well.

    Where a folder is there already, it steps aside first and is removed last: at every moment one of the two is
    whole on the disk, and `recover` puts it in place after a kill.

    ``may_replace``: raises unless a folder that is there may be replaced; asked at the last moment.
    """
    folder = folder.absolute()
    try:
        DISK.make_folders(folder.parent)
        making = _beside(folder)
        DISK.make_folder(making)
        try:
            with _locked_folder(making):
                yield making
                _sync_folder(making)
                with _locked_folder(folder):
                    if os.path.lexists(folder):
                        may_replace(folder)
                    _put_in_place(making, folder)
        finally:
            DISK.remove_folder(making)
    except OSError as error:
        raise cannot_write(folder, error) from error


def recover(folder: Path, whole: Callable[[Path], bool]) -> None:
    """Bring back what a killed process left of a folder, remove its temporaries, and say so.

    A replacement that was stopped between its two renames is completed if the new folder is whole, and undone if
    it is not. Temporaries of a process that still runs are left alone.

    ``whole``: whether a folder has all that was meant to be in it, unchanged.
    """
    folder = folder.absolute()
    try:
        found = _left_behind(folder)
    except OSError:  # no such parent, or one that cannot be read: nothing was left there
        return
    for making in sorted({path.with_suffix("") for path in found}):
        with _locked_folder(making) as free, _locked_folder(making.with_suffix(_ASIDE)) as free_too:
            if free and free_too:
                try:
                    _LOG.warning("driftfit: %s", _recovered(folder, making, whole))
                except OSError as error:
                    raise cannot_write(folder, error) from error


_ASIDE, _TRASH = ".old", ".trash"


def _recovered(folder: Path, making: Path, whole: Callable[[Path], bool]) -> str:
    """Complete or undo one replacement whose writer is gone; returns what was done."""
    aside, trash = making.with_suffix(_ASIDE), making.with_suffix(_TRASH)
    told = f"removed what an interrupted run left beside {str(folder)!r}"
    if aside.is_dir() and not os.path.lexists(folder):
        finished = making.is_dir() and whole(making)
        DISK.rename(making if finished else aside, folder)
        _sync_folder(folder.parent)
        outcome = "the new one was whole and is in place now" if finished else "the old one is in place again"
        told = f"replacing {str(folder)!r} was interrupted; {outcome}"
    elif aside.is_dir() and not whole(folder):
        # Somebody put another thing in this place; the old one may be all that is left of a run.
        return f"an interrupted run left the former {str(folder)!r} as {str(aside)!r}"
    for path in (making, aside, trash):
        DISK.remove_folder(path)
    return told


class _Output(io.RawIOBase):
    """Writes to an open file through `DISK`; it has no number of its own that others could write past it to."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return DISK.write(self._handle, memoryview(data))


def _check_regular(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISDIR(mode):
        raise InputError(f"{str(path)!r} is a folder; name a file")
    if not stat.S_ISREG(mode):
        raise InputError(f"{str(path)!r} is a pipe or a device; name a file")


def _prefix(target: Path) -> str:
    """How the temporaries of a target begin: short for every name, and of no other target."""
    shown = target.stem[:20].replace(".", "_")
    return f".{shown}-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:8]}-driftfit-"


def _beside(target: Path) -> Path:
    return target.with_name(_prefix(target) + secrets.token_hex(6))


def _left_behind(target: Path) -> list[Path]:
    pattern = re.compile(re.escape(_prefix(target)) + r"[0-9a-f]{12}(\.[a-z]+)?")
    return [path for path in target.parent.iterdir() if pattern.fullmatch(path.name)]


@contextmanager
def _temporary_file(target: Path) -> Iterator[tuple[Path, int]]:
    path = _beside(target)
    handle = DISK.create(path)
    try:
        _lock(handle)
        yield path, handle
    finally:
        try:
            with suppress(OSError):
                DISK.remove_file(path)
        finally:
            with suppress(OSError):
                os.close(handle)


def _remove_stale_files(target: Path) -> None:
    for path in _left_behind(target):
        with suppress(OSError):
            handle = os.open(path, os.O_RDWR)
            try:
                if _lock(handle):
                    DISK.remove_file(path)
            finally:
                os.close(handle)


def _lock(handle: int) -> bool:
    """Whether the lock was free; False also where there are no locks."""
    if not _LOCKS:
        return False
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def _locked_folder(folder: Path) -> Iterator[bool]:
    """Hold the lock of a folder; yields False where another process has it. One that is not there is free."""
    if not _LOCKS or not folder.is_dir():
        yield not folder.is_dir()
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield _lock(handle)
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """The names in a folder survive a power cut."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        DISK.sync(handle)
    finally:
        os.close(handle)


def _put_in_place(making: Path, folder: Path) -> None:
    aside, trash = making.with_suffix(_ASIDE), making.with_suffix(_TRASH)
    steps = [(folder, aside), (making, folder)] if os.path.lexists(folder) else [(making, folder)]
    done: list[tuple[Path, Path]] = []
    try:
        for old, new in steps:
            DISK.rename(old, new)
            done.append((old, new))
        _sync_folder(folder.parent)
    except BaseException:  # an interrupt between the two steps as well
        for old, new in reversed(done):
            with suppress(OSError):
                DISK.rename(new, old)
        raise
    if len(steps) == 2:
        # Under its last name it is never taken for a run, however little of it is left.
        with suppress(Exception):
            DISK.rename(aside, trash)
        DISK.remove_folder(aside)
        DISK.remove_folder(trash)
