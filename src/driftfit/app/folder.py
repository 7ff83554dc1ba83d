"""The RUN folder: written beside its place and moved there whole, with a manifest that notices damage and changes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from driftfit.app.job import Result
from driftfit.app.model_file import FORMAT, load_predictor, read_json, save_predictor
from driftfit.app.own_model import OwnModel
from driftfit.app.parquet_files import write_frames
from driftfit.app.predictor import Predictor
from driftfit.app.read import Table, hash_file, open_table
from driftfit.app.report.card import model_card
from driftfit.errors import InputError, one_line
from driftfit.files import atomic_file, cannot_write, new_folder, recover, write_bytes, write_json, write_text

# Builds the report page from the contents of one or more result.json.
Page = Callable[[list[dict[str, Any]]], str]


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A run read back: its model and its numbers."""

    folder: Path
    predictor: Predictor
    summary: dict[str, Any]


def check_target(folder: Path, force: bool) -> None:
    """Raise if a run cannot be written there; asked before the work rather than after it.

    What an interrupted run left there is put in order first.
    """
    try:
        if folder.is_symlink():
            raise InputError(f"{str(folder)!r} is a link; name the folder itself, or another name for the run")
        recover(folder, is_whole)
        _check_replaceable(folder, force)
        nearest = next(parent for parent in folder.absolute().parents if parent.exists())
    except OSError as error:
        raise cannot_write(folder, error) from None
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise InputError(f"cannot write into {str(nearest)!r}; choose another folder")


def _check_replaceable(folder: Path, force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{str(folder)!r} is a file; choose another name for the run")
    if folder.is_dir() and any(folder.iterdir()):
        if not force:
            raise InputError(f"{str(folder)!r} is not empty; choose another name, or --force to replace it")
        check_unchanged(folder)


def save_run(
    result: Result,
    summary: dict[str, Any],
    folder: Path,
    *,
    page: Page | None = None,
    force: bool = False,
    rows: Path | None = None,
) -> Path:
    """Write model, predictions, numbers, report and model card; the folder appears whole or not at all.

    Parameters
    ----------
    result : Result
    summary : dict
        From `summarise`.
    folder : Path
    page : callable, optional
        Builds the report; without it there is none.
    force : bool
        Replace a run that is there already, if nobody changed it.
    rows : Path, optional
        A file with the rows that the run was made from, to be kept with it.
    """
    check_target(folder, force)
    with new_folder(folder, lambda there: _check_replaceable(there, force)) as making:
        files = save_predictor(result.predictor, making)
        write_json(making / RESULT, summary)
        write_predictions(_with_estimate(result), making / "predictions.parquet")
        files += [making / RESULT, making / "predictions.parquet", making / CARD]
        write_text(making / CARD, model_card(summary))
        if page is not None:
            write_text(making / REPORT, page([summary]))
            files.append(making / REPORT)
        packed = None if result.forecasts is None else result.forecasts.packed()
        if packed is not None:
            write_bytes(making / FORECASTS, packed)
            files.append(making / FORECASTS)
        if rows is not None:
            with rows.open("rb") as source, atomic_file(making / ROWS) as target:
                shutil.copyfileobj(source, target, 1 << 20)
            files.append(making / ROWS)
        write_manifest(making, files)
    return folder


def load_run(folder: Path, own: OwnModel | None = None) -> StoredRun:
    """Read a run, refusing files that were changed, cut short, or that ask for unknown types.

    Parameters
    ----------
    folder : Path
    own : OwnModel, optional
        The model in use, where the run kept it and it is Python code, which a run does not hold.
    """
    open_run(folder)
    return StoredRun(folder, load_predictor(folder, own), read_json(folder / RESULT))


def read_result(folder: Path) -> dict[str, Any]:
    """The numbers of a run, checked. Pages that are made from them may be changed or gone."""
    open_run(folder, pages=False)
    return read_json(folder / RESULT)


def table_of_run(folder: Path, named: Sequence[Path]) -> Table:
    """The rows that a run was made from: those in its folder, or the files that its command names."""
    summary = read_result(folder)
    table = open_table([folder / ROWS] if (folder / ROWS).is_file() else named)
    if [file.sha256 for file in table.files] != [file.get("sha256") for file in summary["data"]["files"]]:
        raise InputError("the table is not the one of the run any more; run adapt again")
    return table


def page_of(results: list[dict[str, Any]], page: Page) -> str:
    """The page of one or more results; one that lacks its parts is one clear line."""
    try:
        return page(results)
    except InputError:
        raise
    except Exception as error:
        # The results are all that a page is made from.
        raise InputError(f"a {RESULT} lacks what a report is made from ({one_line(error)}); run adapt again") from error


def rebuild_pages(folder: Path, page: str) -> Path:
    """Put a new report into a run, and the model card beside it; returns the report's path."""
    summary = read_result(folder)
    put_file(folder, CARD, page_of([summary], lambda results: model_card(results[0])).encode("utf-8"))
    return put_file(folder, REPORT, page.encode("utf-8"))


def write_predictions(predictions: pd.DataFrame | Iterable[pd.DataFrame], target: Path) -> int:
    """Write predictions as Parquet or CSV, by the ending, a frame as it comes; returns the number of rows."""
    check_predictions_path(target)
    frames = [predictions] if isinstance(predictions, pd.DataFrame) else predictions
    with atomic_file(target) as file:
        return write_frames(frames, file, csv=target.suffix == ".csv")


def check_predictions_path(target: Path, tables: Sequence[Path] = ()) -> None:
    """Raise if predictions cannot be written there; asked before the work rather than after it."""
    if target.suffix not in (".parquet", ".pq", ".csv"):
        raise InputError(f"predictions are written as .parquet or .csv, got {str(target)!r}")
    check_free(target, tables)


def check_free(target: Path, tables: Sequence[Path] = ()) -> None:
    """Raise if a file would stand in the place of a folder, of a table that is read, or of a part of a run."""
    try:
        if target.is_dir():
            raise InputError(f"{str(target)!r} is a folder; name a file")
        if target.exists() and any(path.exists() and target.samefile(path) for path in tables):
            raise InputError(f"{str(target)!r} is the table that is read; name another file")
        if target.exists() and (target.parent / MANIFEST).is_file():
            raise InputError(f"{str(target)!r} is part of a run, which would be damaged; name another file")
    except OSError as error:  # a name that is too long
        raise cannot_write(target, error) from None


def _with_estimate(result: Result) -> Iterator[pd.DataFrame]:
    estimate = result.decision.estimate
    predictions = result.predictions
    for frame in [predictions] if isinstance(predictions, pd.DataFrame) else predictions.frames():
        yield frame.assign(
            # Where nothing can be estimated no number is written, only that it is so.
            estimated_accuracy=estimate.value if estimate.estimable else float("nan"),
            estimated_accuracy_low=estimate.low,
            estimated_accuracy_high=estimate.high,
            estimated_accuracy_reliable=estimate.reliable,
        )


MANIFEST, RESULT, CARD, REPORT = "manifest.json", "result.json", "MODEL_CARD.md", "report.html"
FORECASTS, ROWS = "forecasts.npz", "rows.parquet"
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

    Without ``pages`` the report and the model card may have been changed.
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
    """Write a file of a run and its hash. At every moment the manifest fits what is there."""
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
