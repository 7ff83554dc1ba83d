"""The manifest of a run: the SHA-256 of every file in it, so that damage and changes are noticed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from driftfit.app.read import hash_file
from driftfit.errors import InputError, one_line
from driftfit.files import recover, write_bytes, write_json

__all__ = [
    "CARD",
    "FORMAT",
    "REPORT",
    "RESULT",
    "check_unchanged",
    "is_whole",
    "open_run",
    "put_file",
    "write_manifest",
]

MANIFEST, RESULT, CARD, REPORT = "manifest.json", "result.json", "MODEL_CARD.md", "report.html"
FORMAT = 1
_LONGEST_NAME = 255
# Made from the result; a run without them has lost nothing.
_PAGES = frozenset({CARD, REPORT})
_NEEDED = ("columns.json", "model.skops", RESULT)


def write_manifest(folder: Path, files: list[Path]) -> None:
    """Write the hashes of the files of a run."""
    write_json(folder / MANIFEST, {"format": FORMAT, "sha256": {file.name: hash_file(file) for file in files}})


def open_run(folder: Path, *, pages: bool = True) -> dict[str, str]:
    """The hashes of a run's files, each checked against the file as it is now.

    A replacement of the run that was interrupted is put in order first.

    Parameters
    ----------
    folder : Path
    pages : bool
        Look at the report and the model card too, where they are; without, they may have been changed.
    """
    recover(folder, is_whole)
    return _read_manifest(folder, pages)


def is_whole(folder: Path) -> bool:
    """Whether a folder is a run with all its files as they were written."""
    try:
        _read_manifest(folder, True)
    except InputError:
        return False
    return True


def check_unchanged(folder: Path) -> None:
    """Raise unless a folder is a run that we wrote, with nothing changed, and nothing of others in it."""
    remedy = "it is not replaced; move it away, or choose another name"
    try:
        hashes = _read_manifest(folder, True)
    except InputError as error:
        raise InputError(
            f"{str(folder)!r} is not a run that driftfit wrote, or it was changed ({error}); {remedy}"
        ) from None
    foreign = sorted({path.name for path in folder.iterdir()} - {*hashes, MANIFEST, *_PAGES})
    if foreign:
        raise InputError(f"{str(folder)!r} holds {foreign[0]!r}, which driftfit did not write; {remedy}")


def put_file(folder: Path, name: str, data: bytes) -> Path:
    """Write a file of a run and its hash. At every moment the manifest fits what is there.

    Parameters
    ----------
    folder : Path
        A run.
    name : str
    data : bytes
    """
    path = folder / name
    content = _content(folder)
    # Both versions are right until the new one is in place.
    before = {"replaced": {name: hash_file(path) if path.is_file() else None}}
    hashes = {**content["sha256"], name: hashlib.sha256(data).hexdigest()}
    write_json(folder / MANIFEST, {"format": FORMAT, "sha256": hashes, **before})
    write_bytes(path, data)
    write_json(folder / MANIFEST, {"format": FORMAT, "sha256": hashes})
    return path


def _read_manifest(folder: Path, pages: bool) -> dict[str, str]:
    content = _content(folder)
    hashes: dict[str, str] = content["sha256"]
    for needed in _NEEDED:
        if needed not in hashes:
            raise InputError(f"the {MANIFEST} of {str(folder)!r} does not name {needed}; run adapt again")
    for name, digest in hashes.items():
        if name not in _PAGES or pages:
            _check_file(folder, name, digest, content.get("replaced", {}))
    return hashes


def _check_file(folder: Path, name: str, digest: str, replaced: dict[str, str | None]) -> None:
    path = folder / name
    if Path(name).name != name or path.is_symlink() or not path.is_file():
        may_be_gone = name in _PAGES or (name in replaced and replaced[name] is None)
        if may_be_gone and not path.is_symlink() and not path.exists():
            return
        raise InputError(f"{str(path)!r} is missing, or is not a file; run adapt again")
    try:
        found = hash_file(path)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read ({error.strerror})") from None
    if found not in (digest, replaced.get(name)):
        remedy = "driftfit report builds it again" if name in _PAGES else "run adapt again"
        raise InputError(f"{str(path)!r} was changed or cut short after it was written; {remedy}")


def _content(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        if not folder.is_dir():
            raise InputError(f"there is no folder {str(folder)!r}; driftfit adapt -o writes one")
        # A pipe of this name would keep a reader waiting for ever.
        if not path.is_file():
            raise InputError(f"{str(folder)!r} has no {MANIFEST}; it is not a folder that driftfit adapt wrote")
        content = json.loads(path.read_bytes())
        hashes = {str(name): str(digest) for name, digest in content["sha256"].items()}
        replaced = dict(content.get("replaced", {}))
        # No disk has such names, and no line of an error is fit to show them.
        odd = next((name for name in hashes if len(name) > _LONGEST_NAME or not name.isprintable()), None)
        if odd is not None:
            raise ValueError(f"it names a file {odd[:40]!r}")
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read ({error.strerror})") from None
    except InputError:
        raise
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise InputError(f"the {MANIFEST} of {str(folder)!r} is damaged ({one_line(error)}); run adapt again") from None
    if content.get("format") != FORMAT:
        found = one_line(content.get("format"), 40)
        raise InputError(
            f"{str(folder)!r} was written in format {found!r}; this version reads {FORMAT}. "
            "Use the version of driftfit that wrote it, or run adapt again"
        )
    return {"sha256": hashes, "replaced": replaced}
