"""The job: a table and settings in, a kept model with predictions and everything worth telling out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gradapt.learners import Learner, as_learner
from gradapt.tables.generated import Generated, lead_open
from gradapt.tables.guard import lost_class
from gradapt.tables.lead import Led, train
from gradapt.tables.models import make_model, model_from_word
from gradapt.tables.predictor import Predictor
from gradapt.tables.prepare import Prepared, prepare
from gradapt.tables.read import Table, table_of
from gradapt.tables.settings import Keep, Method, Settings
from gradapt.trust import (
    AccuracyEstimate,
    Advice,
    BestWitness,
    GateDecision,
    PathView,
    Verdict,
    check,
    keep_better,
)

__all__ = ["Progress", "Result", "adapt_frame", "adapt_table"]

# Called with the name of a stage, how much of it is done and how much there is.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class Result:
    """What came out of a run.

    Attributes
    ----------
    settings : Settings
    table : Table
    prepared : Prepared
    verdict : Verdict
        What the check said before anything was adapted.
    generated : Generated
        The number of generated domains, and why.
    source, adapted : Learner
    led : Led
        The path and its steps.
    gate : GateDecision or None
        None where nothing was adapted.
    old : AccuracyEstimate
        Of the source model on the target.
    along : dict
        Estimated accuracy at each given window of the model led there.
    lost : str or None
        The class that adaptation lost, in words; the estimate of the adapted model then means nothing.
    kept : str
        ``adapted`` or ``source``.
    kept_reason : str
    predictor : Predictor
        The kept model.
    predictions : DataFrame
        One row per target row.
    warnings : tuple of str
    """

    settings: Settings
    table: Table
    prepared: Prepared
    verdict: Verdict
    generated: Generated
    source: Learner
    adapted: Learner
    led: Led
    gate: GateDecision | None
    old: AccuracyEstimate
    along: dict[int, AccuracyEstimate]
    lost: str | None
    kept: str
    kept_reason: str
    predictor: Predictor
    predictions: pd.DataFrame
    warnings: tuple[str, ...]

    @property
    def n_generated(self) -> int:
        """Domains generated between two neighbouring windows."""
        return self.generated.number

    @property
    def trusted(self) -> bool:
        """Whether the check trusts the path as it was followed, and the gate kept the adapted model."""
        followed = self.verdict.trusted or (
            self.verdict.advice is Advice.GENERATE and self.settings.method is Method.GOAT and self.n_generated > 0
        )
        return followed and self.kept == "adapted"


def adapt_frame(frame: Any, settings: Settings, progress: Progress | None = None) -> Result:
    """`adapt_table` for a data frame: pandas, polars or pyarrow.

    Examples
    --------
    >>> from gradapt.datasets.toy import moving_gaussians
    >>> from gradapt.tables import Column, Settings
    >>> X, y, year = moving_gaussians((0, 0.5, 1.0)).as_samples()
    >>> table = pd.DataFrame(X).assign(kind=y, year=year)
    >>> result = adapt_frame(table, Settings(label="kind", order=Column("year"), n_generated=1))
    >>> len(result.predictions) == int((year == 2).sum())
    True
    """
    return adapt_table(table_of(frame), settings, progress)


def adapt_table(
    table: Table,
    settings: Settings,
    progress: Progress | None = None,
    on_verdict: Callable[[Verdict], None] | None = None,
) -> Result:
    """Check, adapt, gate and predict.

    Parameters
    ----------
    table : Table
    settings : Settings
    progress : callable, optional
        Called with stage, done and total.
    on_verdict : callable, optional
        Called with what the check said, before anything is adapted.
    """
    report = progress or (lambda stage, done, total: None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = _run(table, settings, report, on_verdict or (lambda verdict: None))
    messages = dict.fromkeys(str(warning.message).splitlines()[0] for warning in caught)
    object.__setattr__(result, "warnings", tuple(messages))
    return result


def _run(table: Table, settings: Settings, report: Progress, on_verdict: Callable[[Verdict], None]) -> Result:
    report("read", 0, 1)
    prepared = prepare(table, settings)
    report("read", 1, 1)
    training, sample = prepared.training, prepared.sample
    template = _template(prepared, settings)
    report("check", 0, 1)
    verdict = check(sample, template, seed=settings.seed)
    on_verdict(verdict)
    report("check", 1, 1)
    report("adapt", 0, 1)
    source = train(template, training)
    led, generated = lead_open(
        source, training, sample, settings, verdict, lambda done, total: report("adapt", done, total)
    )
    report("estimate", 0, 1)
    old, along, gate = _estimates(prepared, source, led, settings)
    loss = lost_class(source, led.adaptation.learner, sample)
    kept, reason = _decide(verdict, gate, loss, settings)
    report("estimate", 1, 1)
    model = led.adaptation.learner if kept == "adapted" else source
    predictor = Predictor(prepared.plans, prepared.preprocessing, model.estimator, prepared.boolean)
    rows = prepared.windows[-1].rows
    report("predict", 0, len(rows))
    predictions = predictor.predict_table(table, rows, lambda done: report("predict", done, len(rows)))
    return Result(
        settings=settings,
        table=table,
        prepared=prepared,
        verdict=verdict,
        generated=generated,
        source=source,
        adapted=led.adaptation.learner,
        led=led,
        gate=gate,
        old=old,
        along=along,
        lost=loss,
        kept=kept,
        kept_reason=reason,
        predictor=predictor,
        predictions=predictions,
        warnings=(),
    )


def _template(prepared: Prepared, settings: Settings) -> Learner:
    source = prepared.sample.source
    assert source.labels is not None
    classifier = model_from_word("logistic") if settings.model is None else settings.model
    model = make_model(classifier, settings.encoder, len(source), source.samples.shape[1], settings.seed)
    training_labels = prepared.training.source.labels
    assert training_labels is not None
    return as_learner(model, np.unique(training_labels))


def _estimates(
    prepared: Prepared, source: Learner, led: Led, settings: Settings
) -> tuple[AccuracyEstimate, dict[int, AccuracyEstimate], GateDecision | None]:
    """Accuracy on the target before adaptation, along the windows after it, and the gate's decision."""
    sample = prepared.sample
    view = PathView.of(sample, source, settings.seed)
    prepared_estimator = BestWitness().prepare(view)
    last = len(sample) - 1
    # A direct step goes from the first window to the last.
    numbers = {last: 1} if settings.method is Method.DIRECT else {number: number for number in range(1, last + 1)}
    along = {
        number: prepared_estimator.estimate(led.students[place], number, adapted=True)
        for number, place in numbers.items()
        if place in led.students
    }
    if settings.method is Method.SOURCE:
        return prepared_estimator.estimate(source, last, adapted=False), {}, None
    gate = keep_better(sample, source, led.adaptation.learner, seed=settings.seed)
    return gate.before, along, gate


def _decide(verdict: Verdict, gate: GateDecision | None, loss: str | None, settings: Settings) -> tuple[str, str]:
    if gate is None:
        return "source", "no adaptation was asked for"
    if settings.keep is Keep.ADAPTED:
        return "adapted", f"the adapted model was asked for in any case; {gate.sentence}"
    if verdict.advice in (Advice.DO_NOT_ADAPT, Advice.GET_LABELS):
        return "source", f"the check advises: {verdict.advice.value}; the source model is kept"
    if loss is not None:
        return "source", f"{loss}; the source model is kept"
    return ("source" if gate.keep_source else "adapted"), gate.sentence
