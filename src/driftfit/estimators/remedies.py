"""The remedy that fits a drifting table: what does not fit is struck out, the rest is compared without labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.choice import Choice, Chosen, ClassShares, Evidence, Gain, Guard, Judgement, NeighbourInformation, Runs
from driftfit.choice.chosen import SOURCE
from driftfit.choice.runs import OnCandidate
from driftfit.domains import DomainSequence
from driftfit.engines import Engine
from driftfit.errors import InputError
from driftfit.learners import Learner
from driftfit.methods import (
    Adaptation,
    Alignment,
    CarriedLabels,
    CovarianceAlignment,
    GivenProportions,
    Method,
    ModelInUse,
    OnStep,
    OwnRank,
    OwnScale,
    ProportionCorrection,
    RecentScale,
    SourceOnly,
)
from driftfit.methods.held_out import held_out
from driftfit.paths import Transport, Workspace
from driftfit.trust import AccuracyEstimate
from driftfit.trust.diagnosis import (
    ProportionFit,
    RecentFit,
    aligned_overlap,
    alignment_objection,
    fit_proportions,
    fit_recent,
    raw_overlap,
)
from driftfit.trust.gain import paired_gain
from driftfit.trust.overlap import Overlap

__all__ = ["IN_USE", "PROPORTIONS", "RECENT", "ChosenRemedy", "OwnAnswers", "RemedyChoice", "table_remedies"]

PROPORTIONS, RECENT = "proportions", "recent scale"
# Name of the model that somebody has in use already.
IN_USE = "model in use"


def table_remedies(max_samples: int = 2_000, seed: int = 0, *, in_order: bool = True) -> dict[str, Method]:
    """The remedies that are tried on a table, by name.

    Parameters
    ----------
    max_samples : int
        Rows of a window that plans are made between.
    seed : int
    in_order : bool
        Whether the rows of a window stand in their order, so that each can be compared with those before it.
    """
    plans = Transport(max_samples=max_samples, seed=seed, certified=False)
    ordered: dict[str, Method] = {RECENT: RecentScale()} if in_order else {}
    return ordered | {
        "own scale": OwnScale(),
        "own rank": OwnRank(),
        "covariance": CovarianceAlignment(),
        "own scale, proportions": OwnScale(then=ProportionCorrection(seed=seed)),
        "own scale, carried labels": OwnScale(then=CarriedLabels(transport=plans, direct=True, joint=True)),
        PROPORTIONS: ProportionCorrection(seed=seed),
    }


@dataclass(frozen=True, eq=False)
class OwnAnswers:
    """What a model that somebody has in use says, as numbers of the classes.

    Attributes
    ----------
    source, target : int arrays
        About the rows of the source, and about those of the target.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RemedyChoice(Choice):
    """A remedy that was chosen without labels, and why.

    Attributes
    ----------
    fit : ProportionFit, RecentFit or None
        What is known about the gain in accuracy, where that can be estimated: by class proportions that explain the
        target, or on parts of the source.
    measured : tuple of AccuracyEstimate
        Accuracy of the old and of the chosen model on labelled rows of the target, where there are some.
    """

    fit: ProportionFit | RecentFit | None = None
    measured: tuple[AccuracyEstimate, ...] = ()

    @classmethod
    def of(cls, choice: Choice, struck: Mapping[str, str], fit: ProportionFit | RecentFit | None) -> RemedyChoice:
        """A comparison of those that fit, with those that were not tried."""
        parts = {part.name: getattr(choice, part.name) for part in fields(choice)}
        parts["struck"] = {**struck, **choice.struck}
        if fit is not None:
            # The interval over rows knows nothing of how well the proportions are known, or how much windows vary.
            name = RECENT if isinstance(fit, RecentFit) else PROPORTIONS
            parts["gains"] = {**choice.gains, name: Gain(fit.gain, fit.low, fit.high)}
            parts["sentence"] = f"{_reason(fit)} ({100 * fit.low:.1f} .. {100 * fit.high:.1f}; no target labels)"
        elif not choice.gains or set(choice.gains) == {choice.reference}:
            parts["sentence"] = "no remedy fits the drift of this table"
        return cls(**parts, fit=fit)


