"""The one loop that runs candidates on shared work, and what it hands to those who judge them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError, SolverError
from driftfit.methods import Adaptation, Method, OnStep, StepRecord, Workspace
from driftfit.models import Learner
from driftfit.parallel import Batch, Engine, Serial
from driftfit.progress import tell
from driftfit.transport import Isometry, isometry

# Called after each candidate with its name and its adaptation.
OnCandidate = Callable[[Any, Adaptation], None]


@dataclass(frozen=True)
class Candidate:
    """A method to choose from, and what can be known beforehand about whether it applies.

    Parameters
    ----------
    method : Method
    isometry : Isometry or callable, optional
        For a coupling by structure: whether the drift may be an isometry (`driftfit.transport.isometry`), or a function
        from the sequence, without labels but the source's, to that. Several candidates may share one function.
    for_tables : bool
        Leave it out where samples are images or the like, whose numbers are no columns of their own.
    """

    method: Method
    isometry: Callable[[DomainSequence], Isometry] | Isometry | None = None
    for_tables: bool = False

    @classmethod
    def structural(cls, method: Method) -> Candidate:
        """A method that couples by structure in the input space, which holds only where the drift is an isometry."""
        return cls(method, ends_isometry)


def ends_isometry(sequence: DomainSequence) -> Isometry:
    """Whether the target may be a turned version of the source, by the samples themselves."""
    source, target = sequence.source, sequence.target
    return isometry(source.matrix(), target.matrix(), source.weights, target.weights)


@dataclass(frozen=True, eq=False)
class Runs:
    """What every candidate says about the same rows of the target; evidence and guards see this and no target label.

    ``learner``: the model of the source. ``sequence``: without labels but the source's. ``target``: the rows that are
    judged, in the input space. ``candidates``: by name, in order. ``reference``: which of them the others are compared
    with. ``adaptations``: of those that ran. ``probabilities``: of shape (n, K); their class probabilities for the rows
    of ``target``. ``failed``: what the others said. ``workspace``: encodings and plans that were made on the way.
    """

    learner: Learner
    sequence: DomainSequence
    target: Domain
    candidates: Mapping[Hashable, Candidate]
    reference: Hashable
    adaptations: dict[Hashable, Adaptation] = field(default_factory=dict)
    probabilities: dict[Hashable, NDArray[np.float64]] = field(default_factory=dict)
    failed: dict[Hashable, str] = field(default_factory=dict)
    workspace: Workspace = field(default_factory=Workspace)
    steps: dict[Hashable, list[tuple[StepRecord, Learner]]] = field(default_factory=dict, repr=False)
    isometries: dict[Any, Isometry] = field(default_factory=dict, repr=False)
    # What an evidence found that no candidate changes, by the evidence.
    looked_up: dict[Any, Any] = field(default_factory=dict, repr=False)

    def labels(self, name: Hashable) -> NDArray[np.int64]:
        """The class numbers that a candidate gives to the rows."""
        return np.asarray(self.probabilities[name].argmax(axis=1))

    def isometry(self, name: Hashable) -> Isometry | None:
        """Whether a coupling by structure may hold, for a candidate that relies on one; each function is asked once."""
        given = self.candidates[name].isometry
        if not callable(given):
            return given
        if given not in self.isometries:
            self.isometries[given] = given(self.sequence)
        return self.isometries[given]

    @property
    def names(self) -> tuple[Hashable, ...]:
        """The candidates that ran, in order."""
        return tuple(self.adaptations)


def run_candidates(
    runs: Runs,
    *,
    skipped: Collection[Hashable] = (),
    logits: Callable[[Adaptation], NDArray[np.float64]] | None = None,
    on_candidate: OnCandidate | None = None,
    keep_steps: bool = False,
    engine: Engine | None = None,
) -> Runs:
    """Adapt with every candidate and ask each about the target; on one workspace, unless they run side by side.

    ``runs``: where the results are put; the same is returned. ``skipped``: candidates that are not run. ``logits``:
    from an adaptation to its scores of the judged rows, where somebody knows a shorter way. ``keep_steps``: remember
    every step with its student. ``engine``: where candidates run, side by side; here and one after the other by
    default. The results are the same.
    """
    work = _CandidateWork(runs.learner, runs.sequence, runs.target, logits, keep_steps, runs.workspace)
    table = len(runs.target.samples.shape) == 2
    names = [name for name, own in runs.candidates.items() if name not in skipped and (table or not own.for_tables)]
    tasks = [(name, runs.candidates[name].method) for name in names]
    if engine is None or isinstance(engine, Serial) or logits is not None:
        # What serial engines catch is let through here, with its own type.
        found: Iterator[tuple[Hashable, Any]] = ((name, work.judged(method)) for name, method in tasks)
    else:
        found = _side_by_side(replace(work, workspace=None), tasks, engine)
    for number, (name, came) in enumerate(found, start=1):
        tell(f"{number} of {len(names)} candidates adapted: {name}")
        if isinstance(came, str):
            if name == runs.reference:
                raise InputError(came)
            runs.failed[name] = came
            continue
        adaptation, runs.probabilities[name], runs.steps[name], unchanged = came
        runs.adaptations[name] = replace(adaptation, learner=runs.learner) if unchanged else adaptation
        if on_candidate is not None:
            on_candidate(name, runs.adaptations[name])
    return runs


# An adaptation, class probabilities of the judged rows, the steps, and whether the model is still the source's; or why
# there are none.
Judged = tuple[Adaptation, NDArray[np.float64], list[tuple[StepRecord, Learner]], bool] | str


@dataclass(frozen=True, eq=False)
class _CandidateWork:
    """One candidate after the other, or each of them somewhere."""

    learner: Learner
    sequence: DomainSequence
    target: Domain
    logits: Callable[[Adaptation], NDArray[np.float64]] | None
    keep_steps: bool
    workspace: Workspace | None

    def prepare(self, tasks: tuple[Any, ...], scratch: dict[str, Any]) -> _CandidateWork:
        """The same, with a workspace of the worker's own."""
        return replace(self, workspace=Workspace())

    def run(self, shared: _CandidateWork, task: tuple[Hashable, Method]) -> Judged:
        """What came of a candidate."""
        return shared.judged(task[1])

    def judged(self, method: Method) -> Judged:
        """Adapt and ask about the target."""
        # Students are kept only where somebody wants to see them.
        steps: list[tuple[StepRecord, Learner]] = []
        remember = _appends(steps) if self.keep_steps else None
        ask = self.logits or (lambda adaptation: adaptation.learner.logits(self.target.samples))
        try:
            adaptation = method.adapt(self.learner, self.sequence, remember, self.workspace)
            said = softmax(ask(adaptation), axis=1)
        except InputError as error:
            return str(error)
        return adaptation, said, steps, adaptation.learner is self.learner


def _side_by_side(work: _CandidateWork, tasks: list[Any], engine: Engine) -> Iterator[tuple[Hashable, Judged]]:
    """What came of the candidates, in their order, whoever is done first."""
    done: dict[Hashable, Judged] = {}
    left = [name for name, _ in tasks]
    for outcome in engine.run(iter([Batch(work, tuple(tasks))])):
        if outcome.failure is not None:
            raise SolverError(f"candidate {outcome.task[0]}: {outcome.failure.text}")
        done[outcome.task[0]] = outcome.value
        while left and left[0] in done:
            yield left[0], done[left.pop(0)]


def _appends(steps: list[tuple[StepRecord, Learner]]) -> OnStep:
    return lambda record, student: steps.append((record, student))
