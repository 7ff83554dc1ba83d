"""Backtests: what each way to learn would have gained in the windows of the past, at the lag at which labels come.

For every window with labels the ways learn from what was known then, adapt to it without its labels, and are measured
on them. What is measured is paired: a way and the reference answer for the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import sqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from scipy.stats import t as student_t

from driftfit.domains import DomainSequence
from driftfit.errors import InputError, SolverError
from driftfit.methods import Method
from driftfit.methods.registry import as_method
from driftfit.models import Learner, as_learner
from driftfit.parallel import Batch, Engine, Serial
from driftfit.progress import tell
from driftfit.selection.candidates import ALL_LABELS, history_ways
from driftfit.selection.evidence import Gain
from driftfit.selection.metric import Metric, default_metric
from driftfit.selection.mixture import IN_ORDER, MIXTURE, with_mixtures

# Whatever takes another's place must gain so many errors more. Fixed on half of the tables of `benchmarks/history.py`.
CAUTION = 0.5
# Fewer windows to judge on say nothing about how much windows differ.
FEWEST_WINDOWS = 2
# Rows of a window are left out in so many blocks, one after the other, for the error of a gain inside it.
_BLOCKS = 10
# An error has at least so many degrees of freedom: rows inside the windows speak as well.
_LEAST_FREEDOM = 3


class OnForecast(Protocol):
    """Called after each forecast, with how many are done and how many there are."""

    def __call__(self, done: int, total: int) -> None: ...


class ForecastStore(Protocol):
    """Where forecasts are kept, so that an interrupted backtest goes on where it stopped."""

    def get(self, way: str, window: int) -> Any: ...

    def put(self, way: str, window: int, forecast: Any) -> None: ...


@dataclass(frozen=True, eq=False)
class Forecast:
    """What the ways said about one window of the past.

    ``window``: its number. ``codes``: the labels of its rows that have one. ``shares``: of shape (n, K); class
    probabilities by each way that could run. ``answers``: what a way names, where that is not the class that the metric
    would.
    """

    window: int
    name: str
    codes: NDArray[np.int64]
    shares: Mapping[str, NDArray[np.float64]]
    answers: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)

    def named(self, way: str, metric: Metric) -> NDArray[np.int64]:
        """The number of the class that a way names for each row."""
        found = self.answers.get(way)
        return metric.answers(self.shares[way]) if found is None else found


@dataclass(frozen=True, eq=False)
class Backtest:
    """What each way would have gained over the reference, window by window.

    Attributes
    ----------
    metric : Metric
    reference : str
    late : int
        Windows without labels between what was learnt from and the judged window.
    asked_late : int
        The lag at which labels really arrive; shorter ones are imitated where history is too short for it.
    classes : array
    forecasts : tuple of Forecast
        Of the judged windows, the oldest first.
    failed : dict of str
        Why a way has no forecast at all.
    plain : str or None
        The way that the others were compared with before `beside` put a model in the reference's place that cannot be
        learnt anew.
    held_back : str
        Why the reference stays though another way gained; empty where it did not, or was taken.
    """

    metric: Metric
    reference: str
    late: int
    asked_late: int
    classes: NDArray[Any]
    forecasts: tuple[Forecast, ...]
    failed: Mapping[str, str] = field(default_factory=dict)
    plain: str | None = None
    held_back: str = ""
    _found: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def windows(self) -> tuple[str, ...]:
        """Names of the judged windows."""
        return tuple(forecast.name for forecast in self.forecasts)

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways that could run in some window, the reference first."""
        names = dict.fromkeys(name for forecast in self.forecasts for name in forecast.shares)
        return tuple(sorted(names, key=lambda name: name != self.reference))

    @property
    def scores(self) -> dict[str, NDArray[np.float64]]:
        """The metric of each way in each window; NaN where it could not run or is not defined."""
        return {name: self._scored(name)[0] for name in self.ways}

    @property
    def gains_by_window(self) -> dict[str, NDArray[np.float64]]:
        """What each way gains over the reference in each window."""
        return {name: self._scored(name)[1] for name in self.ways}

    @property
    def gains(self) -> dict[str, Gain]:
        """The gain to expect in a window to come, with an interval that knows that windows vary."""
        return {name: self._gain(name)[0] for name in self.ways if self._n(name)}

    @cached_property
    def best(self) -> str:
        """The mixture where it clearly gained, with rows in order where that gained clearly more; else the reference.

        Where ways cannot be mixed it is the one whose gain exceeds its error by most, if any does.
        A model that cannot be learnt anew is left only for a way that was measured to gain clearly over it.
        """
        if self.held_back:
            return self.reference
        if self.plain is not None:
            way = replace(self, reference=self.plain, plain=None).best
            return way if self._n(way) >= FEWEST_WINDOWS and self._lower(way, self.reference) > 0.0 else self.reference
        judged = [name for name in self.ways if name != self.reference and self._n(name) >= FEWEST_WINDOWS]
        best = self.reference
        for name in (MIXTURE, IN_ORDER):
            if name in judged and self._lower(name, best) > 0.0:
                best = name
        if MIXTURE in judged:
            judged = [name for name in judged if any(name in forecast.answers for forecast in self.forecasts)]
        lower = {name: self._lower(name, best) for name in judged}
        return max([best, *lower], key=lambda name: lower.get(name, 0.0))

    def beside(self, name: str, answers: NDArray[np.int64], sequence: DomainSequence) -> Backtest:
        """The same with a model that only answers as the reference.

        ``answers``: the class that the model names for each labelled row of the ``sequence`` that was measured on.
        """
        certain, forecasts = np.eye(len(self.classes)), []
        for own in self.forecasts:
            said = answers[sequence.labelled_windows == own.window]
            shares, named = {**own.shares, name: certain[said]}, {**own.answers, name: said}
            forecasts.append(replace(own, shares=shares, answers=named))
        return replace(self, reference=name, forecasts=tuple(forecasts), plain=self.reference)

    def _lower(self, name: str, other: str) -> float:
        """What a way gains over another one, less so many of its errors."""
        gain, error = replace(self, reference=other)._gain(name)
        return gain.value - CAUTION * error

    def expected(self, way: str) -> Gain:
        """The metric to expect in a window to come, with its interval."""
        values = self.scores[way]
        known = values[np.isfinite(values)]
        if len(known) == 0:
            return Gain(float("nan"), float("nan"), float("nan"))
        spread = float(known.std(ddof=1)) if len(known) > 1 else float("nan")
        half = student_t.ppf(0.975, max(len(known) - 1, 1)) * spread * sqrt(1.0 + 1.0 / len(known))
        low, high = float(known.mean() - half), float(known.mean() + half)
        if self.metric.in_points:
            low, high = max(low, 0.0), min(high, 1.0)
        return Gain(float(known.mean()), low, high)

    @property
    def sentence(self) -> str:
        """What was measured, and what follows from it."""
        over = f"{len(self.forecasts)} past window{'s' if len(self.forecasts) != 1 else ''}"
        lag = f", labels {self.late} window{'s' * (self.late != 1)} late" if self.late else ""
        if self.late < self.asked_late:
            lag += f" (they come {self.asked_late} late; history is too short to measure at that)"
        counted = f"less {self.metric.words}" if self.metric.is_loss else self.metric.words
        best, other = self.best, self.reference if self.plain is None else f"the {self.reference}"
        if self.held_back:
            return f"{replace(self, held_back='').sentence}, but {self.held_back}; {other} stays"
        if best == self.reference:
            return f"in {over}{lag} no other way gained clearly over {other}, counted by {self.metric.words}"
        gain = self._gain(best)[0]
        return (
            f"in {over}{lag} {best!r} gained {self.metric.shown(gain.value, signed=True)} of {counted} over "
            f"{other} ({self.metric.shown(gain.low, signed=True).removesuffix(' points')} to "
            f"{self.metric.shown(gain.high, signed=True)} to expect)"
        )

    def _n(self, name: str) -> int:
        return int(np.isfinite(self._scored(name)[1]).sum())

    def _scored(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Scores, gains over the reference, and the errors of these gains inside each window."""
        if name not in self._found:
            rows = [_in_window(self.metric, forecast, name, self.reference) for forecast in self.forecasts]
            self._found[name] = tuple(np.array(part) for part in zip(*rows, strict=True))
        scores, gains, errors = self._found[name]
        return scores, gains, errors

    def _gain(self, name: str) -> tuple[Gain, float]:
        """The gain in a window to come, and the error of the mean gain."""
        _, gains, errors = self._scored(name)
        known = np.isfinite(gains)
        own, inside = gains[known], float(np.mean(np.square(errors[known])))
        n = len(own)
        between = float(own.var(ddof=1)) if n > 1 else 0.0
        error = sqrt((inside + between) / n)
        value = float(own.mean())
        if name == self.reference:
            return Gain(0.0, 0.0, 0.0), 0.0
        # Windows differ by more than their rows alone would make them, or at least by that.
        half = student_t.ppf(0.975, max(n - 1, _LEAST_FREEDOM)) * sqrt(max(between, inside) * (1.0 + 1.0 / n))
        low, high = value - half, value + half
        reach = 1.0 if self.metric.in_points else np.inf
        return Gain(value, max(low, -reach), min(high, reach)), error


def backtest(
    sequence: DomainSequence,
    learner: Any = None,
    ways: Mapping[str, Method] | None = None,
    *,
    metric: Metric | None = None,
    reference: str = ALL_LABELS,
    late: int | None = None,
    seed: int = 0,
    engine: Engine | None = None,
    on_forecast: OnForecast | None = None,
    store: ForecastStore | None = None,
) -> Backtest:
    """Measure ways to learn and to adapt on the labelled windows of the past, of which two are needed at the least.

    Parameters
    ----------
    sequence : DomainSequence
    learner : Learner or classifier, optional
        What is trained anew for every window; logistic regression by default.
    ways : mapping of names to Method, optional
        By default those of `history_ways`.
    metric : Metric, optional
        Accuracy, or balanced accuracy where a class is rare (`default_metric`).
    reference : str
        The way that the others are compared with.
    late : int, optional
        How many windows late labels arrive; by default read off the sequence.
    seed : int
    engine, on_forecast, store : optional
        Where forecasts are made, for progress, and where those that are done are found and kept.

    Examples
    --------
    >>> from driftfit.domains import Domain
    >>> rng = np.random.default_rng(0)
    >>> rows = [rng.normal(size=(300, 1)) for _ in range(6)]
    >>> labels = [(x.ravel() > 0.5 * place).astype(int) for place, x in enumerate(rows)]
    >>> found = backtest(DomainSequence([*map(Domain, rows[:5], labels[:5]), Domain(rows[5])]))
    >>> found.best, len(found.windows), bool((found.gains_by_window["last window"][1:] > 0.05).all())
    ('mixture', 4, True)
    """
    classes = sequence.labelled.classes
    if not isinstance(learner, Learner):
        learner = as_learner(_logistic() if learner is None else learner, classes)
    ways = _checked(history_ways(seed) if ways is None else ways, reference)
    codes = sequence.labelled.codes(classes)
    counted = default_metric(codes, len(classes))[0] if metric is None else metric.for_labels(codes, classes.tolist())
    asked = sequence.late if late is None else late
    lag = lag_to_imitate(sequence, asked)
    numbers = judged_windows(sequence, lag)
    if not numbers:
        raise InputError("a backtest needs two windows with labels at the least: cut finer windows, or label more")
    found, failed = _forecasts(sequence, learner, ways, numbers, lag, engine, on_forecast, store)
    from driftfit.selection.answers import with_thresholds

    return with_thresholds(with_mixtures(Backtest(counted, reference, lag, asked, classes, found, failed), ways))


def _checked(ways: Mapping[str, Method], reference: str) -> dict[str, Method]:
    if reference not in ways:
        raise InputError(f"the reference {reference!r} is none of the ways: {', '.join(map(repr, ways))}")
    return {name: as_method(own) for name, own in ways.items()}


def judged_windows(sequence: DomainSequence, late: int) -> list[int]:
    """Windows with labels that have a labelled one far enough before them."""
    labelled = np.unique(sequence.labelled_windows)
    return [int(number) for number in labelled if (labelled < number - late).any()]


def lag_to_imitate(sequence: DomainSequence, late: int) -> int:
    """The lag of the labels, or the longest below it at which two windows and more can be judged, each after two."""
    labelled = np.unique(sequence.labelled_windows)

    def judged(lag: int) -> int:
        return sum(int((labelled < number - lag).sum()) >= 2 for number in labelled)

    return next((lag for lag in range(late, 0, -1) if judged(lag) >= FEWEST_WINDOWS), 0)


def _forecasts(
    sequence: DomainSequence,
    learner: Learner,
    ways: Mapping[str, Method],
    numbers: list[int],
    late: int,
    engine: Engine | None,
    on_forecast: OnForecast | None,
    store: ForecastStore | None,
) -> tuple[tuple[Forecast, ...], dict[str, str]]:
    """Forecasts by window, and why a way has none at all."""
    tasks = [(number, name) for number in numbers for name in ways]
    done: dict[tuple[int, str], Any] = {}
    if store is not None:
        kept = ((task, store.get(task[1], task[0])) for task in tasks)
        done = {task: came for task, came in kept if came is not None}
    work = _ForecastWork(sequence, learner, dict(ways), late)
    told: Callable[[int, int], None] = on_forecast or (lambda done, total: tell(f"backtest, {done} of {total} done"))
    told(len(done), len(tasks))
    for task, came in _run(work, [task for task in tasks if task not in done], engine):
        done[task] = came
        if store is not None:
            store.put(task[1], task[0], came)
        told(len(done), len(tasks))
    forecasts, said = [], {}
    for number in numbers:
        shares = {name: done[number, name] for name in ways if not isinstance(done[number, name], str)}
        said.update({name: done[number, name] for name in ways if isinstance(done[number, name], str)})
        forecasts.append(Forecast(number, sequence[number].name, _truth(sequence, number, learner), shares))
    ran = {name for forecast in forecasts for name in forecast.shares}
    return tuple(forecasts), {name: why for name, why in said.items() if name not in ran}


def _run(
    work: _ForecastWork, tasks: list[tuple[int, str]], engine: Engine | None
) -> Iterator[tuple[tuple[int, str], Any]]:
    """What came of the tasks, as they are done."""
    if engine is None or isinstance(engine, Serial):
        for task in tasks:
            yield task, work.run(work, task)
        return
    for outcome in engine.run(iter([Batch(work, tuple(tasks))])):
        if outcome.failure is not None and not outcome.failure.refused:
            raise SolverError(f"{outcome.task[1]} in window {outcome.task[0]}: {outcome.failure.text}")
        yield outcome.task, outcome.value if outcome.failure is None else outcome.failure.text


def _truth(sequence: DomainSequence, number: int, learner: Learner) -> NDArray[np.int64]:
    rows = sequence.labelled_windows == number
    return np.asarray(sequence.labelled.codes(learner.classes)[rows])


@dataclass(frozen=True, eq=False)
class _ForecastWork:
    """One way in one window of the past."""

    sequence: DomainSequence
    learner: Learner
    ways: Mapping[str, Method]
    late: int

    def prepare(self, tasks: tuple[Any, ...], scratch: dict[str, Any]) -> _ForecastWork:
        """Nothing is shared but what there is."""
        return self

    def run(self, shared: _ForecastWork, task: tuple[int, str]) -> NDArray[np.float64] | str:
        """Class probabilities of the labelled rows of a window, or why there are none."""
        number, name = task
        known = self.sequence.as_known_at(number, self.late)
        rows = np.flatnonzero(self.sequence[number].has_label)
        try:
            way = self.ways[name]
            adapted = way.adapt(self.learner, known).learner
            # Rows that are read by those before them need all of these, labelled or not.
            whole = way.needs_order or len(rows) == len(known.target)
            logits = adapted.logits((known.target if whole else known.target.take(rows)).samples)
            logits = logits[rows] if whole else logits
        except (InputError, SolverError) as error:
            return str(error)
        return np.asarray(softmax(logits, axis=1))


def _in_window(metric: Metric, forecast: Forecast, name: str, reference: str) -> tuple[float, float, float]:
    """The score of a way in a window, its gain over the reference, and the error of that."""
    own, other = forecast.shares.get(name), forecast.shares.get(reference)
    if own is None:
        return float("nan"), float("nan"), float("nan")
    said, codes = forecast.named(name, metric), forecast.codes
    score = metric.of(own, codes, said)
    if other is None or name == reference:
        return score, 0.0 if name == reference else float("nan"), 0.0 if name == reference else float("nan")
    theirs = forecast.named(reference, metric)
    gain = score - metric.of(other, codes, theirs)
    # Blocks of neighbouring rows, as those that follow each other may resemble each other.
    block = np.arange(len(own)) * _BLOCKS // max(len(own), 1)
    without = []
    for number in np.unique(block):
        kept = block != number
        if kept.any():
            without.append(
                metric.of(own[kept], codes[kept], said[kept]) - metric.of(other[kept], codes[kept], theirs[kept])
            )
    left_out = np.array([one for one in without if np.isfinite(one)])
    m = len(left_out)
    error = sqrt((m - 1) / m * float(np.square(left_out - left_out.mean()).sum())) if m > 1 else 0.0
    return score, gain, error


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)
