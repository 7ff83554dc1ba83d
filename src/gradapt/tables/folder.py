"""The RUN folder: written beside its place and moved there when everything is in it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradapt.errors import InputError
from gradapt.files import atomic_path, write_json
from gradapt.tables.card import model_card
from gradapt.tables.job import Result
from gradapt.tables.model_file import load_predictor, read_manifest, save_predictor, write_manifest
from gradapt.tables.predictor import Predictor

__all__ = [
    "Page",
    "Run",
    "check_predictions_path",
    "check_target",
    "load_run",
    "read_result",
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
    """Raise if a run cannot be written there; asked before the work rather than after it."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{str(folder)!r} is a file; choose another name for the run")
    if folder.is_dir() and any(folder.iterdir()):
        if not force:
            raise InputError(f"{str(folder)!r} is not empty; choose another name, or --force to replace it")
        if not (folder / "manifest.json").is_file():
            raise InputError(f"{str(folder)!r} is not a run that gradapt wrote; it is not replaced")
    nearest = next(parent for parent in folder.absolute().parents if parent.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise InputError(f"cannot write into {str(nearest)!r}; choose another folder")


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
        Replace a run that is there already.
    """
    check_target(folder, force)
    with _folder_in_the_making(folder) as making:
        files = save_predictor(result.predictor, making)
        write_json(making / "result.json", summary)
        write_predictions(_with_estimate(result), making / "predictions.parquet")
        (making / "MODEL_CARD.md").write_text(model_card(summary), encoding="utf-8")
        if page is not None:
            (making / "report.html").write_text(page([summary]), encoding="utf-8")
        write_manifest(making, [*files, making / "result.json", making / "predictions.parquet"])
    return folder


def load_run(folder: Path) -> Run:
    """Read a run, refusing files that were changed, cut short, or that ask for unknown types."""
    predictor = load_predictor(folder)
    return Run(folder, predictor, json.loads((folder / "result.json").read_text(encoding="utf-8")))


def read_result(folder: Path) -> dict[str, Any]:
    """The numbers of a run, checked."""
    read_manifest(folder)
    found: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    return found


def write_predictions(predictions: Any, target: Path) -> None:
    """Write predictions as Parquet or CSV, by the ending."""
    check_predictions_path(target)
    with atomic_path(target) as path:
        if target.suffix == ".csv":
            predictions.to_csv(path, index=False)
        else:
            predictions.to_parquet(path, index=False)


def check_predictions_path(target: Path) -> None:
    """Raise if predictions cannot be written there; asked before the work rather than after it."""
    if target.suffix not in (".parquet", ".pq", ".csv"):
        raise InputError(f"predictions are written as .parquet or .csv, got {str(target)!r}")
    if target.is_dir():
        raise InputError(f"{str(target)!r} is a folder; name a file")


def _with_estimate(result: Result) -> Any:
    estimate = result.decision.estimate
    return result.predictions.assign(
        estimated_accuracy=estimate.value,
        estimated_accuracy_low=estimate.low,
        estimated_accuracy_high=estimate.high,
    )


@contextmanager
def _folder_in_the_making(folder: Path) -> Iterator[Path]:
    folder = folder.absolute()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise InputError(f"cannot write {str(folder)!r} ({error.strerror}); choose another folder") from None
    try:
        yield making
        making.chmod(0o755)
        _put_in_place(making, folder)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _put_in_place(making: Path, folder: Path) -> None:
    if not folder.exists():
        making.rename(folder)
        return
    # The old run steps aside first, so that no moment shows a mixture of the two.
    aside = making.with_name(making.name + ".old")
    folder.rename(aside)
    try:
        making.rename(folder)
    except OSError:
        aside.rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)
