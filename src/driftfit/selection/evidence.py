"""What favours a candidate and what rules it out, as two small protocols, and the choice that comes of it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from driftfit.checks import check_weights
from driftfit.seeds import derive_seed
from driftfit.selection.runs import Runs
from driftfit.selection.scoring import row_weights, score_candidates

_RESAMPLES = 500
_INTERVAL = (0.025, 0.975)


@dataclass(frozen=True, eq=False)
class Judgement:
    """What an evidence found.

    ``contributions``: for each candidate that ran one value per judged row; its score is their weighted mean. Row by
    row they are compared with the reference's, so that all candidates are judged on the same rows. ``weights``: of the
    rows. ``words``: what the score is, to follow "the highest" in a sentence. ``rows``: which rows of the target they
    are, where not all. ``labels``: their pseudo-labels, where there are some.
    """

    contributions: dict[Any, NDArray[np.float64]]
    weights: NDArray[np.float64] | None
    words: str
    rows: NDArray[np.int64] | None = None
    labels: NDArray[np.int64] | None = None

    @property
    def scores(self) -> dict[Any, float]:
        return {name: float(np.average(own, weights=self.weights)) for name, own in self.contributions.items()}


@runtime_checkable
class Evidence(Protocol):
    """A score of candidates without target labels, as a frozen value."""

    def judge(self, runs: Runs) -> Judgement:
        """One value for each candidate that ran and each judged row, higher for better."""
        ...


@dataclass(frozen=True)
class Findings:
    """What a guard says of candidates, by name and in words.

    ``struck``: why a candidate cannot be chosen whatever its score. Where all are struck out the reference is kept.
    ``cautions``: what must be said about a candidate if it is chosen.
    """

    struck: Mapping[Any, str] = field(default_factory=dict)
    cautions: Mapping[Any, str] = field(default_factory=dict)


@runtime_checkable
class Guard(Protocol):
    """Reasons not to choose a candidate whatever its score, as a frozen value."""

    def beforehand(self, runs: Runs) -> Findings:
        """What is known before any candidate ran; those struck out here are not run."""
        ...

    def inspect(self, runs: Runs) -> Findings:
        """What the candidates that ran show."""
        ...


@dataclass(frozen=True)
class PlanAgreement:
    """Mean probability of the confident labels that plans and candidates give together (`score_candidates`).

    ``carried``: of shape (n, K); what the plans carry to the judged rows. ``share``: as for `score_candidates`.
    """

    carried: Any = None
    share: float | None = None

    def judge(self, runs: Runs) -> Judgement:
        names = list(runs.names)
        table = {place: runs.probabilities[name] for place, name in enumerate(names)}
        weights = runs.target.uneven_weights
        found = score_candidates(table, self.carried, share=self.share, weights=weights)
        n, k = table[0].shape
        # The mean within each class, then over classes, as a mean over all rows.
        counts = row_weights(found.labels, check_weights(weights, n)[found.rows], k)
        contributions = {}
        for place, name in enumerate(names):
            contributions[name] = np.zeros(n)
            contributions[name][found.rows] = n * counts * table[place][found.rows, found.labels]
        return Judgement(contributions, None, found.sentence(runs.learner.classes), found.rows, found.labels)


def paired_gains(judgement: Judgement, reference: Hashable, n_resamples: int = _RESAMPLES) -> dict[Any, Gain]:
    """Each candidate's score less the reference's, with 95 % intervals over rows drawn with replacement.

    All candidates are compared on the same draws, row by row.

    >>> rows = {"source": np.zeros(50), "same": np.zeros(50), "better": np.tile([0.2, 0.4], 25)}
    >>> gains = paired_gains(Judgement(rows, None, ""), "source")
    >>> gains["same"], round(gains["better"].value, 3), gains["better"].low > 0.25
    (Gain(value=0.0, low=0.0, high=0.0), 0.3, True)
    """
    names = list(judgement.contributions)
    table = np.column_stack([judgement.contributions[name] for name in names])
    n = len(table)
    weights = np.full(n, 1.0 / n) if judgement.weights is None else judgement.weights / judgement.weights.sum()
    against = table - table[:, [names.index(reference)]]
    rng = np.random.default_rng(derive_seed("gains", n))
    drawn = rng.multinomial(n, np.full(n, 1.0 / n), size=n_resamples) * weights
    # A draw of rows without weight says nothing.
    drawn = drawn[drawn.sum(axis=1) > 0]
    means = (drawn @ against) / drawn.sum(axis=1, keepdims=True)
    low, high = np.quantile(means, _INTERVAL, axis=0)
    value = weights @ against
    return {name: Gain(float(value[i]), float(low[i]), float(high[i])) for i, name in enumerate(names)}


@dataclass(frozen=True)
class Gain:
    """Score of a candidate less that of the reference, with a 95 % interval over target rows."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Choice:
    """A candidate that was chosen without labels, and why.

    ``n_generated``: domains that it generates between two neighbours. ``how``: ``selection`` where candidates were
    compared, ``rule`` where that would have cost too much. ``sentence``: the choice in words. ``scores``: score of each
    candidate that ran, by name; also of those struck out. ``validation_rows``: target rows that the scores were taken
    on, as numbers in the sample that was judged. ``validation_labels``: their pseudo-labels, where the evidence needs
    some. ``best``: name of the candidate; None where nothing was compared. ``runner_up``: the next one that was not
    struck out. ``reference``: the candidate that the others are compared with, such as the source model. ``gains``:
    `Gain` of each candidate over the reference. ``struck``: why a candidate cannot be chosen whatever its score.
    ``failed``: what a candidate that could not run said. ``members``: weights of the candidates that answer together,
    where the score could not tell them apart.
    """

    n_generated: int
    how: str
    sentence: str
    scores: dict[Any, float] = field(default_factory=dict)
    validation_rows: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    validation_labels: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    best: Any = None
    runner_up: Any = None
    reference: Any = None
    gains: Mapping[Any, Gain] = field(default_factory=dict)
    struck: Mapping[Any, str] = field(default_factory=dict)
    failed: Mapping[Any, str] = field(default_factory=dict)
    members: Mapping[Any, float] = field(default_factory=dict)
