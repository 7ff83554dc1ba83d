"""How well source and target can be told apart, as they are and where an alignment puts them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftfit.domains import DomainSequence
from driftfit.methods import Alignment
from driftfit.methods.alignment import dense_matrix, measured_columns
from driftfit.seeds import derive_seed
from driftfit.selection.accuracy import Overlap, overlap


def raw_overlap(sequence: DomainSequence, seed: int = 0) -> Overlap:
    """Of source and target as they are."""
    masked = sequence.masked()
    return overlap(masked.source.matrix(), masked.target.matrix(), seed=seed)


def aligned_windows(alignment: Alignment, sequence: DomainSequence, seed: int = 0) -> DomainSequence:
    """Source and target where the alignment puts them.

    Counts and rounded numbers lie on a grid. Windows that are mapped by themselves lie on different grids, and a
    classifier would tell their rows apart by nothing else: so each window's values are spread over its grid first.
    """
    ends = sequence.ends()
    matrices = [dense_matrix(domain) for domain in ends]
    columns, rng = np.flatnonzero(measured_columns(*matrices)), np.random.default_rng(derive_seed(seed, "ties"))
    spread = [off_grid(own, columns, rng) for own in matrices]
    windows = DomainSequence(domain.with_samples(own) for domain, own in zip(ends, spread, strict=True))
    return alignment.aligned(windows)[0]


def off_grid(rows: NDArray[np.float64], columns: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Values that lie on a grid, drawn evenly from half way to the values beside them.

    A column lies on a grid where most of its values occur several times, whatever its most frequent one is: many
    noughts beside measured values are no grid.

    ``rows``: of shape (n, d). ``columns``: those that are looked at.

    >>> counts = np.repeat(np.arange(12.0), 3)[:, None]
    >>> spread = off_grid(counts, np.array([0]), np.random.default_rng(0))
    >>> len(np.unique(spread)), np.array_equal(spread.round(), counts)
    (36, True)
    """
    rows = rows.copy()
    for column in columns:
        values, place, counts = np.unique(rows[:, column], return_inverse=True, return_counts=True)
        tied, others = counts > 1, np.arange(len(counts)) != counts.argmax()
        if 2 * counts[tied & others].sum() <= counts[others].sum():
            continue
        gaps = np.diff(values)
        # A value far from all others is no wider than they are.
        half = np.minimum(gaps, np.median(gaps)) / 2.0
        below, above = np.append(half[:1], half), np.append(half, half[-1:])
        moved = tied[place]
        own = place[moved]
        rows[moved, column] += rng.random(len(own)) * (below + above)[own] - below[own]
    return rows
