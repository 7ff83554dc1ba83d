"""Does a label depend on how a row compares with those before it? Measured on the labelled rows of the source."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student_t

from driftfit.domains import DomainSequence
from driftfit.learners import Learner
from driftfit.methods.alignment import dense_matrix
from driftfit.methods.recent_scale import N_PARTS, RecentMap, RecentScale, best_width
from driftfit.trust.accuracy import AccuracyEstimate
from driftfit.trust.overlap import Overlap, overlap

__all__ = ["RecentFit", "fit_recent"]

# The last rows of a long source are looked at.
_MOST_ROWS = 5_000


@dataclass(frozen=True, eq=False)
class RecentFit:
    """What scaling each row by those before it gains, measured on parts of the source that were held out.

    Attributes
    ----------
    width : int
        Rows that a row is compared with.
    gain, low, high : float
        Gain in accuracy over the old model, and where it lies in 95 % of further windows, if these vary as the parts of
        the source do (Student's t on the parts' gains).
    left : Overlap
        Of source and target once both are scaled.
    accuracy : AccuracyEstimate
        Of the new model in a further window.
    """

    width: int
    gain: float
    low: float
    high: float
    left: Overlap
    accuracy: AccuracyEstimate

    @property
    def objection(self) -> str | None:
        """Why rows should not be compared with those before them, or None."""
        if self.low <= 0.0:
            return (
                f"compared with the last {self.width} rows it gains {100 * self.gain:+.1f} points on held-out parts of "
                f"the first window, which means {100 * self.low:+.1f} to {100 * self.high:+.1f} in another window"
            )
        if not self.left.estimable:
            return f"source and target stay apart behind it (AUC {self.left.auc:.2f})"
        return None


def fit_recent(
    learner: Learner, sequence: DomainSequence, seed: int = 0, in_use: NDArray[np.int64] | None = None
) -> RecentFit:
    """Find a width on the source and measure there what it gains; raises where no width can gain anything.

    Parameters
    ----------
    learner : Learner
        Trained on the source; trained anew on parts of it.
    sequence : DomainSequence
        Rows in their order; labels but the source's are not looked at.
    seed : int
    in_use : int array, optional
        What the model in use says about the rows of the source, where that is another one.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from driftfit.domains import Domain
    >>> from driftfit.learners import as_learner
    >>> rng = np.random.default_rng(0)
    >>> move, level = rng.normal(size=1500), 10.0 * np.sin(np.arange(1500.0) / 100.0)
    >>> x, y = np.column_stack([move + level]), (move > 0).astype(int)
    >>> learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(x[:1000], y[:1000])
    >>> found = fit_recent(learner, DomainSequence([Domain(x[:1000], y[:1000]), Domain(x[1000:])]))
    >>> found.objection, found.low > 0.1
    (None, True)
    """
    masked = sequence.masked()
    source, target = dense_matrix(masked.source), dense_matrix(masked.target)
    rows = np.arange(max(0, len(source) - _MOST_ROWS), len(source))
    x, codes = source[rows], masked.source.codes(learner.classes)[rows]
    width = best_width(x, codes)
    ours = _held_out_right(learner, x, codes, width)
    theirs = _held_out_right(learner, x, codes, None) if in_use is None else in_use[rows] == codes
    gains, rights = (_parts(values) for values in (ours.astype(float) - theirs, ours.astype(float)))
    gain, half = float(gains.mean()), _further(gains)
    recent = RecentMap(width).fit(x)
    left = overlap(recent.transform(x), recent.transform(target), seed=seed)
    accuracy = AccuracyEstimate.around(float(rights.mean()), _further(rights), "parts of the first window")
    return RecentFit(width, gain, gain - half, gain + half, left, accuracy)


def _held_out_right(
    learner: Learner, x: NDArray[np.float64], codes: NDArray[np.int64], width: int | None
) -> NDArray[np.bool_]:
    """Whether each row is labelled rightly by a model of the other parts; without a width by one of plain rows."""
    part = np.arange(len(x)) * N_PARTS // len(x)
    right = np.zeros(len(x), dtype=bool)
    for number in range(N_PARTS):
        held = part == number
        if width is None:
            model = learner.fit(x[~held], codes[~held])
        else:
            model = RecentScale(width).trained(learner, x[~held], codes[~held])
        right[held] = model.logits(x[held]).argmax(axis=1) == codes[held]
    return right


def _parts(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([part.mean() for part in np.array_split(values, N_PARTS)])


def _further(parts: NDArray[np.float64]) -> float:
    """Half width of the interval in which a further part lies with 95 %."""
    n = len(parts)
    return float(student_t.ppf(0.975, n - 1) * parts.std(ddof=1) * sqrt(1.0 + 1.0 / n))
