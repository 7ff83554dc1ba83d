"""Run every candidate on shared plans and keep the one that the target speaks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from gradapt.choice.scoring import Scores, score_candidates
from gradapt.domains import DomainSequence
from gradapt.errors import InputError
from gradapt.learners import Learner
from gradapt.methods import GOAT, Adaptation, GradualMethod, GradualSelfTraining
from gradapt.methods.records import OnStep, StepRecord
from gradapt.transport import Plan, Solver
from gradapt.transport.cutoffs import Cutoff

__all__ = ["CANDIDATES", "Choice", "OnCandidate", "carried_labels", "check_candidates", "choose_n_generated"]

# The numbers that the paper's tables compare.
CANDIDATES = (0, 1, 2, 3, 4)

# Called after each candidate with its number and its adaptation.
OnCandidate = Callable[[int, Adaptation], None]


@dataclass(frozen=True, eq=False)
class Choice:
    """A number of generated domains, and why.

    Attributes
    ----------
    n_generated : int
    scores : dict
        Score of each candidate; see `Scores`.
    adaptation : Adaptation
        Of the chosen candidate, as `GOAT` alone would have made it.
    validation_rows : int array
        Target rows that the scores were taken on.
    validation_labels : array
        Their pseudo-labels.
    sentence : str
        The choice in words.
    """

    n_generated: int
    scores: dict[int, float]
    adaptation: Adaptation
    validation_rows: NDArray[np.int64]
    validation_labels: NDArray[Any]
    sentence: str


def choose_n_generated(
    learner: Learner,
    sequence: DomainSequence,
    candidates: Iterable[int] = CANDIDATES,
    *,
    method: GradualMethod | None = None,
    feature_space: bool = True,
    solver: Solver | None = None,
    cost: Any = None,
    cutoffs: Sequence[Cutoff] = (),
    share: float | None = None,
    on_step: OnStep | None = None,
    on_candidate: OnCandidate | None = None,
) -> Choice:
    """Choose the number of generated domains without target labels.

    Domains are encoded and plans are made once; each candidate then adapts the learner along
    its own path, and `score_candidates` compares what they say about the target with the
    labels that the plans carry there.

    Parameters
    ----------
    learner : Learner
        Fitted on the source.
    sequence : DomainSequence
        Only the labels of the source are used.
    candidates : iterable of int
        Numbers to choose from.
    method, feature_space, solver, cost, cutoffs
        As for `GOAT`.
    share : float, optional
        As for `score_candidates`.
    on_step : callable, optional
        Called with each step of the chosen candidate, once it is chosen.
    on_candidate : callable, optional
        Called with the number and the adaptation of each candidate, as soon as it is done.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from gradapt.datasets.toy import moving_gaussians
    >>> from gradapt.learners import as_learner
    >>> path = moving_gaussians((0, 2.5))
    >>> learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(path.source.samples, path.source.labels)
    >>> choice = choose_n_generated(learner, path)
    >>> choice.n_generated, bool(choice.scores[4] > choice.scores[0] + 0.2)
    (4, True)
    """
    numbers = check_candidates(candidates)
    goat = GOAT(0, method or GradualSelfTraining(), feature_space, solver, cost, tuple(cutoffs))
    ground = goat.ground(learner, sequence)
    plans = goat.plans(ground)
    runs: dict[int, Adaptation] = {}
    steps: dict[int, list[tuple[StepRecord, Learner]]] = {number: [] for number in numbers}
    probabilities = {}
    for number in numbers:
        # Students are kept only where somebody wants to see them.
        remember = None if on_step is None else _appends(steps[number])
        runs[number] = replace(goat, n_generated=number).adapt_on(learner, ground, remember, plans)
        adapted = runs[number].learner
        logits = (adapted.head() if feature_space else adapted).logits(ground.target.samples)
        probabilities[number] = softmax(logits, axis=1)
        if on_candidate is not None:
            on_candidate(number, runs[number])
    scores = score_candidates(probabilities, carried_labels(ground, plans, learner.classes), share=share)
    if on_step is not None:
        for record, student in steps[scores.best]:
            on_step(record, student)
    return _choice(scores, runs[scores.best], learner)


def carried_labels(
    sequence: DomainSequence, plans: Sequence[Plan], classes: NDArray[Any] | None = None
) -> NDArray[np.float64]:
    """Share of each source class that the plans carry to each target row, of shape (n_target, K).

    A row that lost all of its mass to a cutoff has zeros. ``classes`` are those of the
    source, sorted, unless the learner knows more of them.

    >>> from gradapt.methods import make_plans
    >>> from gradapt.domains import Domain
    >>> sequence = DomainSequence([Domain([[0.0], [5.0]], ["a", "b"]), Domain([[6.0], [1.0]])])
    >>> carried_labels(sequence, make_plans(sequence)).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    assert sequence.source.labels is not None
    known = np.unique(sequence.source.labels) if classes is None else classes
    scores = np.eye(len(known))[np.searchsorted(known, sequence.source.labels)]
    for plan in plans:
        scores = plan.push(scores)
        total = scores.sum(axis=1, keepdims=True)
        # Shares travel on, not mass: the next plan brings its own.
        scores = np.divide(scores, total, out=np.zeros_like(scores), where=total > 0)
    return scores


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


def _appends(steps: list[tuple[StepRecord, Learner]]) -> OnStep:
    return lambda record, student: steps.append((record, student))


def _choice(scores: Scores, adaptation: Adaptation, learner: Learner) -> Choice:
    labels = learner.classes[scores.labels]
    return Choice(scores.best, scores.values, adaptation, scores.rows, labels, scores.sentence)
