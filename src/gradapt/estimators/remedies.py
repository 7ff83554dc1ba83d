"""The remedy that fits a drifting table: what does not fit is struck out, the rest is compared without labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from gradapt.choice import Choice, Chosen, ClassShares, Evidence, Gain, Guard, Judgement, NeighbourInformation, Runs
from gradapt.choice.chosen import SOURCE
from gradapt.choice.runs import OnCandidate
from gradapt.domains import DomainSequence
from gradapt.engines import Engine
from gradapt.errors import InputError
from gradapt.learners import Learner
from gradapt.methods import (
    Adaptation,
    Alignment,
    CarriedLabels,
    CovarianceAlignment,
    GivenProportions,
    Method,
    OnStep,
    OwnRank,
    OwnScale,
    ProportionCorrection,
    SourceOnly,
)
from gradapt.paths import Transport, Workspace
from gradapt.trust import AccuracyEstimate
from gradapt.trust.diagnosis import (
    ProportionFit,
    aligned_overlap,
    alignment_objection,
    fit_proportions,
    raw_overlap,
)

__all__ = ["PROPORTIONS", "ChosenRemedy", "RemedyChoice", "table_remedies"]

PROPORTIONS = "proportions"


def table_remedies(max_samples: int = 2_000, seed: int = 0) -> dict[str, Method]:
    """The remedies that are tried on a table, by name."""
    plans = Transport(max_samples=max_samples, seed=seed, certified=False)
    return {
        "own scale": OwnScale(),
        "own rank": OwnRank(),
        "covariance": CovarianceAlignment(),
        "own scale, proportions": OwnScale(then=ProportionCorrection(seed=seed)),
        "own scale, carried labels": OwnScale(then=CarriedLabels(transport=plans, direct=True, joint=True)),
        PROPORTIONS: ProportionCorrection(seed=seed),
    }


@dataclass(frozen=True, eq=False)
class RemedyChoice(Choice):
    """A remedy that was chosen without labels, and why.

    Attributes
    ----------
    fit : ProportionFit or None
        What is known about the class proportions, where they explain the target.
    measured : tuple of AccuracyEstimate
        Accuracy of the old and of the chosen model on labelled rows of the target, where there are some.
    """

    fit: ProportionFit | None = None
    measured: tuple[AccuracyEstimate, ...] = ()

    @classmethod
    def of(cls, choice: Choice, struck: Mapping[str, str], fit: ProportionFit | None) -> RemedyChoice:
        """A comparison of those that fit, with those that were not tried."""
        parts = {part.name: getattr(choice, part.name) for part in fields(choice)}
        parts["struck"] = {**struck, **choice.struck}
        if fit is not None:
            # The interval over rows knows nothing of how well the proportions are known.
            parts["gains"] = {**choice.gains, PROPORTIONS: Gain(fit.gain, fit.low, fit.high)}
            how = "were given" if fit.by_likelihood.method == "given" else "explain the target"
            parts["sentence"] = (
                f"{fit.by_likelihood.distance:.0%} of the rows changed class; the new class proportions {how}, and "
                f"correcting them is estimated to gain {100 * fit.gain:.1f} points "
                f"({100 * fit.low:.1f} .. {100 * fit.high:.1f}; no target labels)"
            )
        elif not choice.gains or set(choice.gains) == {choice.reference}:
            parts["sentence"] = "no remedy fits the drift of this table"
        return cls(**parts, fit=fit)


@dataclass(frozen=True)
class ChosenRemedy:
    """Diagnosis first, then the remedies that fit it, compared with the old model on the rows of the target.

    A correction of class proportions is tried where other proportions explain the target, and judged by the gain that
    they imply; alignments where they bring source and target together, judged by the information that a row's label
    has about its neighbours' (`NeighbourInformation`, each column in units of its own deviation). The old model stays
    unless the whole interval of the gain is above 0.

    Parameters
    ----------
    remedies : mapping of names to Method, optional
        `table_remedies` by default.
    seed : int
    given : GivenProportions, optional
        Class proportions of the target that somebody knows: the correction to these is compared with the old model.
    on_candidate : callable, optional
        Called with the name and the adaptation of each candidate that is tried.
    engine : Engine, optional
        Where the candidates run, side by side; the choice is the same.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from gradapt.domains import Domain
    >>> from gradapt.learners import as_learner
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
            evidence, guards = _GainByProportions(fit), ()
        candidates = {SOURCE: SourceOnly(), **fitting}
        chosen = Chosen(candidates, evidence, guards, on_candidate=self.on_candidate, engine=self.engine)
        adaptation = chosen.adapt(learner, ends, on_step, workspace)
        return replace(adaptation, choice=RemedyChoice.of(adaptation.choice, struck, fit))

    def _fitting(
        self, learner: Learner, ends: DomainSequence
    ) -> tuple[dict[str, Method], dict[str, str], ProportionFit | None]:
        """The remedies that the drift allows, why it does not allow the others, and the fit of proportions, if any."""
        remedies = dict(table_remedies(seed=self.seed) if self.remedies is None else self.remedies)
        struck: dict[str, str] = {}
        if self.given is not None:
            others = {name: "class proportions were given" for name in remedies if name != PROPORTIONS}
            known = ProportionCorrection(self.given, seed=self.seed)
            return {PROPORTIONS: known}, others, fit_proportions(learner, ends, self.seed, self.given)
        try:
            before = raw_overlap(ends, self.seed)
        except InputError as error:
            return {}, dict.fromkeys(remedies, str(error)), None
        if PROPORTIONS in remedies:
            fit = None
            if before.estimable:
                try:
                    fit = fit_proportions(learner, ends, self.seed)
                    objection = fit.objection
                except InputError as error:
                    objection = str(error)
            else:
                objection = f"other proportions do not part source and target: {before.sentence}"
            if fit is not None and objection is None:
                others = {name: "other proportions explain the target" for name in remedies if name != PROPORTIONS}
                return {PROPORTIONS: remedies[PROPORTIONS]}, others, fit
            struck[PROPORTIONS] = objection or ""
        seen: dict[type, str | None] = {}
        fitting: dict[str, Method] = {}
        for name, method in remedies.items():
            if isinstance(method, Alignment):
                if type(method) not in seen:
                    seen[type(method)] = alignment_objection(before, aligned_overlap(method, ends, self.seed))
                objection = seen[type(method)]
                if objection is None:
                    fitting[name] = method
                else:
                    struck[name] = objection
            elif name != PROPORTIONS:
                fitting[name] = method
        return fitting, struck, None


@dataclass(frozen=True, eq=False)
class _GainByProportions:
    """Rows of the target that the correction gets right more often than the old model, if the proportions hold."""

    fit: ProportionFit

    def judge(self, runs: Runs) -> Judgement:
        contributions: dict[Any, Any] = {name: np.zeros(len(runs.target)) for name in runs.names}
        if PROPORTIONS in contributions:
            contributions[PROPORTIONS] = self.fit.contributions
        return Judgement(contributions, None, "gain in accuracy by the estimated class proportions")
