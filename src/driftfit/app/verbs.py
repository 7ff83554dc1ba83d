"""The three verbs of Python: adapt a table, measure on its past, load what was kept. Words become values here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.app.backtests import backtest_table
from driftfit.app.checked import check_table
from driftfit.app.folder import load_run, save_run
from driftfit.app.forecasts import Forecasts
from driftfit.app.job import Result, adapt_checked, adapt_table
from driftfit.app.models import encoder_from_word, method_from_word, model_from_word
from driftfit.app.own_model import own_model, predictions_in
from driftfit.app.predictor import Predictor
from driftfit.app.read import Table, open_table, table_of
from driftfit.app.run_summary import summarise
from driftfit.app.settings import Column, FilePosition, History, Limits, RowPosition, Settings
from driftfit.app.update import arrived, told_of, whole_frame
from driftfit.app.windows import ByCalendar
from driftfit.domains import ByQuantile, ByValue
from driftfit.domains.windows import Windows
from driftfit.errors import InputError
from driftfit.files import write_text
from driftfit.parallel import Engine
from driftfit.selection import Backtest, Metric

_PERIODS = ("hour", "day", "week", "month", "quarter", "year")


@dataclass(frozen=True, eq=False)
class Run:
    """An adapted table: what was done in a few sentences, and the model that was kept.

    Attributes
    ----------
    predictor : Predictor
    summary : dict
        Every number, as in ``result.json``.
    result : Result or None
        Everything that came out of `adapt`; None for a run that was loaded.
    """

    predictor: Predictor
    summary: dict[str, Any]
    result: Result | None = None

    def __str__(self) -> str:
        return "\n".join(self.summary["answer"]["sentences"])

    __repr__ = __str__

    @property
    def classes(self) -> NDArray[Any]:
        """The classes, in the order of `predict_proba`."""
        return self.predictor.classes

    @property
    def predictions(self) -> pd.DataFrame:
        """Predictions of the rows without a label."""
        if self.result is None:
            raise InputError("predictions of a loaded run are in its folder, predictions.parquet")
        found = self.result.predictions
        return found if isinstance(found, pd.DataFrame) else pd.concat(found.frames(), ignore_index=True)

    @property
    def backtest(self) -> Backtest | None:
        """What was measured on the past windows, where there were enough."""
        return None if self.result is None else getattr(self.result.choice, "backtest", None)

    def predict(self, rows: Any) -> NDArray[Any]:
        """Labels of new rows: a data frame, or the path of a file."""
        return np.asarray(self._answers(rows)["prediction"])

    def predict_proba(self, rows: Any) -> NDArray[np.float64]:
        """Class probabilities of new rows, a column for each of ``classes``."""
        columns = [f"probability {name}" for name in self.classes]
        return np.asarray(self._answers(rows)[columns], dtype=np.float64)

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write model, predictions, numbers, model card and report; the folder appears whole or not at all."""
        from driftfit.app.report.page import build_page

        if self.result is None:
            raise InputError("this run was loaded: it is in its folder already")
        return save_run(self.result, self.summary, Path(folder), page=build_page, force=force)

    def update(self, rows: Any, engine: Engine | None = None) -> Run:
        """The run with new rows, and with labels that arrived for old ones: what `adapt` gives for all of them.

        Rows are recognised by the columns of ``id`` and the order, or by all their values where there is no ``id``.
        Forecasts of past windows that do not change are not made again.
        """
        if self.result is None:
            raise InputError("a loaded run does not hold its rows; use driftfit update RUN/ NEW, or adapt again")
        settings, table = self.result.checked.settings, self.result.checked.table
        found = arrived(whole_frame(table), whole_frame(_table(rows, self.predictor)), settings)
        if found.nothing:
            return self
        known = Forecasts({} if self.result.forecasts is None else dict(self.result.forecasts.known))
        result = adapt_checked(check_table(table_of(found.rows), settings), engine=engine, forecasts=known)
        summary, _ = told_of(found, self.predictions, settings.metric, self.summary, summarise(result))
        return Run(result.predictor, summary, result)

    def report(self, target: str | Path) -> Path:
        """Write the report as one HTML file."""
        from driftfit.app.report.page import build_page

        write_text(Path(target), build_page([self.summary]))
        return Path(target)

    def _answers(self, rows: Any) -> pd.DataFrame:
        return self.predictor.predict_table(_table(rows, self.predictor))


def adapt(
    table: Any,
    *,
    label: str,
    order: str | None = None,
    windows: int | str | Sequence[Any] | Windows | None = None,
    model: Any = None,
    method: Any = None,
    engine: Engine | None = None,
    **options: Any,
) -> Run:
    """Learn from the labels of a table, wherever they stop, for its rows without one.

    Parameters
    ----------
    table : data frame or path
        pandas, polars, Arrow, a DuckDB relation; or the path of a CSV or Parquet file, or several.
    label : str
        Column of the labels: rows with one are history, rows without one are today's.
    order : str, optional
        Column that orders the rows; their position by default, or the file where there are several.
    windows : int, str or sequence, optional
        So many with equally many rows (5); ``"month"`` and the like, or ``"value"``; or the values that windows begin
        at.
    model : str or classifier, optional
        ``"logistic"``, ``"forest"``, ``"boosting"``, or any scikit-learn classifier.
    method : str or Method, optional
        One way to adapt instead of the choice by evidence.
    engine : Engine, optional
        Where backtests and candidates run, side by side.
    **options
        Other fields of `driftfit.app.Settings` by name: ``assume``, ``metric`` (a name), ``late``, ``history``
        (``"all"`` or ``"first"``), ``group``, ``drop``, ``categorical``, ``id``, ``seed``, ``training_rows``. The model
        that you have in use is the reference as ``old_model`` (a path as for ``--old-model``, a function of a data
        frame, or an object with ``predict``) or as ``old_predictions`` (the column of what it says).

    Returns
    -------
    Run
        ``print(run)`` says in a few sentences what was done and what to expect.

    Examples
    --------
    >>> from driftfit.datasets.toy import drifting_events
    >>> events = pd.DataFrame(drifting_events(600))
    >>> events.loc[events.month > "2025-10", "churned"] = None
    >>> run = adapt(events, label="churned", order="month")
    >>> len(run.predictions) == int(events.churned.isna().sum()), run.predict_proba(events.tail(3)).shape
    (True, (3, 2))
    """
    settings = _settings(table, label, order, windows, model, method, options)
    result = adapt_table(_table(table), settings, engine=engine)
    return Run(result.predictor, summarise(result), result)


