"""The job: a table and settings in, a kept model with predictions and everything worth telling out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from gradapt.learners import Learner
from gradapt.tables.checked import Checked, Progress, check_table, recorded
from gradapt.tables.generated import Generated, lead_open
from gradapt.tables.lead import Led
from gradapt.tables.predictor import Predictor
from gradapt.tables.prepare import Prepared
from gradapt.tables.read import Table, table_of
from gradapt.tables.settings import Method, Settings
from gradapt.trust import Decision, Verdict, assess

__all__ = ["Result", "adapt_checked", "adapt_frame", "adapt_table"]


@dataclass(frozen=True, eq=False)
class Result:
    """What came out of a run.

    Attributes
    ----------
    checked : Checked
        The table, the source model and what was known before adapting.
    generated : Generated
        The number of generated domains, and why.
    led : Led
        The path and its steps.
    decision : Decision
        Estimates after adapting, and which model is kept.
    predictor : Predictor
        The kept model.
    predictions : DataFrame
        One row per target row.
    warnings : tuple of str
    """

    checked: Checked
    generated: Generated
    led: Led
    decision: Decision
    predictor: Predictor
    predictions: pd.DataFrame
    warnings: tuple[str, ...]

    @property
    def settings(self) -> Settings:
        """What was asked for."""
        return self.checked.settings

    @property
    def table(self) -> Table:
        """The table as it was read."""
        return self.checked.table

    @property
    def prepared(self) -> Prepared:
        """Windows, preprocessing and samples."""
        return self.checked.prepared

    @property
    def verdict(self) -> Verdict:
        """What the check says about the path."""
        return self.decision.verdict

    @property
    def source(self) -> Learner:
        """The source model."""
        return self.checked.source

    @property
    def adapted(self) -> Learner:
        """The adapted model, kept or not."""
        return self.led.adaptation.learner

    @property
    def kept(self) -> str:
        """``adapted`` or ``source``."""
        return self.decision.kept

    @property
    def n_generated(self) -> int:
        """Domains generated between two neighbouring windows."""
        return self.generated.number

    @property
    def trusted(self) -> bool:
        """Whether the path was followed as the check advises, and the adapted model was kept."""
        return self.decision.trusted


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


def adapt_table(table: Table, settings: Settings, progress: Progress | None = None) -> Result:
    """Check, adapt, decide and predict: `check_table`, then `adapt_checked`.

    Parameters
    ----------
    table : Table
    settings : Settings
    progress : callable, optional
        Called with stage, done and total.
    """
    return adapt_checked(check_table(table, settings, progress), progress)


def adapt_checked(checked: Checked, progress: Progress | None = None) -> Result:
    """Go on where `check_table` stopped: adapt, decide on the same view, predict every row of the last window."""
    report = progress or (lambda stage, done, total: None)
    settings, prepared, source = checked.settings, checked.prepared, checked.source
    with recorded() as messages:
        report("adapt", 0, 1)
        led, generated = lead_open(
            source,
            prepared.training,
            prepared.sample,
            settings,
            checked.decision.verdict,
            lambda done, total: report("adapt", done, total),
        )
        report("estimate", 0, 1)
        decision = _decision(checked, led, generated)
        report("estimate", 1, 1)
        model = source if decision.keep_source else led.adaptation.learner
        predictor = Predictor(prepared.plans, prepared.preprocessing, model.estimator, prepared.boolean)
        rows = prepared.windows[-1].rows
        report("predict", 0, len(rows))
        predictions = predictor.predict_table(checked.table, rows, lambda done: report("predict", done, len(rows)))
    told = tuple(dict.fromkeys([*checked.warnings, *messages]))
    return Result(checked, generated, led, decision, predictor, predictions, told)


def _decision(checked: Checked, led: Led, generated: Generated) -> Decision:
    settings = checked.settings
    if settings.method is Method.SOURCE:
        return checked.decision
    last = checked.view.last
    # A direct step goes from the first window to the last.
    students = {last: led.students[1]} if settings.method is Method.DIRECT else led.students
    return assess(
        checked.view,
        checked.source,
        led.adaptation.learner,
        gate=settings.gate,
        students=students,
        n_generated=generated.number,
    )
