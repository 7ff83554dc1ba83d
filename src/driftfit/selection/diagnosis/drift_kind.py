"""From windows to a diagnosis: what moved, and the simplest thing that explains it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, ks_2samp

from driftfit.domains import DomainSequence
from driftfit.errors import InputError
from driftfit.methods import Assumption, OwnScale
from driftfit.models import Learner
from driftfit.seeds import derive_seed
from driftfit.selection.diagnosis.findings import Diagnosis, Drift, FeatureShift, feature_shifts
from driftfit.selection.diagnosis.own_scale import aligned_windows, own_scale_chance, raw_overlap
from driftfit.selection.diagnosis.proportion_fit import ProportionFit, fit_proportions
from driftfit.selection.exchange import LEVEL, Moved, moved

# A difference that chance exceeds more often is none.
_SAME = 0.01
# Rows of the source lie further from their nearest neighbour than this one in a hundred times.
_FAR = 0.01
# A smaller part of the target beyond the source is not worth a word.
_LEAST_NEW = 0.05
_MOST_ROWS = 2_000
# Deviations of the source beyond which a row is as far as any.
_BEYOND = 1e9


def diagnose_drift(
    learner: Learner,
    sequence: DomainSequence,
    names: tuple[str, ...] | None = None,
    seed: int = 0,
    *,
    found: Moved | None = None,
    stands: Mapping[Assumption, bool] | None = None,
) -> Diagnosis:
    """Say what moved between the source and the target of a sequence of tables.

    The simplest explanation that holds is named: nothing; other class proportions; every feature by itself; the
    structure turned; a part of the target is new; and several things at once where none of these is enough.
    Groups that the domains name, and rows that follow each other, count as what they are
    (`driftfit.selection.exchange`).

    Parameters
    ----------
    learner : Learner
        Trained on the source.
    sequence : DomainSequence
        Of numbers; labels but the source's are not looked at.
    names : tuple of str, optional
        Of the features.
    seed : int
    found : Moved, optional
        Whether anything moved, with the chance of every column, where that is known already.
    stands : mapping of Assumption to bool, optional
        What was tested elsewhere, and whether it stands: the diagnosis does not contradict it.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from driftfit.domains import Domain
    >>> from driftfit.models import as_learner
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 2
    >>> old, new = (rng.normal(size=(400, 2)) + 3.0 * y[:, None] for _ in range(2))
    >>> learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(old, y)
    >>> for target in (new, 4.0 * new + 20.0):
    ...     print(diagnose_drift(learner, DomainSequence([Domain(old, y), Domain(target)])).kind.value)
    nothing moves
    features move by themselves
    """
    small = sequence.masked().each(lambda domain: domain.subsample(_MOST_ROWS, derive_seed(seed, domain.name)))
    before, after = (np.asarray(d.matrix(), dtype=np.float64) for d in (small.source, small.target))
    found = moved(small, seed, each_column=True) if found is None else found
    features = feature_shifts(before, after, found.columns, names)
    windows = aligned_windows(OwnScale(), small, seed)
    raw, aligned = raw_overlap(small, seed), raw_overlap(windows, seed)
    fit = _fit(learner, small, seed)
    new, same = _new_share(before, after), _same_distances(before, after, seed)
    step, where = _largest_step(small, features)
    checks: dict[Assumption, Callable[[], bool]] = {
        Assumption.PROPORTIONS: lambda: fit is not None and fit.explains,
        Assumption.SCALE: lambda: own_scale_chance(small.ends(), seed) >= LEVEL,
        Assumption.STRUCTURE: lambda: same >= _SAME,
    }
    kind = _kind(checks, dict(stands or {}), fit is not None and fit.changed, new) if found.rejected else Drift.NOTHING
    return Diagnosis(kind, features, raw, aligned, fit, new, same, step, where)


def _fit(learner: Learner, small: DomainSequence, seed: int) -> ProportionFit | None:
    """None where the proportions cannot be estimated."""
    try:
        return fit_proportions(learner, small.ends(), seed)
    except InputError:
        return None


def _kind(
    checks: Mapping[Assumption, Callable[[], bool]], known: Mapping[Assumption, bool], changed: bool, new: float
) -> Drift:
    """The simplest explanation that holds, by what is known or else is checked here."""

    def stands(assumption: Assumption) -> bool:
        return known[assumption] if assumption in known else checks[assumption]()

    if changed and stands(Assumption.PROPORTIONS):
        return Drift.PROPORTIONS
    if stands(Assumption.SCALE):
        return Drift.SCALES
    if stands(Assumption.STRUCTURE):
        return Drift.TURNED
    return Drift.NEW_REGION if new >= _LEAST_NEW else Drift.MIXED


def _scaled(before: NDArray[np.float64], after: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Features that vary in the source, in units of their deviation there; of the others a model knows nothing."""
    varies = before.min(axis=0) < before.max(axis=0)
    before, after = before[:, varies], after[:, varies]
    # To numbers of size 1 first: squares of tiny ones vanish, and those of huge ones overflow.
    size = np.maximum(np.abs(before).max(axis=0), np.finfo(float).tiny)
    with np.errstate(over="ignore"):
        before, after = before / size, np.clip(after / size, -_BEYOND, _BEYOND)
    spread = np.maximum(before.std(axis=0), 1.0 / _BEYOND)
    return before / spread, after / spread


def _new_share(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Share of the target's rows further from the source than its own rows are from each other, where chance is out."""
    from sklearn.neighbors import NearestNeighbors

    here, there = _scaled(before, after)
    if here.shape[1] == 0:
        return 0.0
    tree = NearestNeighbors(n_neighbors=2).fit(here)
    own = tree.kneighbors(here)[0][:, 1]
    away = tree.kneighbors(there, n_neighbors=1)[0][:, 0] > np.quantile(own, 1.0 - _FAR)
    if binomtest(int(away.sum()), len(away), _FAR, alternative="greater").pvalue >= _SAME:
        return 0.0
    return float(max(away.mean() - _FAR, 0.0))


def _same_distances(before: NDArray[np.float64], after: NDArray[np.float64], seed: int) -> float:
    """Probability by chance of the difference between distances of pairs in the two windows, each row in one pair.

    In units of the features: an isometry of these keeps them.
    """
    rng, lengths = np.random.default_rng(derive_seed(seed, "diagnosis")), []
    for rows in (before, after):
        order = rng.permutation(len(rows))[: len(rows) // 2 * 2]
        lengths.append(np.linalg.norm(rows[order[::2]] - rows[order[1::2]], axis=1))
    return float(ks_2samp(lengths[0], lengths[1], method="asymp").pvalue)


def _largest_step(
    sequence: DomainSequence, features: tuple[FeatureShift, ...]
) -> tuple[float | None, tuple[str, str] | None]:
    """The step between neighbours that holds most of the way, by what the features that moved differ beyond noise."""
    moved = [number for number, feature in enumerate(features) if feature.moved]
    if len(sequence) < 3 or not moved:
        return None, None
    lengths, names = [], []
    for one, other in pairwise(sequence):
        a, b = one.matrix(), other.matrix()
        # Between samples of one distribution the distance is 0.87 of this root on average.
        noise = 0.87 * np.sqrt(1.0 / len(a) + 1.0 / len(b))
        lengths.append(sum(max(ks_2samp(a[:, c], b[:, c], method="asymp").statistic - noise, 0.0) for c in moved))
        names.append((one.name, other.name))
    if sum(lengths) == 0:
        return None, None
    largest = int(np.argmax(lengths))
    return float(lengths[largest] / sum(lengths)), names[largest]
