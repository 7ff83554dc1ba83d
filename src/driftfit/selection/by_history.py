"""`ByHistory`: the model of all labels stays, unless backtests measured that a mixture with other ways is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.domains import DomainSequence
from driftfit.errors import InputError
from driftfit.methods import Adaptation, Method, OnStep, Workspace
from driftfit.methods.held_out import DecidingClassifier
from driftfit.models import Learner
from driftfit.models.scikit import ScikitLearner
from driftfit.parallel import Engine
from driftfit.selection.answers import worth_of
from driftfit.selection.backtest import (
    FEWEST_WINDOWS,
    Backtest,
    ForecastStore,
    OnForecast,
    backtest,
    judged_windows,
)
from driftfit.selection.by_evidence import IN_USE, ByEvidence
from driftfit.selection.candidates import ALL_LABELS, history_ways
from driftfit.selection.ladder import Ladder, LadderChoice
from driftfit.selection.metric import Metric
from driftfit.selection.mixture import IN_ORDER, MIXTURE, method_of
from driftfit.selection.runs import OnCandidate

# So many times as many answers as in any past window may change where labels come later than was measured; few always
# may. Fixed on half of the tables of `benchmarks/history.py`.
_MOST_APART, _FEW = 4.0, 0.02


@dataclass(frozen=True)
class ByHistory(Method):
    """Measures on the past which ways to learn from history help, and mixes them where that does.

    The reference is the plain thing: a model of all labels, or the one in use that ``otherwise`` names. Where history
    is too short to measure anything, or nothing is clearly better there, ``otherwise`` goes on from that model along
    the rows without labels.

    ``ways``: by default those of `history_ways`; one of them is called ``all labels``. ``metric``: what gains are
    counted by. ``late``: how many windows late labels arrive; by default read off the windows. ``otherwise``: what
    rests on declared assumptions. ``engine``: where backtests run, side by side. ``on_forecast`` and ``on_candidate``:
    for progress of the backtest; called with the model that was taken. ``store``: where forecasts that are done are
    found and kept. ``fitted``: whether the learner that `adapt` is given was trained on all labels already.
    """

    ways: Mapping[str, Method] | None = None
    metric: Metric | None = None
    late: int | None = None
    otherwise: ByEvidence = field(default_factory=ByEvidence)
    seed: int = 0
    engine: Engine | None = None
    on_forecast: OnForecast | None = field(default=None, repr=False)
    on_candidate: OnCandidate | None = field(default=None, repr=False)
    store: ForecastStore | None = field(default=None, repr=False)
    fitted: bool = False
    learns_from_history = True

    def needs_matrices(self, encodes: bool) -> bool:
        return self.otherwise.needs_matrices(encodes)

    def adapt(
        self, learner: Learner, sequence: DomainSequence, on_step: OnStep = None, workspace: Workspace | None = None
    ) -> Adaptation:
        """Adapt a learner, fitted on all labels of the sequence or not fitted at all."""
        sequence = sequence.target_apart()
        ways = history_ways(self.seed) if self.ways is None else dict(self.ways)
        measured = self._measured(learner, sequence, ways)
        if measured is None or measured.best == measured.reference:
            return self._otherwise(learner, sequence, measured, on_step, workspace)
        way = measured.best
        base, worth = worth_of(measured, way)
        adaptation = method_of(measured, base, ways).adapt(learner, sequence, on_step, workspace)
        if measured.late < measured.asked_late and not sequence.target.has_label.any():
            measured = with_held_back(measured, base, adaptation.learner, self._plain(learner, sequence), sequence)
            if measured.held_back:
                return self._otherwise(learner, sequence, measured, on_step, workspace)
        if base in (MIXTURE, IN_ORDER) and measured.metric.costs is not None:
            worth = -np.asarray(measured.metric.costs)
        if worth is not None:
            adaptation = replace(adaptation, learner=_deciding(adaptation.learner, worth))
        if self.on_candidate is not None:
            self.on_candidate(way, adaptation)
        return replace(adaptation, choice=self._choice(measured, way))

    def _measured(self, learner: Learner, sequence: DomainSequence, ways: Mapping[str, Method]) -> Backtest | None:
        late = sequence.late if self.late is None else self.late
        if len(ways) < 2 or len(judged_windows(sequence, 0)) < FEWEST_WINDOWS:
            return None
        found = backtest(
            sequence,
            learner,
            ways,
            metric=self.metric,
            late=late,
            seed=self.seed,
            engine=self.engine,
            on_forecast=self.on_forecast,
            store=self.store,
        )
        if not found.scores:
            # Before every past window there was a single class: none of them could be learnt for.
            return None
        own = self.otherwise.in_use
        return found if own is None else found.beside(IN_USE, own.source, sequence)

    def _otherwise(
        self,
        learner: Learner,
        sequence: DomainSequence,
        measured: Backtest | None,
        on_step: OnStep,
        workspace: Workspace | None,
    ) -> Adaptation:
        path = sequence.from_last_labelled()
        learner = self._plain(learner, sequence)
        if sequence.target.has_label.any():
            # There are no rows of today that an assumption could be tested on.
            adaptation, kept = Adaptation(learner), ALL_LABELS if self.otherwise.in_use is None else IN_USE
            if self.on_candidate is not None:
                self.on_candidate(kept, adaptation)
            return replace(adaptation, choice=self._choice(measured, kept))
        adaptation = self.otherwise.adapt(learner, path, on_step, workspace)
        return replace(adaptation, choice=self._after(adaptation.choice, measured))

    def _plain(self, learner: Learner, sequence: DomainSequence) -> Learner:
        """The model of all labels."""
        rows = sequence.labelled
        return learner if self.fitted else learner.fit(rows.samples, rows.codes(learner.classes), rows.uneven_weights)

    def _choice(self, measured: Backtest | None, way: str) -> LadderChoice:
        """What the backtest chose."""
        if measured is None:
            done = "the model learns from all" if way == ALL_LABELS else f"the {way} stays"
            why = f"every row has a label: {done}; too few windows to measure other ways on"
            return LadderChoice(0, "backtest", why, best=way, reference=way)
        gains = measured.gains
        means = {name: float(np.nanmean(values)) for name, values in measured.scores.items()}
        ranked = sorted(gains, key=lambda name: -gains[name].value)
        return LadderChoice(
            0, "backtest", measured.sentence + (f"; {way} is taken" if way != measured.reference else ""),
            scores=means, best=way, runner_up=next((name for name in ranked if name != way), None),
            reference=measured.reference, gains=gains, failed=dict(measured.failed),
            in_points=measured.metric.in_points, backtest=measured,
        )  # fmt: skip

    def _after(self, choice: Any, measured: Backtest | None) -> Any:
        """What was chosen below the backtest, with what the backtest said before."""
        if measured is None or not isinstance(choice, LadderChoice):
            return choice
        ladder: Ladder | None = choice.ladder
        return replace(choice, sentence=f"{measured.sentence}; {choice.sentence}", backtest=measured, ladder=ladder)


def with_held_back(found: Backtest, way: str, model: Learner, plain: Learner, sequence: DomainSequence) -> Backtest:
    """The same, with the reason not to take a way that today does what no past window shows.

    Labels may come later than any past window can imitate. What was measured at a shorter lag then speaks for a way
    only where it changes about as many answers as it did there: a season that has turned since changes many more.
    """
    if found.late == found.asked_late:
        return found
    rows = sequence.target.samples
    today = float((model.logits(rows).argmax(axis=1) != plain.logits(rows).argmax(axis=1)).mean())
    compared = found.reference if found.plain is None else found.plain
    judged = [own for own in found.forecasts if way in own.shares and compared in own.shares]
    before = max(float((own.shares[way].argmax(1) != own.shares[compared].argmax(1)).mean()) for own in judged)
    if today <= max(_MOST_APART * before, _FEW):
        return found
    why = (
        f"today it says something else than {compared} about {100 * today:.0f} % of the rows, there about "
        f"{100 * before:.0f} % at most"
    )
    return replace(found, held_back=why)


def _deciding(learner: Learner, worth: NDArray[np.float64]) -> Learner:
    """The learner with other answers to the same probabilities."""
    head = learner.head()
    if not isinstance(head, ScikitLearner):
        raise InputError(f"{type(learner.estimator).__name__} takes no threshold; choose a metric of probabilities")
    return learner.with_head(replace(head, estimator=DecidingClassifier.of(head.estimator, worth)))
