"""How far classes are from each other and from themselves: where the drift is an isometry, that tells their names."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from driftfit.checks import check_weights
from driftfit.domains import Domain
from driftfit.seeds import derive_seed
from driftfit.transport.arrays import beside, is_tensor, to_numpy

# Rows fall into so many groups by chance; groups are drawn with replacement so many times.
_GROUPS, _RESAMPLES = 20, 200


class ClassMoments:
    """Mass, mean and mean square of each class, in groups of rows that can be drawn again.

    ``labels``: a class number for each sample.

    >>> moments = ClassMoments(Domain([[0.0], [2.0], [10.0]]), np.array([0, 0, 1]), 2)
    >>> moments.distances(np.ones(20)).round(9).tolist()
    [[2.0, 82.0], [82.0, 0.0]]
    """

    def __init__(self, domain: Domain, labels: NDArray[np.int64], n_classes: int) -> None:
        x = domain.matrix()
        n = x.shape[0]
        group = np.random.default_rng(derive_seed("class moments", n)).integers(_GROUPS, size=n)
        weights = check_weights(domain.weights, n)
        place = group * n_classes + labels
        chosen = sp.csr_array((weights, (place, np.arange(n))), shape=(_GROUPS * n_classes, n))
        shape = (_GROUPS, n_classes)
        sums = to_numpy(beside(x, chosen.toarray()).to(x.dtype) @ x) if is_tensor(x) else _dense(chosen @ x)
        self.mass = np.bincount(place, weights, minlength=_GROUPS * n_classes).reshape(shape)
        self.sums = sums.astype(np.float64).reshape(*shape, -1)
        squares = to_numpy((x * x).sum(1)) if is_tensor(x) else _row_squares(x)
        self.squares = np.bincount(place, weights * squares, minlength=_GROUPS * n_classes).reshape(shape)

    def distances(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Mean squared distances between classes, groups counted so often; NaN for those that are absent."""
        mass = counts @ self.mass
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.tensordot(counts, self.sums, axes=1) / mass[:, None]
            square = (counts @ self.squares) / mass
        return np.maximum(square[:, None] + square - 2.0 * means @ means.T, 0.0)


def share_better_as_named(
    source: ClassMoments, target: ClassMoments, renamed: NDArray[np.int64], seed: int = 0
) -> float:
    """How often, over resamples, the target's classes keep the source's distances better as they are than renamed.

    ``renamed``: of length K; the new name of each class.

    >>> rows, labels = np.repeat([[0.0], [1.0], [5.0]], 40, axis=0), np.repeat([0, 1, 2], 40)
    >>> own = ClassMoments(Domain(rows), labels, 3)
    >>> moved = ClassMoments(Domain(-rows), labels, 3)
    >>> share_better_as_named(own, moved, np.array([2, 1, 0]))
    1.0
    """
    rng = np.random.default_rng(derive_seed(seed, "renamed"))
    back = np.argsort(renamed)
    better = 0.0
    for _ in range(_RESAMPLES):
        here, there = (
            moments.distances(rng.multinomial(_GROUPS, np.full(_GROUPS, 1 / _GROUPS))) for moments in (source, target)
        )
        # Class c of the renamed labelling is the one that was called back[c].
        plain, other = (float(np.nansum(np.square(here - own))) for own in (there, there[np.ix_(back, back)]))
        better += 1.0 if plain < other else 0.5 if plain == other else 0.0
    return better / _RESAMPLES


def _dense(sums: Any) -> NDArray[Any]:
    return np.asarray(sums.toarray() if sp.issparse(sums) else sums)


def _row_squares(x: Any) -> NDArray[np.float64]:
    return np.asarray(x.multiply(x).sum(axis=1) if sp.issparse(x) else np.einsum("ij,ij->i", x, x)).ravel()
