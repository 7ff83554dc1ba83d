"""Rows of any container: arrays, sparse matrices, data frames, tensors, and rows that are made when they are taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

# Rows that a class keeps in a sample.
_FEWEST_OF_A_CLASS = 5


def is_tensor(samples: Any) -> bool:
    """Whether samples are a torch tensor; torch itself is not imported for the answer."""
    return type(samples).__module__.partition(".")[0] == "torch" and hasattr(samples, "is_cuda")


def is_frame(samples: Any) -> bool:
    """Whether samples are a data frame of whatever library: something with named columns."""
    return hasattr(samples, "columns") and hasattr(samples, "shape")


def with_rows(samples: Any) -> Any:
    """Samples that can hand out rows: a pyarrow table, which has columns alone, becomes a pandas frame."""
    if type(samples).__module__.partition(".")[0] == "pyarrow" and hasattr(samples, "to_pandas"):
        return samples.to_pandas()
    return samples


def take_rows(samples: Any, rows: NDArray[Any]) -> Any:
    """Some rows, by number and in that order, as the same kind of container.

    >>> take_rows(np.array([[1.0], [2.0], [3.0]]), np.array([2, 0])).tolist()
    [[3.0], [1.0]]
    """
    if isinstance(samples, Interpolated):
        return samples.select(rows)
    if is_tensor(samples):
        return samples.index_select(0, _index_on(samples, rows))
    if hasattr(samples, "iloc"):
        return samples.iloc[rows]
    return samples[rows]


def stack_rows(parts: Sequence[Any]) -> Any:
    """The rows of several containers of one kind, one below the other; tensors stay on their device.

    >>> stack_rows([np.array([[1.0]]), np.array([[2.0], [3.0]])]).ravel().tolist()
    [1.0, 2.0, 3.0]
    """
    first = parts[0]
    if is_tensor(first):
        import torch  # only where there are tensors already

        return torch.cat(list(parts))
    if any(sp.issparse(part) for part in parts):
        return sp.vstack([sp.csr_array(part) for part in parts], format="csr")
    if hasattr(first, "iloc"):
        import pandas as pd  # only where there are its frames already

        return pd.concat(list(parts), ignore_index=True)
    if is_frame(first):
        return reduce(lambda above, below: above.vstack(below), parts)
    return np.concatenate([np.asarray(part) for part in parts])


def some_rows(
    n: int, most: int | None, random: int | np.random.Generator, labels: NDArray[Any] | None = None
) -> NDArray[np.int64]:
    """At most ``most`` of ``n`` row numbers, drawn without replacement, in ascending order; all if there are no more.

    With the ``labels`` of the rows a class that is rare keeps five of its rows, or all that it has.

    >>> some_rows(3, 5, random=0).tolist(), len(some_rows(10, 4, random=0))
    ([0, 1, 2], 4)
    >>> some_rows(10_000, 20, random=0, labels=np.arange(10_000) > 9_997)[-2:].tolist()
    [9998, 9999]
    """
    if most is None or n <= most:
        return np.arange(n)
    rng = np.random.default_rng(random)
    rows = rng.choice(n, most, replace=False)
    return np.sort(rows if labels is None else _with_every_class(rows, labels, rng))


def _with_every_class(rows: NDArray[np.int64], labels: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
    """The rows, some of frequent classes exchanged for those of classes that would be lost."""
    seen, counts = np.unique(labels[rows], return_counts=True)
    rare = np.flatnonzero(~np.isin(labels, seen[counts >= _FEWEST_OF_A_CLASS]))
    wanted: list[int] = []
    for name in np.unique(labels[rare]):
        own = rare[labels[rare] == name]
        left = np.setdiff1d(own, rows)
        missing = min(_FEWEST_OF_A_CLASS, len(own)) - (len(own) - len(left))
        wanted += rng.choice(left, max(missing, 0), replace=False).tolist()
    spare = np.setdiff1d(rows, rare)
    wanted = wanted[: len(spare)]
    kept = rng.permutation(spare)[len(wanted) :] if wanted else spare
    return np.concatenate([kept, np.intersect1d(rows, rare), np.array(wanted, dtype=np.int64)])


@dataclass(frozen=True, eq=False)
class Interpolated:
    """Rows ``(1 - position) * x0[rows] + position * x1[cols]``, formed when they are taken.

    A generated domain so costs two index vectors instead of a copy of the features.

    >>> x0, x1 = np.array([[0.0], [10.0]]), np.array([[12.0], [2.0]])
    >>> Interpolated.of(x0, x1, np.array([0, 1]), np.array([1, 0]), 0.5).whole().ravel().tolist()
    [1.0, 11.0]
    """

    x0: Any
    x1: Any
    rows: Any
    cols: Any
    position: float

    @classmethod
    def of(cls, x0: Any, x1: Any, rows: NDArray[Any], cols: NDArray[Any], position: float) -> Interpolated:
        """With the indices where the samples are."""
        if is_tensor(x0):
            return cls(x0, x1, _index_on(x0, rows), _index_on(x0, cols), position)
        return cls(x0, x1, rows, cols, position)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self), *self.x0.shape[1:])

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Shape of one sample."""
        return tuple(self.x0.shape[1:])

    @property
    def device(self) -> Any:
        """Where the samples are, if they are tensors."""
        return self.x0.device

    def take(self, rows: Any) -> Any:
        """The chosen rows themselves."""
        if is_tensor(self.x0):
            start = self.x0.index_select(0, self.rows.index_select(0, rows))
            if self.position == 0.0:
                return start
            return start.lerp_(self.x1.index_select(0, self.cols.index_select(0, rows)), self.position)
        return (1.0 - self.position) * self.x0[self.rows[rows]] + self.position * self.x1[self.cols[rows]]

    def whole(self) -> Any:
        """All rows."""
        if sp.issparse(self.x0):
            return self.take(np.arange(len(self)))
        if is_tensor(self.x0):
            return self.take(_index_on(self.x0, np.arange(len(self))))
        return self.take(slice(None))

    def with_rows(self, rows: Any, cols: Any) -> Interpolated:
        """Other pairs of the same samples."""
        return Interpolated(self.x0, self.x1, rows, cols, self.position)

    def put(self, out: Any) -> None:
        """Form all rows where there is room for them: in a tensor of any shape with a row for each."""
        import torch  # only where there are tensors already

        start = self.x0.index_select(0, self.rows).view(out.shape)
        if self.position == 0.0:
            out.copy_(start)
        else:
            torch.lerp(start, self.x1.index_select(0, self.cols).view(out.shape), self.position, out=out)

    def select(self, rows: Any) -> Interpolated:
        """The chosen rows, still to be formed."""
        chosen = _index_on(self.x0, rows) if is_tensor(self.x0) else rows
        return Interpolated(self.x0, self.x1, self.rows[chosen], self.cols[chosen], self.position)


def _index_on(samples: Any, rows: Any) -> Any:
    """Row numbers as a tensor beside the samples."""
    import torch  # only where there are tensors already

    if isinstance(rows, torch.Tensor):
        return rows.to(samples.device)
    return torch.from_numpy(np.ascontiguousarray(rows, dtype=np.int64)).to(samples.device)
