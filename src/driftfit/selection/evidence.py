"""What favours a candidate, and what rules it out: two small protocols, and intervals over target rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from driftfit.checks import check_weights
from driftfit.seeds import derive_seed
from driftfit.selection.outcome import Gain
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