def backtest(
    table: Any,
    *,
    label: str,
    order: str | None = None,
    windows: int | str | Sequence[Any] | Windows | None = None,
    model: Any = None,
    method: Any = None,
    engine: Engine | None = None,
    folder: str | Path | None = None,
    **options: Any,
) -> Backtest:
    """What each way to learn would have gained in the past windows of a table, over a model of all labels.

    Parameters are those of `adapt`; ``late`` is how many windows late labels arrive, ``folder`` keeps the forecasts, so
    that an interrupted call goes on where it was.

    Examples
    --------
    >>> from driftfit.datasets.toy import drifting_events
    >>> found = backtest(pd.DataFrame(drifting_events(600)), label="churned", order="month", late=1)
    >>> found.reference, found.late, len(found.windows)
    ('all labels', 1, 3)
    """
    settings = _settings(table, label, order, windows, model, method, options)
    kept = None if folder is None else Path(folder)
    return backtest_table(_table(table), settings, engine=engine, folder=kept)[0]


def load(folder: str | Path, old_model: Any = None) -> Run:
    """A run that was saved; changed files and unknown types are refused.

    A run that kept the model in use, where that is Python code, needs it again as ``old_model``.
    """
    found = load_run(Path(folder), None if old_model is None else own_model(old_model))
    return Run(found.predictor, found.summary)


def _settings(
    table: Any, label: str, order: str | None, windows: Any, model: Any, method: Any, options: Mapping[str, Any]
) -> Settings:
    """Words as the values that they stand for."""
    more = dict(options)
    several = not isinstance(table, str | Path) and isinstance(table, Sequence)
    ordering: Any = FilePosition() if order is None and several and len(table) > 1 else RowPosition()
    label, order, more["group"] = (_name(own) for own in (label, order, more.get("group")))
    if order is not None and not isinstance(order, str):
        raise InputError(f"order must be the name of a column, got {order!r}")
    if order is not None and order != "@row":
        ordering = FilePosition() if order == "@file" else Column(order)
    if isinstance(more.get("metric"), str):
        more["metric"] = Metric.from_word(more["metric"])
    if more.get("history") in [own.value for own in History]:
        more["history"] = History(more["history"])
    if isinstance(more.get("encoder"), str):
        more["encoder"] = encoder_from_word(more["encoder"])
    more["labels_until"] = _name(more.get("labels_until"))
    in_use = [more.pop(word) for word in ("old_model", "old_predictions") if word in more]
    if len(in_use) > 1:
        raise InputError("old_model and old_predictions exclude each other: one model is in use")
    if in_use:
        more["in_use"] = predictions_in(in_use[0]) if "old_predictions" in options else own_model(in_use[0])
    if "training_rows" in more:
        more["limits"] = Limits(more.pop("training_rows"))
    try:
        return Settings(
            label=label,
            order=ordering,
            windows=_windows(windows),
            model=model_from_word(model) if isinstance(model, str) else model,
            method=method_from_word(method) if isinstance(method, str) else method,
            **more,
        )
    except TypeError as error:
        raise InputError(f"{str(error).partition(') ')[2] or error}; see help(driftfit.adapt)") from None


def _name(name: Any) -> Any:
    """The name of a column or window as text: a number stands for the text that it is written as."""
    return str(name) if isinstance(name, int | np.integer) and not isinstance(name, bool) else name


def _windows(windows: Any) -> Windows:
    if windows is None or isinstance(windows, Integral):
        return ByQuantile(5 if windows is None else int(windows))
    if isinstance(windows, str):
        if windows != "value" and windows not in _PERIODS:
            raise InputError(f"windows must be a number, 'value' or one of {', '.join(_PERIODS)}, got {windows!r}")
        return ByValue() if windows == "value" else ByCalendar(windows)
    if isinstance(windows, Sequence) and windows and not isinstance(windows, bytes):
        from driftfit.domains import ByEdges

        return ByEdges(tuple(windows))
    if not hasattr(windows, "cut"):
        raise InputError(f"windows must be a number, a word such as 'month', or beginnings, got {windows!r}")
    found: Windows = windows
    return found


def _table(table: Any, predictor: Predictor | None = None) -> Table:
    """A frame, or files; new files are read as those of the training were."""
    paths = [table] if isinstance(table, str | Path) else table
    if isinstance(paths, Sequence) and paths and all(isinstance(path, str | Path) for path in paths):
        texts = () if predictor is None else predictor.texts
        return open_table([Path(path) for path in paths], texts)
    return table_of(table)
