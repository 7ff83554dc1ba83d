"""The RUN folder: written beside its place and moved there when everything is in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from driftfit.app.card import model_card
from driftfit.app.job import Result
from driftfit.app.manifest import CARD, REPORT, RESULT, check_unchanged, is_whole, open_run, put_file, write_manifest
from driftfit.app.model_file import load_predictor, read_json, save_predictor
from driftfit.app.own_model import OwnModel
from driftfit.app.predictor import Predictor
from driftfit.app.spool import write_frames
from driftfit.errors import InputError, one_line
from driftfit.files import atomic_file, cannot_write, new_folder, recover, write_json, write_text

__all__ = [
    "Page",
    "Run",
    "check_predictions_path",
    "check_target",
    "load_run",
    "page_of",
    "read_result",
    "rebuild_pages",
    "save_run",
    "write_predictions",
]

# Builds the report page from the contents of one or more result.json.
Page = Callable[[list[dict[str, Any]]], str]


@dataclass(frozen=True, eq=False)
class Run:
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
    result: Result, summary: dict[str, Any], folder: Path, *, page: Page | None = None, force: bool = False
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
        write_manifest(making, files)
    return folder


def load_run(folder: Path, own: OwnModel | None = None) -> Run:
    """Read a run, refusing files that were changed, cut short, or that ask for unknown types.

    Parameters
    ----------
    folder : Path
    own : OwnModel, optional
        The model in use, where the run kept it and it is Python code, which a run does not hold.
    """
    predictor = load_predictor(folder, own)
    return Run(folder, predictor, read_json(folder / RESULT))


def read_result(folder: Path) -> dict[str, Any]:
    """The numbers of a run, checked. Pages that are made from them may be changed or gone."""
    open_run(folder, pages=False)
    return read_json(folder / RESULT)


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


def check_predictions_path(target: Path) -> None:
    """Raise if predictions cannot be written there; asked before the work rather than after it."""
    if target.suffix not in (".parquet", ".pq", ".csv"):
        raise InputError(f"predictions are written as .parquet or .csv, got {str(target)!r}")
    try:
        if target.is_dir():
            raise InputError(f"{str(target)!r} is a folder; name a file")
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