def _reason(fit: ProportionFit | RecentFit) -> str:
    if isinstance(fit, RecentFit):
        return (
            f"labels depend on how a row compares with the {fit.width} last ones: on parts of the first window that "
            f"were held out, a model of rows in units of these gains {100 * fit.gain:.1f} points"
        )
    how = "were given" if fit.by_likelihood.method == "given" else "explain the target"
    return (
        f"{fit.by_likelihood.distance:.0%} of the rows changed class; the new class proportions {how}, and "
        f"correcting them is estimated to gain {100 * fit.gain:.1f} points"
    )


@dataclass(frozen=True)
class ChosenRemedy:
    """Diagnosis first, then the remedies that fit it, compared with the old model on the rows of the target.

    Rows in units of those before them are tried where that gains on held-out parts of the source, and judged by this
    gain. A correction of class proportions is tried where other proportions explain the target, and judged by the gain
    that they imply; alignments where they bring source and target together, judged by the information that a row's
    label has about its neighbours' (`NeighbourInformation`, each column in units of its own deviation). The old model
    stays unless the whole interval of the gain is above 0.

    Parameters
    ----------
    remedies : mapping of names to Method, optional
        `table_remedies` by default.
    seed : int
    given : GivenProportions, optional
        Class proportions of the target that somebody knows: the correction to these is compared with the old model.
    in_use : OwnAnswers, optional
        What a model that is in use already says: remedies are compared with it, and it stays where none is clearly
        better. They rest on the learner: where that is clearly worse on the source than the model in use, none is
        tried.
    on_candidate : callable, optional
        Called with the name and the adaptation of each candidate that is tried.
    engine : Engine, optional
        Where the candidates run, side by side; the choice is the same.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from driftfit.domains import Domain
    >>> from driftfit.learners import as_learner
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 2
    >>> old = rng.normal(size=(400, 2)) + 3.0 * y[:, None]
    >>> new = (rng.normal(size=(400, 2)) + 3.0 * y[:, None]) * 5.0 + 40.0
    >>> learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(old, y)
    >>> adaptation = ChosenRemedy().adapt(learner, DomainSequence([Domain(old, y), Domain(new)]))
    >>> adaptation.choice.best.startswith("own"), "proportions" in adaptation.choice.struck
    (True, True)
    >>> float((adaptation.learner.logits(new).argmax(axis=1) == y).mean()) > 0.95
    True
    """

    remedies: Mapping[str, Method] | None = None
    seed: int = 0
    given: GivenProportions | None = None
    in_use: OwnAnswers | None = None
    on_candidate: OnCandidate | None = field(default=None, repr=False)
    engine: Engine | None = None
    on_matrices = True

    def adapt(
        self,
        learner: Learner,
        sequence: DomainSequence,
        on_step: OnStep | None = None,
        workspace: Workspace | None = None,
    ) -> Adaptation:
        ends = sequence.masked().ends()
        fitting, struck, fit = self._fitting(learner, ends)
        evidence: Evidence = NeighbourInformation(own_scale=True)
        guards: tuple[Guard, ...] = (ClassShares(),)
        if fit is not None:
            evidence, guards = _KnownGain(fit), ()
        old: dict[str, Method] = {SOURCE: SourceOnly()}
        if self.in_use is not None:
            old = {IN_USE: ModelInUse(self.in_use.target)}
        chosen = Chosen({**old, **fitting}, evidence, guards, on_candidate=self.on_candidate, engine=self.engine)
        adaptation = chosen.adapt(learner, ends, on_step, workspace)
        return replace(adaptation, choice=RemedyChoice.of(adaptation.choice, struck, fit))

    def _fitting(
        self, learner: Learner, ends: DomainSequence
    ) -> tuple[dict[str, Method], dict[str, str], ProportionFit | RecentFit | None]:
        """The remedies that the drift allows, why it does not allow the others, and what is known about the gain."""
        remedies = dict(table_remedies(seed=self.seed) if self.remedies is None else self.remedies)
        if self.given is not None:
            remedies = {PROPORTIONS: ProportionCorrection(self.given, seed=self.seed)}
        weaker = self._weaker(learner, ends)
        if weaker is not None:
            return {}, dict.fromkeys(remedies, weaker), None
        if self.given is not None:
            others = {name: "class proportions were given" for name in self.remedies or table_remedies()}
            others.pop(PROPORTIONS, None)
            return remedies, others, fit_proportions(learner, ends, self.seed, self.given, self._answers)
        try:
            before = raw_overlap(ends, self.seed)
        except InputError as error:
            return {}, dict.fromkeys(remedies, str(error)), None
        struck: dict[str, str] = {}
        known: dict[str, ProportionFit | RecentFit] = {}
        for name, found in self._known_gains(learner, ends, before, remedies):
            if isinstance(found, str):
                struck[name] = found
            else:
                known[name] = found
        if known:
            best = max(known, key=lambda name: known[name].low)
            return {best: self._ready(remedies[best], known[best])}, self._others(remedies, best), known[best]
        aligned, more = self._aligned(remedies, ends, before)
        return aligned, struck | more, None

    @property
    def _answers(self) -> NDArray[np.int64] | None:
        return None if self.in_use is None else self.in_use.target

    def _weaker(self, learner: Learner, ends: DomainSequence) -> str | None:
        """Why no remedy may stand on this learner: it is clearly worse on the source than the model in use."""
        if self.in_use is None:
            return None
        held = held_out(learner, ends.source, seed=self.seed, max_rows=None)
        gain = paired_gain(self.in_use.source, held.logits.argmax(axis=1), held.codes)
        if gain.high >= 0.0:
            return None
        return f"the model behind it is worse than the one in use on the first window: {gain}; choose another --model"

    def _known_gains(
        self, learner: Learner, ends: DomainSequence, before: Overlap, remedies: Mapping[str, Method]
    ) -> Iterator[tuple[str, ProportionFit | RecentFit | str]]:
        """Remedies whose gain in accuracy can be estimated, each with what is known or why it does not fit."""
        if RECENT in remedies:
            try:
                recent = fit_recent(learner, ends, self.seed, None if self.in_use is None else self.in_use.source)
                yield RECENT, recent.objection or recent
            except InputError as error:
                yield RECENT, str(error)
        if PROPORTIONS in remedies:
            if not before.estimable:
                yield PROPORTIONS, f"other proportions do not part source and target: {before.sentence}"
                return
            try:
                fit = fit_proportions(learner, ends, self.seed, in_use=self._answers)
                yield PROPORTIONS, fit.objection or fit
            except InputError as error:
                yield PROPORTIONS, str(error)

    @staticmethod
    def _ready(method: Method, fit: ProportionFit | RecentFit) -> Method:
        return replace(method, width=fit.width) if isinstance(fit, RecentFit) else method  # type: ignore[type-var]

    @staticmethod
    def _others(remedies: Mapping[str, Method], best: str) -> dict[str, str]:
        reason = {
            PROPORTIONS: "other proportions explain the target",
            RECENT: "rows in units of those before them gain on the labelled rows",
        }[best]
        return {name: reason for name in remedies if name != best}

    def _aligned(
        self, remedies: Mapping[str, Method], ends: DomainSequence, before: Overlap
    ) -> tuple[dict[str, Method], dict[str, str]]:
        """Alignments that bring source and target together, and why others do not; whatever else was named is tried."""
        seen: dict[type, str | None] = {}
        fitting: dict[str, Method] = {}
        struck: dict[str, str] = {}
        for name, method in remedies.items():
            if isinstance(method, Alignment):
                if type(method) not in seen:
                    seen[type(method)] = alignment_objection(before, aligned_overlap(method, ends, self.seed))
                objection = seen[type(method)]
                if objection is not None:
                    struck[name] = objection
                    continue
            if name not in (PROPORTIONS, RECENT):
                fitting[name] = method
        return fitting, struck


@dataclass(frozen=True, eq=False)
class _KnownGain:
    """The gain in accuracy that is known for one remedy; rows of the target, where it is known row by row."""

    fit: ProportionFit | RecentFit

    def judge(self, runs: Runs) -> Judgement:
        contributions: dict[Any, Any] = {name: np.zeros(len(runs.target)) for name in runs.names}
        if isinstance(self.fit, RecentFit):
            name, own, words = RECENT, np.full(len(runs.target), self.fit.gain), "on held-out parts of the first window"
        else:
            name, own, words = PROPORTIONS, self.fit.contributions, "by the estimated class proportions"
        if name in contributions:
            contributions[name] = own
        return Judgement(contributions, None, f"gain in accuracy {words}")
