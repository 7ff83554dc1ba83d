"""What the backtest saw: gains over time, and how the kept way does on each class of the newest judged window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from driftfit.selection import Backtest, Choice, Forecast, LadderChoice

# So many rows are expected of a class, or were there, before it is odd that none is called that.
_FEWEST = 3
_MOST_NAMED = 5


@dataclass(frozen=True)
class OfClass:
    """How one class fared in a window.

    ``rows``: labelled rows of it. ``recall`` and ``precision``: NaN where there is no such row, or none was called
    that. ``never``: whether no row was called that though there are some.
    """

    name: str
    rows: int
    recall: float
    precision: float
    never: bool


def kept_way(choice: LadderChoice) -> str:
    """The way of the backtest that the kept model was learnt by."""
    found: Backtest = choice.backtest
    return choice.best if choice.best in found.ways else found.reference


def past_windows(choice: Choice) -> dict[str, Any] | None:
    """The backtest as plain values; None where there was none."""
    found = getattr(choice, "backtest", None)
    if not isinstance(choice, LadderChoice) or not isinstance(found, Backtest):
        return None
    newest, classes = _newest_classes(choice)
    return {
        "metric": found.metric.words,
        "in_points": found.metric.in_points,
        "reference": found.reference,
        "windows": list(found.windows),
        "late": found.late,
        "sentence": found.sentence,
        "ways": [
            {"name": name, "scores": list(found.scores[name]), "gains": list(found.gains_by_window[name])}
            for name in found.ways
        ],
        "failed": dict(found.failed),
        "kept": kept_way(choice),
        "newest": newest,
        "classes": [asdict(one) for one in classes],
    }


def _newest_classes(choice: LadderChoice) -> tuple[str, list[OfClass]]:
    """The newest window that the kept way was judged on, and how each class fared there."""
    found: Backtest = choice.backtest
    way = kept_way(choice)
    judged = [forecast for forecast in found.forecasts if way in forecast.shares]
    return (judged[-1].name, _of_classes(found, judged[-1], way)) if judged else ("", [])


def _of_classes(found: Backtest, forecast: Forecast, way: str) -> list[OfClass]:
    said, codes = forecast.named(way, found.metric), forecast.codes
    rows = []
    for code, name in enumerate(found.classes):
        true, called = codes == code, said == code
        right = float((true & called).sum())
        recall, precision = (right / part.sum() if part.any() else float("nan") for part in (true, called))
        never = bool(true.any() and not called.any())
        rows.append(OfClass(str(name), int(true.sum()), recall, precision, never))
    return rows


def classes_today(counts: Mapping[Any, int], classes: Sequence[Any], shares: Sequence[float]) -> list[str]:
    """Classes that no row of today is called, though their share of the labelled rows would make up some.

    >>> classes_today({"a": 90, "b": 10}, ["a", "b", "c", "d"], [0.6, 0.2, 0.199, 0.001])
    ['c']
    """
    n_rows = sum(counts.values())
    return [
        str(name)
        for name, share in zip(classes, shares, strict=True)
        if not counts.get(name, 0) and share * n_rows >= _FEWEST
    ]


def class_warnings(choice: Choice, missing: Sequence[str]) -> list[str]:
    """A warning for classes that are never named: by the kept way in the newest judged window, and today."""
    said = []
    if isinstance(choice, LadderChoice) and isinstance(choice.backtest, Backtest):
        newest, classes = _newest_classes(choice)
        never = [one.name for one in classes if one.never and one.rows >= _FEWEST]
        if never:
            said.append(f"in the past window {newest} no row was called {_listed(never)}, though there were some")
    if missing:
        said.append(f"no row of today is called {_listed(missing)}, though labelled rows are")
    return said


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_MOST_NAMED])
    return f"{shown} and {len(names) - _MOST_NAMED} more classes" if len(names) > _MOST_NAMED else shown
