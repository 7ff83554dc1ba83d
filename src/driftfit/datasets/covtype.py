"""Cover Type (covtype): kinds of tree cover in the order of the distance to water."""

from __future__ import annotations

import io
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from driftfit.datasets.common import DataFile, Preset, Split, check_count, check_words, limit_domains, read_bytes, stamp
from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.extras import need
from driftfit.seeds import derive_seed

FILES: dict[str, DataFile] = {
    "covtype": DataFile(
        "covtype/covtype.data.gz",
        "0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945",
        75_169_317,
        url="https://archive.ics.uci.edu/ml/machine-learning-databases/covtype/covtype.data.gz",
    )
}

_ROWS = 495_141  # rows of the two most frequent classes
_WATER = 3  # column: horizontal distance to water
_FEATURES = 54
_SOURCE, _BLOCK, _TARGET = 50_000, 40_000, 45_000
_BLOCKS = 10
_GIVEN = {0: [], 1: [6], 2: [3, 7], 3: [2, 5, 8], 4: [2, 4, 6, 8], 10: list(range(10))}
# Held out of the target at the paper preset, which would otherwise use all of it.
_PAPER_HELDOUT = 5_000


def covtype(
    n_given: int = 2,
    *,
    preset: Preset = "reference",
    seed: int = 0,
    split: Split = "adapt",
    distinct: bool = True,
    n_samples: int | None = None,
    download: bool = True,
) -> DomainSequence:
    """Rows near water as the source, rows far from it as the target; classes 1 and 2 only.

    All 54 features are standardised over all rows.

    ``preset``: ``reference``: 10,000 of the first 50,000 rows, given domains of 2,000 rows, 20,000 of the last 45,000.
    ``paper``: the whole blocks of 50,000 and 40,000 rows; the target has 45,000 rows, because 50,000 are not there,
    5,000 of them held out. ``distinct``: no row is in two domains, and held-out rows are of the target's kind: always
    so here.
    """
    check_words(preset, split)
    check_count(n_given, _BLOCKS)
    if n_given not in _GIVEN:
        raise InputError(f"n_given must be one of {', '.join(map(str, _GIVEN))} for Cover Type, got {n_given!r}")
    features, labels = _load(stamp(*FILES.values()), download)
    # A made-up table with fewer rows keeps the proportions.
    share = min(1.0, len(features) / _ROWS)
    scaled = {size: max(2, int(size * share)) for size in (_SOURCE, _BLOCK, _TARGET, 10_000, 2_000, 20_000, 5_000)}
    rng = np.random.default_rng(derive_seed(seed, "covtype"))
    source_rows = rng.permutation(scaled[_SOURCE])
    target_rows = len(features) - scaled[_TARGET] + rng.permutation(scaled[_TARGET])
    if preset == "reference":
        source_rows = source_rows[: scaled[10_000]]
        n_block, n_target = scaled[2_000], scaled[20_000]
    else:
        n_block, n_target = scaled[_BLOCK], scaled[_TARGET] - scaled[_PAPER_HELDOUT]

    def domain(rows: NDArray[np.int64], name: str) -> Domain:
        rows = np.sort(rows)
        return Domain(features[rows], labels=labels[rows], name=name)

    domains = [domain(source_rows, "source")]
    if split == "heldout":
        domains.append(domain(target_rows[n_target:], "held out"))
    else:
        for i in _GIVEN[n_given]:
            start = scaled[_SOURCE] + i * scaled[_BLOCK]
            domains.append(domain(np.arange(start, start + n_block), f"block {i}"))
        domains.append(domain(target_rows[:n_target], "target"))
    return limit_domains(DomainSequence(domains), n_samples, seed)


@lru_cache(maxsize=1)
def _load(_stamp: tuple[tuple[str, int, int], ...], download: bool) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Standardised features and labels 0/1, in ascending order of the distance to water."""
    need("pandas", "paper", "reading Cover Type")
    import pandas as pd

    content = read_bytes(FILES["covtype"], download=download)
    try:
        table = pd.read_csv(io.BytesIO(content), header=None, dtype=np.int16).to_numpy()
    except (ValueError, OverflowError) as error:
        raise InputError(f"{FILES['covtype'].path} is not a table of whole numbers ({error}); fetch it again") from None
    if table.shape[1] != _FEATURES + 1:
        raise InputError(f"{FILES['covtype'].path} has {table.shape[1]} columns instead of {_FEATURES + 1}; re-fetch")
    table = table[table[:, -1] <= 2]
    table = table[np.argsort(table[:, _WATER], kind="stable")]
    features = table[:, :-1].astype(np.float64)
    spread = features.std(axis=0)
    # A flag that never changes among the two classes carries nothing: leave it at 0.
    features = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return features.astype(np.float32), table[:, -1].astype(np.int64) - 1
