"""Backtests of a user's table: read, cut, measure, and keep the forecasts so that nothing is made twice."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.app.checked import Progress, new_learner, recorded
from driftfit.app.prepare import Prepared, prepare
from driftfit.app.read import Table
from driftfit.app.run_summary import plain
from driftfit.app.settings import Settings
from driftfit.errors import InputError
from driftfit.files import write_bytes
from driftfit.parallel import Engine
from driftfit.selection import Backtest, as_way, backtest, history_ways


def backtest_table(
    table: Table,
    settings: Settings,
    progress: Progress | None = None,
    engine: Engine | None = None,
    folder: Path | None = None,
) -> tuple[Backtest, list[str]]:
    """Measure on a table's labelled windows what each way to learn would have gained, and say what was left out.

    Parameters
    ----------
    table : Table
    settings : Settings
        Its method, if it names one, is measured beside the ways of `history_ways`.
    progress : callable, optional
        Called with stage, done and total.
    engine : Engine, optional
        Where forecasts are made, side by side; the results are the same.
    folder : Path, optional
        Where forecasts are kept, and found again by an interrupted run.
    """
    report = progress or (lambda stage, done, total: None)
    with recorded() as messages:
        report("read", 0, 1)
        prepared = prepare(table, settings)
        report("read", 1, 1)
        if prepared.history is None:
            raise InputError(
                f"labels of column {settings.label!r} are in a single window; a backtest needs two windows with labels "
                "at the least: cut finer ones with --windows, or leave --history first out"
            )
        learner, told = new_learner(prepared, settings)
        ways = history_ways(settings.seed)
        if settings.method is not None:
            ways[settings.method_word] = as_way(settings.method, settings.seed)
        store = None if folder is None else _Store.of(folder, prepared, learner.estimator, settings)
        found = backtest(
            prepared.history, learner, ways, metric=settings.metric, late=settings.late, seed=settings.seed,
            engine=engine, store=store, on_forecast=lambda done, total: report("backtest", done, total),
        )  # fmt: skip
    return found, list(dict.fromkeys([*told, *prepared.sampled, *messages]))


def backtest_summary(found: Backtest) -> dict[str, Any]:
    """A backtest as plain JSON values."""
    gains = {name: {"value": one.value, "low": one.low, "high": one.high} for name, one in found.gains.items()}
    content: dict[str, Any] = plain(
        {
            "metric": found.metric.name,
            "reference": found.reference,
            "late": found.late,
            "asked_late": found.asked_late,
            "windows": found.windows,
            "rows": [len(forecast.codes) for forecast in found.forecasts],
            "scores": found.scores,
            "gains_by_window": found.gains_by_window,
            "gains": gains,
            "best": found.best,
            "sentence": found.sentence,
            "failed": dict(found.failed),
        }
    )
    return content


@dataclass(frozen=True)
class _Store:
    """A folder of forecasts, one file each, named by all that a forecast depends on."""

    folder: Path
    key: str

    @classmethod
    def of(cls, folder: Path, prepared: Prepared, estimator: Any, settings: Settings) -> _Store:
        """The forecasts of these rows, labels, model and settings; those of others have other names."""
        digest = hashlib.blake2b(digest_size=12)
        digest.update(repr((str(estimator), settings.seed, settings.late, settings.method)).encode())
        for domain in prepared.history or ():
            digest.update(np.ascontiguousarray(domain.samples).tobytes())
            digest.update(repr(None if domain.labels is None else domain.labels.tolist()).encode())
        return cls(Path(folder) / "forecasts", digest.hexdigest())

    def get(self, way: str, window: int) -> NDArray[np.float64] | str | None:
        """A forecast that is there, or why there is none to be had."""
        path = self._path(way, window)
        try:
            found = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        return str(found) if found.dtype.kind == "U" else np.asarray(found)

    def put(self, way: str, window: int, forecast: Any) -> None:
        """Keep a forecast, completely or not at all."""
        held = io.BytesIO()
        np.save(held, np.asarray(forecast), allow_pickle=False)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_bytes(self._path(way, window), held.getvalue())

    def _path(self, way: str, window: int) -> Path:
        name = hashlib.blake2b(repr((self.key, way, window)).encode(), digest_size=12).hexdigest()
        return self.folder / f"{name}.npy"
