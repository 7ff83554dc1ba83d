"""Costs of one byte beside a matrix that is kept: passes over all of them read a fraction of the memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.transport.kernels.threads import THREADED, in_threads

__all__ = ["NO_CODES", "Quantised"]


@dataclass(frozen=True, eq=False)
class Quantised:
    """Bounds from below on the costs of a matrix, of which each row has a least one and a step of its own.

    ``low + step * code`` is at most the cost, which is less than ``1 + 2**-5`` steps above it.
    """

    codes: NDArray[np.uint8]
    low: NDArray[np.float64]
    step: NDArray[np.float64]

    @classmethod
    def empty(cls, n: int, m: int) -> Quantised:
        """Codes that are to be filled."""
        return cls(np.empty((n, m), np.uint8), np.empty(n), np.empty(n))

    @classmethod
    def of(cls, matrix: NDArray[Any], factor: float) -> Quantised:
        """The codes of ``factor`` times a matrix.

        >>> found = Quantised.of(np.array([[0.0, 2.55, 1.0]]), 1.0)
        >>> found.codes.tolist(), found.step.round(9).tolist()
        ([[0, 255, 100]], [0.01])
        """
        found = cls.empty(*matrix.shape)
        found.fill(slice(0, len(matrix)), matrix, factor)
        return found

    def fill(self, rows: slice, matrix: NDArray[Any], factor: float) -> None:
        """Codes of some rows, given the matrix of these."""
        from driftfit.transport.kernels.quantised_loops import quantise_rows  # numba is slow to import

        into = self.codes[rows], self.low[rows], self.step[rows]

        def work(piece: slice) -> None:
            quantise_rows(matrix[piece], factor, *(part[piece] for part in into))

        in_threads(work, len(matrix), small=matrix.size < THREADED)

    def __getitem__(self, rows: slice) -> Quantised:
        """The codes of some rows."""
        return Quantised(self.codes[rows], self.low[rows], self.step[rows])

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What compiled loops need."""
        return self.codes, self.low, self.step


# For costs that have none.
NO_CODES = Quantised.empty(0, 0)
