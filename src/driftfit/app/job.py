"""The job: a table and settings in, a kept model with predictions and everything worth telling out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from driftfit.app.answer import answer_of
from driftfit.app.checked import Checked, Progress, check_table, recorded
from driftfit.app.forecasts import Forecasts
from driftfit.app.labelled_rows import LabelledRows, adapt_with_labels
from driftfit.app.models import is_network
from driftfit.app.parquet_files import Spooled, collected
from driftfit.app.past_windows import class_warnings, classes_today, kept_way
from driftfit.app.predictor import Predictor
from driftfit.app.read import Table, table_of
from driftfit.app.settings import Settings
from driftfit.errors import InputError
from driftfit.methods import (
    GOAT,
    Adaptation,
    Assumption,
    Method,
    Path,
    StepRecord,
    Workspace,
    given_path,
)
from driftfit.methods.held_out import DecidingClassifier, RescaledClassifier
from driftfit.models import Learner
from driftfit.models.scikit import ScikitLearner
from driftfit.parallel import Engine
from driftfit.selection import (
    ALL_LABELS,
    IN_USE,
    AccuracyEstimate,
    Backtest,
    ByEvidence,
    ByHistory,
    Choice,
    ChosenGOAT,
    Decision,
    LadderChoice,
    Metric,
    PredictionSets,
    assess,
    history_ways,
    table_methods,
)
from driftfit.selection.accuracy import rows_to_label
from driftfit.selection.answers import temperature, worth_of
from driftfit.selection.chosen import SOURCE


@dataclass(frozen=True, eq=False)
class Result:
    """What came out of a run.

    Attributes
    ----------
    checked : Checked
        The table, the source model and what was known before adapting.
    adaptation : Adaptation
        The adapted model and its steps.
    path : Path
        The domains that were followed, in the space of the encoder.
    choice : Choice
        The remedy or the number of generated domains, and why.
    decision : Decision
        Estimates after adapting, and which model is kept.
    predictor : Predictor
        The kept model.
    predictions : DataFrame or Spooled
        One row per target row; in a temporary file where there are millions (`Spooled.frames`).
    warnings : tuple of str
    forecasts : Forecasts or None
        What the ways to learn said about past windows, to be found again when rows or labels arrive.
    """

    checked: Checked
    adaptation: Adaptation
    path: Path
    choice: Choice
    decision: Decision
    predictor: Predictor
    predictions: pd.DataFrame | Spooled
    warnings: tuple[str, ...]
    forecasts: Forecasts | None = None

    @property
    def source(self) -> Learner:
        """The source model."""
        return self.checked.source

    @property
    def adapted(self) -> Learner:
        """The adapted model, kept or not."""
        return self.adaptation.learner

    @property
    def kept(self) -> str:
        """``adapted`` or ``source``."""
        return self.decision.kept

    @property
    def n_generated(self) -> int:
        """Domains generated between two neighbouring windows."""
        return self.choice.n_generated

    @property
    def trusted(self) -> bool:
        """Whether the path was followed as the check advises, and the adapted model was kept."""
        return self.decision.trusted

    def __str__(self) -> str:
        return str(answer_of(self))


def adapt_frame(frame: Any, settings: Settings, progress: Progress | None = None) -> Result:
    """`adapt_table` for a data frame: pandas, polars or pyarrow.

    Examples
    --------
    >>> from driftfit.datasets.toy import moving_gaussians
    >>> from driftfit.app.settings import Column, Settings
    >>> X, y, year = moving_gaussians((0, 0.5, 1.0)).as_samples()
    >>> table = pd.DataFrame(X).assign(kind=y, year=year)
    >>> result = adapt_frame(table, Settings(label="kind", order=Column("year"), n_generated=1))
    >>> len(result.predictions) == int((year == 2).sum())
    True
    """
    return adapt_table(table_of(frame), settings, progress)


def adapt_table(
    table: Table, settings: Settings, progress: Progress | None = None, engine: Engine | None = None
) -> Result:
    """Check, adapt, decide and predict: `check_table`, then `adapt_checked`.

    ``progress``: called with stage, done and total. ``engine``: where backtests, candidates and predictions are made,
    side by side; the results are the same.
    """
    return adapt_checked(check_table(table, settings, progress), progress, engine=engine)


def adapt_checked(
    checked: Checked,
    progress: Progress | None = None,
    labelled: LabelledRows | None = None,
    *,
    every_candidate: bool = False,
    engine: Engine | None = None,
    forecasts: Forecasts | None = None,
) -> Result:
    """Go on where `check_table` stopped: adapt, decide on the same view, predict every row of the last window.

    ``labelled``: labels of some rows of the last window: they compare all remedies, and are trained on.
    ``every_candidate``: predict by every remedy that was tried as well, each in a column ``prediction by NAME``.
    ``engine``: where candidates and predictions are made, side by side; the results are the same. ``forecasts``: where
    those of past windows are found and kept.
    """
    report = progress or (lambda stage, done, total: None)
    prepared, source = checked.prepared, checked.source
    store = (forecasts or Forecasts()).of(prepared.history, source, checked.settings)
    with recorded() as messages:
        adaptation, method, tried = _adapted(checked, report, labelled, engine, store)
        choice = _choice(checked.settings, adaptation)
        report("estimate", 0, 1)
        decision = _decision(checked, adaptation, choice, method.assumes)
        path = adaptation.path or given_path(Workspace().encoded(source, prepared.training), measure_shift=False)
        report("estimate", 1, 1)
        model = source if decision.keep_source else adaptation.learner
        own = checked.settings.in_use if decision.keep_source else None
        carried = checked.settings.id
        sets = _sets(checked.settings.sets, choice)
        model, calibrated = (model, []) if own is not None or sets is not None else _calibrated(model, choice)
        predictor = Predictor(
            prepared.plans, prepared.preprocessing, model.estimator, prepared.boolean, own, carried, sets
        )
        rows = prepared.windows[-1].rows if prepared.asked is None else prepared.asked
        report("predict", 0, len(rows))
        in_use = checked.settings.in_use
        others = {
            name: replace(predictor, model=learner.estimator, own=in_use if name == IN_USE else None)
            for name, learner in (tried.items() if every_candidate else ())
        }
        done = partial(report, "predict")
        counts: Counter[Any] = Counter()
        frames = _predicted(predictor, others, checked, rows, lambda count: done(count, len(rows)), engine)
        predictions = collected(_counted(frames, counts), len(rows))
    checked = replace(checked, prepared=replace(prepared, sampled=[*prepared.sampled, *calibrated]))
    shares = prepared.training.source.one_hot(source.classes).mean(axis=0)
    names = replace(predictor, model=source.estimator).classes  # the kept model may have lost one
    missing = classes_today(counts, names.tolist(), shares.tolist())
    told = tuple(dict.fromkeys([*checked.warnings, *messages, *class_warnings(choice, missing)]))
    return Result(checked, adaptation, path, choice, decision, predictor, predictions, told, store)


def _calibrated(model: Learner, choice: Choice) -> tuple[Learner, list[str]]:
    """The model with probabilities that held in past windows, and a sentence on that; itself where it helps nothing."""
    found, head = choice.backtest if isinstance(choice, LadderChoice) else None, model.head()
    if not isinstance(choice, LadderChoice) or found is None or not isinstance(head, ScikitLearner):
        return model, []
    # Costs and thresholds were chosen for the probabilities as they are.
    kept = None if isinstance(head.estimator, DecidingClassifier) else temperature(found, kept_way(choice))
    if kept is None:
        return model, []
    scaled = RescaledClassifier.of(head.estimator, kept[0], np.zeros(len(found.classes)))
    return model.with_head(replace(head, estimator=scaled)), [kept[1]]


def _sets(coverage: float | None, choice: Choice) -> PredictionSets | None:
    """Sets of classes, calibrated on what the kept way forecast of past windows."""
    if coverage is None:
        return None
    found = choice.backtest if isinstance(choice, LadderChoice) else None
    if not isinstance(choice, LadderChoice) or found is None:
        raise InputError(
            "sets are calibrated on past windows that were forecast; there are none: they need labels in three windows "
            "at the least, and the default method"
        )
    return PredictionSets.of(found, worth_of(found, kept_way(choice))[0], coverage)


def _counted(frames: Iterator[pd.DataFrame], counts: Counter[Any]) -> Iterator[pd.DataFrame]:
    """The same frames; when they have gone by, how often each class was predicted is known."""
    for frame in frames:
        counts.update(frame["prediction"].value_counts().to_dict())
        yield frame


def _predicted(
    predictor: Predictor,
    others: dict[str, Predictor],
    checked: Checked,
    rows: Any,
    on_rows: Callable[[int], None],
    engine: Engine | None,
) -> Iterator[pd.DataFrame]:
    """Predictions of the kept model a batch at a time, with those of others beside it."""
    if any(one.own is not None for one in (predictor, *others.values())):
        # A model in use answers all rows at once.
        whole = predictor.predict_table(checked.table, rows, on_rows, training=True)
        found = {name: other.predict_table(checked.table, rows, training=True) for name, other in others.items()}
        yield whole.assign(**{f"prediction by {name}": other["prediction"] for name, other in found.items()})
        return
    streams = [other.predict_frames(checked.table, rows, training=True) for other in others.values()]
    kept = predictor.predict_frames(checked.table, rows, on_rows, training=True, engine=engine)
    for frame, *more in zip(kept, *streams, strict=True):
        named = zip(others, more, strict=True)
        yield frame.assign(**{f"prediction by {name}": other["prediction"] for name, other in named})


def _decision(checked: Checked, adaptation: Adaptation, choice: Choice, assumes: frozenset[Assumption]) -> Decision:
    """Which model to keep: by what the method assumes, or by the evidence that was weighed."""
    if isinstance(choice, LadderChoice):
        return _by_evidence(checked.decision, choice)
    if adaptation.is_none_of(checked.source):
        return checked.decision
    return assess(
        checked.view,
        checked.source,
        adaptation.learner,
        gate=checked.settings.gate,
        n_generated=choice.n_generated,
        assumes=assumes,
    )


def _by_evidence(decision: Decision, choice: LadderChoice) -> Decision:
    """The decision that a choice stands for, with the accuracies that rest on the same evidence."""
    # What labels of today are compared with may itself be a way that past windows chose.
    ladder = choice.ladder
    # A model in use is left for one of all labels too, where that is better.
    kept = choice.best in ((IN_USE,) if choice.reference == IN_USE else (SOURCE, ALL_LABELS))
    before: AccuracyEstimate | None = decision.before
    after: AccuracyEstimate | None = None
    if choice.backtest is not None and (kept or ladder is None):
        before, after = (
            _from_backtest(choice.backtest, name) for name in (choice.backtest.reference, kept_way(choice))
        )
    elif choice.measured:
        before, after = choice.measured
    elif ladder is not None and ladder.used is not None:
        before, after = ladder.before, ladder.estimate
    unknown = AccuracyEstimate.unknown(f"label {rows_to_label()} rows to know it")
    told = replace(decision, before=before or unknown, reasons=(choice.sentence,))
    return told if kept else replace(told, after=after or unknown, kept="adapted", compared=True)


def _from_backtest(found: Backtest, way: str) -> AccuracyEstimate:
    """The accuracy to expect of a way, whatever the metric is, with the interval that windows of the past give."""
    gain = replace(found, metric=Metric()).expected(way)
    return AccuracyEstimate(gain.value, gain.low, gain.high, f"accuracy in {len(found.windows)} past windows")


def _adapted(
    checked: Checked,
    report: Progress,
    labelled: LabelledRows | None,
    engine: Engine | None,
    store: Forecasts | None,
) -> tuple[Adaptation, Method, dict[str, Learner]]:
    """The adaptation, the method that made it, and the model of each remedy by its name."""
    training, last = checked.prepared.training, checked.view.last
    # The worst class decides: a number that suits a typical one leaves it behind.
    ratios = [step.largest_ratio for step in checked.decision.verdict.steps]
    steps = [ratio for ratio in ratios if np.isfinite(ratio)]
    columns = checked.table.image_shape is None and not is_network(checked.source.estimator)
    method = checked.settings.method_for(max(steps, default=1.0), columns=columns)
    total, done = len(table_methods()) + 4 if labelled is not None else method.n_steps(training), 0
    tried: dict[str, Learner] = {}

    def advance(n_steps: int) -> None:
        nonlocal done
        done = min(done + n_steps, total)
        report("adapt", done, total)

    def one_more(name: Any, adaptation: Adaptation) -> None:
        tried[str(name)] = adaptation.learner
        advance(1)

    def watch(record: StepRecord, student: Learner) -> None:
        advance(1)

    report("adapt", 0, total)
    if isinstance(method, ChosenGOAT):
        method = replace(method, on_candidate=lambda number, _: advance(last * (number + 1)))
    if isinstance(method, ByEvidence):
        given = checked.settings.given_proportions(checked.source.classes.tolist())
        method = replace(
            method, given=given, in_use=checked.in_use, ladder=checked.ladder, on_candidate=one_more, engine=engine
        )
    history = checked.prepared.history
    settings = checked.settings
    if labelled is None and isinstance(method, ByEvidence) and history is not None and checked.learns_from_history:
        past = ByHistory(
            history_ways(settings.seed, in_order=checked.prepared.in_order),
            settings.metric, settings.late, method, settings.seed, engine,
            on_forecast=partial(report, "backtest"), on_candidate=one_more, fitted=True, store=store,
        )  # fmt: skip
        adaptation = past.adapt(checked.source, history, watch)
    elif labelled is None:
        seen = history if history is not None and method.learns_from_history else training
        adaptation = method.adapt(checked.source, seen, watch)
    else:
        adaptation = adapt_with_labels(checked, labelled, watch, one_more, engine, store)
    report("adapt", total, total)
    return adaptation, method, tried


def _choice(settings: Settings, adaptation: Adaptation) -> Choice:
    """The number of generated domains and where it comes from."""
    if isinstance(adaptation.choice, Choice):
        return adaptation.choice
    if settings.method is None or isinstance(settings.method, GOAT):
        return Choice(adaptation.n_generated, "asked", "as asked for")
    return Choice(0, "asked", f"the method {settings.method_word!r} generates no domains")
