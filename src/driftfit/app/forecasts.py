"""Forecasts of past windows under names that say all they were made from, so that none is made twice."""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone

from driftfit import __version__
from driftfit.app.features import as_matrix
from driftfit.app.settings import Settings
from driftfit.domains import Domain, DomainSequence
from driftfit.files import write_bytes
from driftfit.models import Learner
from driftfit.selection import history_ways
from driftfit.selection.backtest import lag_to_imitate

# What these packages do is named by their versions; the code of other models is looked at.
# Forecasts that take more room are not kept beside a model.
_MOST_BYTES = 1 << 28
_VERSIONED = ("sklearn", "driftfit", "numpy", "builtins")


class PastWindows(DomainSequence):
    """Windows of a table. For each past one the features are made from the rows that there were then.

    Scales and words of later rows are not known in the past; and what was known does not change when rows arrive.

    ``domains``: with the features of today. ``frame``: the columns that features are made from. ``rows``: places of
    each window's rows in the frame. ``preprocessing``: fitted anew for each past window.
    """

    def __init__(
        self, domains: Sequence[Domain], frame: pd.DataFrame, rows: Sequence[NDArray[np.int64]], preprocessing: Any
    ) -> None:
        super().__init__(domains)
        self._frame, self._rows, self._preprocessing = frame, tuple(rows), preprocessing
        self._newest: tuple[int, list[NDArray[np.float64]]] | None = None
        self._digests: list[str] = []

    def as_known_at(self, window: int, late: int = 0) -> DomainSequence:
        known = super().as_known_at(window, late)
        if self._newest is None or self._newest[0] != window:
            frames = [self._frame.iloc[rows] for rows in self._rows[: window + 1]]
            fitted = clone(self._preprocessing).fit(pd.concat(frames))
            self._newest = window, [as_matrix(fitted, frame) for frame in frames]
        return DomainSequence(own.with_samples(x) for own, x in zip(known, self._newest[1], strict=True))

    def digest(self, window: int) -> str:
        """A hash of the rows of a window, without their labels."""
        for rows in self._rows[len(self._digests) : window + 1]:
            values = pd.util.hash_pandas_object(self._frame.iloc[rows], index=False)
            self._digests.append(hashlib.sha256(values.to_numpy().tobytes()).hexdigest())
        return self._digests[window]


@dataclass(eq=False)
class Forecasts:
    """Forecasts by what they were made from; those of other rows, labels, models and settings have other names.

    ``known``: those that are there, by name: class probabilities, or why there are none. ``folder``: where each one is
    written as soon as it is made, and found again by an interrupted run. ``used``: names of those that were asked for.
    ``n_found``: how many of them were there already.
    """

    known: dict[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    used: set[str] = field(default_factory=set)
    n_found: int = 0
    # Said by `of`, for the rows of a table.
    _name: Callable[[str, int], str] = "{} {}".format

    def of(self, history: DomainSequence | None, learner: Learner, settings: Settings) -> Forecasts | None:
        """Ready for a table; None where there is nothing that could be found again."""
        if not isinstance(history, PastWindows):
            return None
        late = lag_to_imitate(history, history.late if settings.late is None else settings.late)
        base = (_versions(learner.estimator), _parameters(learner.estimator), settings.seed, late)
        base_text = repr((*base, learner.classes.tolist(), history_ways(settings.seed), repr(settings.method)))

        def name(way: str, window: int) -> str:
            labels = [None if own.labels is None else own.labels.tolist() for own in history[: max(window - late, 0)]]
            digests = [history.digest(number) for number in range(window + 1)]
            parts = base_text, way, digests, labels, history[window].has_label.tolist()
            return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()

        self._name = name
        return self

    def get(self, way: str, window: int) -> NDArray[np.float64] | str | None:
        """A forecast that is there, or why there is none to be had."""
        found = self.known.get(self._named(way, window))
        path = self._path(way, window)
        if found is None and path is not None:
            try:
                read = np.load(path, allow_pickle=False)
                found = str(read) if read.dtype.kind == "U" else read
            except (OSError, ValueError, EOFError):
                return None
        if found is not None:
            self.n_found += 1
            self.known[self._named(way, window)] = found
        return found

    def put(self, way: str, window: int, forecast: Any) -> None:
        """Keep a forecast, completely or not at all."""
        self.known[self._named(way, window)] = forecast
        path = self._path(way, window)
        if path is not None:
            held = io.BytesIO()
            np.save(held, np.asarray(forecast), allow_pickle=False)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, held.getvalue())

    def packed(self) -> bytes | None:
        """Those that were asked for, as one file; None where there are none, or too many to keep."""
        kept = {name: np.asarray(self.known[name]) for name in sorted(self.used & set(self.known))}
        if not 0 < sum(one.nbytes for one in kept.values()) <= _MOST_BYTES:
            return None
        held = io.BytesIO()
        np.savez(held, allow_pickle=False, **kept)
        return held.getvalue()

    @classmethod
    def unpacked(cls, path: Path, folder: Path | None = None) -> Forecasts:
        """Those of a file that `packed` made; none where it is gone or damaged."""
        known: dict[str, Any] = {}
        try:
            with np.load(path, allow_pickle=False) as file:
                known = {name: str(file[name]) if file[name].dtype.kind == "U" else file[name] for name in file.files}
        except (OSError, ValueError, EOFError, KeyError):
            known = {}
        return cls(known, folder)

    def _named(self, way: str, window: int) -> str:
        name = self._name(way, window)
        self.used.add(name)
        return name

    def _path(self, way: str, window: int) -> Path | None:
        return None if self.folder is None else self.folder / "forecasts" / f"{self._named(way, window)}.npy"


def _parameters(estimator: Any) -> str:
    own: Mapping[str, Any] = estimator.get_params() if hasattr(estimator, "get_params") else {}
    return f"{type(estimator)} {sorted((key, repr(value)) for key, value in own.items())}"


def _versions(estimator: Any) -> list[str]:
    """Versions, and a hash of the file of every part of a model that no version names."""
    parts = [estimator, *(estimator.get_params().values() if hasattr(estimator, "get_params") else ())]
    modules = {getattr(part, "__module__", None) or type(part).__module__ for part in parts}
    files = [getattr(sys.modules.get(str(name)), "__file__", None) for name in sorted(map(str, modules))]
    own = [path for path in files if path and not any(f"/{package}/" in path for package in _VERSIONED)]
    hashes = [hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in own if Path(path).is_file()]
    return [__version__, sklearn.__version__, np.__version__, *hashes]
