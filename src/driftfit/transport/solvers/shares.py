"""Who holds how much of which column at what price, while an auction runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Shares"]

Float = NDArray[np.float64]
Index = NDArray[np.int64]

# Weight that is a rounding, as a share of the mean, where weights are not all one.
_DUST = 1e-9
# Places for more shares to begin with, for each sample.
_PLACES = 2


@dataclass(eq=False)
class Shares:
    """Shares of all columns, in a list for each, the cheapest first.

    >>> shares = Shares.of(np.ones(2), np.ones(2), np.zeros(2))
    >>> shares.owners()
    (array([-1, -1], dtype=int32), array([-1, -1], dtype=int32))
    """

    free: Float
    waiting: NDArray[np.bool_]
    first: Index
    following: Index
    holder: Index
    mass: Float
    ask: Float
    unused: Index
    # The weight that is not placed, what may stay so, and what is a rounding.
    left: Float
    total: float

    @classmethod
    def of(cls, weights0: Float, weights1: Float, prices: Float) -> Shares:
        """Nothing is placed yet, and every column is one share."""
        n, m = len(weights0), len(weights1)
        whole = n == m and bool((weights0 == 1.0).all() and (weights1 == 1.0).all())
        places = m + 2 + (0 if whole else _PLACES * (n + m))
        pad = np.zeros(places - m)
        return cls(
            weights0.astype(np.float64),
            np.zeros(n, np.bool_),
            np.arange(m),
            np.full(places, -1),
            np.full(places, -1),
            np.concatenate([weights1 * (weights0.sum() / weights1.sum()), pad]),
            np.concatenate([prices, pad]),
            np.concatenate([[places - m], np.arange(m, places), np.zeros(m + 1, np.int64)]),
            np.array([0.0, 0.0, 0.0 if whole else _DUST * float(weights0.sum()) / n]),
            float(weights0.sum()),
        )

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What compiled loops need."""
        return (
            self.free, self.waiting, self.first, self.following, self.holder, self.mass, self.ask, self.unused,
            self.left,
        )  # fmt: skip

    @property
    def whole(self) -> bool:
        """Whether this is an assignment problem."""
        return bool(self.left[2] == 0.0)

    def leave(self, share: float) -> None:
        """How much of all weight need not be placed."""
        self.left[1] = share * self.total

    def begin(self, prices: Float) -> None:
        """Other prices, while nothing is placed."""
        self.ask[: len(prices)] = prices

    @property
    def full(self) -> bool:
        """Whether there is no place for another share."""
        return bool(self.unused[0] <= 1)

    def grow(self) -> None:
        """Twice the places."""
        old = len(self.holder)
        self.following, self.holder = (np.concatenate([x, np.full(old, -1)]) for x in (self.following, self.holder))
        self.mass, self.ask = (np.concatenate([x, np.zeros(old)]) for x in (self.mass, self.ask))
        left = self.unused[1 : self.unused[0] + 1]
        more = np.concatenate([left, np.arange(old, 2 * old)])
        self.unused = np.concatenate([[len(more)], more, np.zeros(2 * old + 1 - len(more), np.int64)])

    def owners(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """In an assignment problem: the row that has each column and the column that each row has, -1 for none."""
        owner = self.holder[self.first].astype(np.int32)
        partner = np.full(len(self.free), -1, np.int32)
        placed = np.flatnonzero(owner >= 0)
        partner[owner[placed]] = placed
        return owner, partner
