"""How many domains to generate: run every candidate on shared plans and keep the best without target labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.domains import DomainSequence
from driftfit.errors import InputError
from driftfit.methods import GOAT, Adaptation, Coupled, Method, OnStep, Workspace
from driftfit.models import Learner
from driftfit.selection.chosen import conclude
from driftfit.selection.evidence import Choice, PlanAgreement
from driftfit.selection.runs import Candidate, OnCandidate, Runs, run_candidates

# The numbers that the paper's tables compare.
CANDIDATES = (0, 1, 2, 3, 4)
# By the rule, generated steps move the worst class by at most this share of its margin.
_STEP_RATIO = 0.25
_MOST_BY_RULE = 8


@dataclass(frozen=True)
class ChosenGOAT(Method):
    """GOAT with the number of generated domains chosen without target labels.

    Domains are encoded and plans are made once; each candidate then adapts the learner along
    its own path, and `score_candidates` compares what they say about the target with the
    labels that the plans carry there.

    Parameters
    ----------
    goat : GOAT
        Everything but the number.
    candidates : sequence of int
        Numbers to choose from.
    share : float, optional
        As for `score_candidates`.
    max_values : int, optional
        Rows times columns that all candidates together may be trained on. Where it is more, the number follows from
        ``largest_ratio`` and nothing is compared: by sizes alone, so that a choice does not depend on a clock.
    largest_ratio : float, optional
        How far the worst class moves in the largest step, in units of its margin (`driftfit.selection`).
    on_candidate : callable, optional
        Called with the number and the adaptation of each candidate, as soon as it is done.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from driftfit.datasets.toy import moving_gaussians
    >>> from driftfit.models import as_learner
    >>> path = moving_gaussians((0, 2.5))
    >>> learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(path.source.samples, path.source.labels)
    >>> choice = ChosenGOAT().adapt(learner, path).choice
    >>> choice.n_generated, bool(choice.scores[4] > choice.scores[0] + 0.2)
    (4, True)
    """

    goat: GOAT = field(default_factory=GOAT)
    candidates: tuple[int, ...] = CANDIDATES
    share: float | None = None
    max_values: int | None = None
    largest_ratio: float | None = None
    on_candidate: OnCandidate | None = None
    word = "goat"

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidates", check_candidates(self.candidates))

    @property
    def inner(self) -> tuple[Method, ...]:
        return (self.goat,)

    @property
    def keeps_encoder(self) -> bool:
        return self.goat.keeps_encoder

    def n_steps(self, sequence: DomainSequence) -> int:
        """Those of all candidates, where several are tried."""
        numbers = self.candidates if self.affordable(sequence) else (self._by_rule().n_generated,)
        return sum(replace(self.goat, n_generated=number).n_steps(sequence) for number in numbers)

    def adapt(
        self, learner: Learner, sequence: DomainSequence, on_step: OnStep = None, workspace: Workspace | None = None
    ) -> Adaptation:
        """Adapt with the best candidate; ``on_step`` sees the steps of that one, once it is chosen."""
        work = workspace or Workspace()
        if not self.affordable(sequence):
            choice = self._by_rule()
            goat = replace(self.goat, n_generated=choice.n_generated)
            return replace(goat.adapt(learner, sequence, on_step, work), choice=choice)
        coupled = self._coupled(learner, sequence, work)
        runs = self._run(learner, sequence, coupled, work, keep_steps=on_step is not None)
        evidence = PlanAgreement(coupled.carried(learner.classes), self.share)
        judgement = evidence.judge(runs)
        choice = replace(conclude(runs, judgement, []), sentence=judgement.words)
        if on_step is not None:
            for record, student in runs.steps[choice.best]:
                on_step(record, student)
        return replace(runs.adaptations[choice.best], choice=choice)

    def affordable(self, sequence: DomainSequence) -> bool:
        """Whether every candidate can be tried."""
        if self.max_values is None:
            return True
        most = self.goat.transport.max_samples
        real = len(self.candidates) * sum(len(domain) for domain in sequence[1:])
        between = sum(self.candidates) * sum(min(len(domain), most or len(domain)) for domain in sequence[1:])
        return bool((real + between) * np.prod(sequence.source.samples.shape[1:]) <= self.max_values)

    def _coupled(self, learner: Learner, sequence: DomainSequence, work: Workspace) -> Coupled:
        """The plans that all candidates share."""
        domains = work.domains(learner, sequence, feature_space=self.goat.feature_space)
        return work.coupled(domains, self.goat.transport)

    def _run(
        self, learner: Learner, sequence: DomainSequence, coupled: Coupled, work: Workspace, *, keep_steps: bool
    ) -> Runs:
        """Every candidate, asked about the samples that the plans couple, where they were encoded already."""
        target = coupled.samples.target

        def logits(run: Adaptation) -> NDArray[np.float64]:
            model = run.learner.head() if self.goat.feature_space else run.learner
            return model.logits(target.samples)

        candidates: dict[Any, Candidate] = {
            number: Candidate(replace(self.goat, n_generated=number)) for number in self.candidates
        }
        runs = Runs(learner, sequence.masked(), target, candidates, self.candidates[0], workspace=work)
        return run_candidates(runs, logits=logits, on_candidate=self.on_candidate, keep_steps=keep_steps)

    def _by_rule(self) -> Choice:
        """Enough domains that every step is small for the model, by what was measured of it."""
        ratio = 1.0 if self.largest_ratio is None or not np.isfinite(self.largest_ratio) else self.largest_ratio
        number = min(max(ceil(ratio / _STEP_RATIO) - 1, 1), _MOST_BY_RULE)
        sentence = (
            "the table is too large to try several numbers; by the check, each generated step moves the worst class "
            f"by at most {_STEP_RATIO:g} of its margin (at most {_MOST_BY_RULE} domains)"
        )
        return Choice(number, "rule", sentence)


def check_candidates(candidates: Iterable[int]) -> tuple[int, ...]:
    """The candidates in ascending order, each once."""
    if isinstance(candidates, str | bytes) or not isinstance(candidates, Iterable):
        raise InputError(f"candidates must be several whole numbers, such as (0, 1, 2), got {candidates!r}")
    numbers = list(candidates)
    for number in numbers:
        if not isinstance(number, int | np.integer) or isinstance(number, bool) or number < 0:
            raise InputError(f"candidates must be whole numbers >= 0, got {number!r}")
    if not numbers:
        raise InputError("candidates is empty; give at least one number of generated domains")
    return tuple(sorted({int(number) for number in numbers}))
