"""What strikes a candidate out whatever its score: lost classes, a drift that is no isometry, renamed classes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from driftfit.checks import check_weights
from driftfit.domains import Domain
from driftfit.errors import InputError
from driftfit.methods.pseudo_labels import class_shares, lost_shares
from driftfit.models import Learner
from driftfit.seeds import derive_seed
from driftfit.selection.evidence import Findings
from driftfit.selection.neighbours import NeighbourInformation, most_frequent
from driftfit.selection.runs import Runs
from driftfit.selection.same_law import same_laws
from driftfit.selection.view import PathView
from driftfit.transport.arrays import beside, is_tensor, to_numpy

# A difference of two agreements counts beyond so many of its standard errors.
_CLEAR = 2.0
# Two candidates see the same classes where they agree so far from chance to always.
_SAME_CLASSES = 0.5
# Names keep distances better where they do in so many resamples, or worse.
_SURE = (0.025, 0.975)


@dataclass(frozen=True)
class ClassShares:
    """Strikes out candidates that lost a class: one that the source has and the source model still sees.

    The rule is the one behind `driftfit.selection.guards`.

    ``expected``: share of each class in the target, where somebody knows it; by default what matters is that of the
    source.
    """

    expected: tuple[float, ...] | None = None

    def beforehand(self, runs: Runs) -> Findings:
        return Findings()

    def inspect(self, runs: Runs) -> Findings:
        classes, source, weights = runs.learner.classes, runs.sequence.source, runs.target.weights
        known = class_shares(source.codes(classes), len(classes), source.weights)
        if self.expected is not None:
            known = np.asarray(self.expected, dtype=np.float64)
        whose = "the source" if self.expected is None else "the target by what is known of it"
        before = class_shares(runs.labels(runs.reference), len(classes), weights)
        struck = {}
        for name in runs.names:
            after = class_shares(runs.labels(name), len(classes), weights)
            lost = lost_shares(known, before, after)
            if name == runs.reference or not lost.any():
                continue
            worst = int(np.argmax(np.where(lost, known, -1.0)))
            struck[name] = (
                f"it lost the class {str(classes[worst])!r}: {100 * known[worst]:.0f} % of {whose}, "
                f"{100 * before[worst]:.0f} % of the target by {runs.reference}, {100 * after[worst]:.1f} % by it"
            )
        return Findings(struck)


@dataclass(frozen=True)
class StructureHolds:
    """Strikes out couplings by structure, before they are made, where the drift is no isometry."""

    def beforehand(self, runs: Runs) -> Findings:
        struck = {}
        for name in runs.candidates:
            try:
                found = runs.isometry(name)
            except InputError:
                continue  # what cannot be measured cannot be coupled either, and will say so itself
            if found is not None and not found.plausible:
                struck[name] = str(found)
        return Findings(struck)

    def inspect(self, runs: Runs) -> Findings:
        return Findings()


@dataclass(frozen=True)
class Names:
    """Strikes out candidates that see the same classes as another one but call them by other names.

    Neighbours and shares of classes do not change when classes are renamed. Two candidates that agree on most rows
    once the classes of one are renamed, and on clearly fewer as they are, contradict each other. Where the drift may
    be an isometry (`Candidate.isometry`), the names that keep the source's distances between classes are believed.
    Where it is not, or the distances leave it open, the one that agrees on clearly more rows with the source model is
    believed, or with labels that neighbours pass on along the given domains where there are some. Where that leaves it
    open too both stay, with a caution.

    ``least_gain``: share of the rows on which two candidates agree only when renamed, from which on they contradict
    each other.
    """

    least_gain: float = 0.1

    def beforehand(self, runs: Runs) -> Findings:
        return Findings()

    def inspect(self, runs: Runs) -> Findings:
        k = len(runs.learner.classes)
        weights = check_weights(runs.target.weights, len(runs.target))
        struck: dict[Any, str] = {}
        cautions: dict[Any, str] = {}
        for one, other in combinations(runs.names, 2):
            plain, renamed, names = agreement_when_renamed(runs.labels(one), runs.labels(other), k, weights)
            shares = [np.sort(class_shares(runs.labels(name), k, weights)) for name in (one, other)]
            # What renaming the classes of two unrelated labellings reaches: 1 for two that see one class alone.
            chance = float(shares[0] @ shares[1])
            if renamed - chance < _SAME_CLASSES * (1.0 - chance) or renamed - plain <= self.least_gain:
                continue
            wrong = _by_distances(runs, one, other, names) or _by_source(runs, one, other, weights)
            agreed = f"{100 * renamed:.0f} % of the rows once classes are renamed, {100 * plain:.0f} % as they are"
            if wrong is None:
                cautions.setdefault(one, f"{other} sees the same classes under other names ({agreed})")
                cautions.setdefault(other, f"{one} sees the same classes under other names ({agreed})")
            else:
                right = other if wrong == one else one
                struck.setdefault(wrong, f"its classes are those of {right} under other names ({agreed})")
        return Findings(struck, {name: text for name, text in cautions.items() if name not in struck})


def _by_distances(runs: Runs, one: Hashable, other: Hashable, names: NDArray[np.int64]) -> Hashable | None:
    """The candidate whose names do not keep the distances between classes; None where that cannot be said."""
    found = [runs.isometry(name) for name in runs.names]
    if not any(own is not None and own.plausible for own in found):
        return None
    k, source = len(runs.learner.classes), runs.sequence.source
    here = ClassMoments(source, source.codes(runs.learner.classes), k)
    share = share_better_as_named(here, ClassMoments(runs.target, runs.labels(one), k), names)
    if _SURE[0] < share < _SURE[1]:
        return None
    return other if share >= _SURE[1] else one


def _by_source(runs: Runs, one: Hashable, other: Hashable, weights: NDArray[np.float64]) -> Hashable | None:
    """The candidate that agrees with what comes from the source on clearly fewer rows; None where neither does."""
    rows, anchor = np.arange(len(weights)), runs.labels(runs.reference)
    if len(runs.sequence) > 2:
        rows, around = NeighbourInformation(measured=True).along(runs)
        anchor = most_frequent(around)
    mass = weights[rows] / weights[rows].sum()
    gain = (runs.labels(one)[rows] == anchor).astype(np.float64) - (runs.labels(other)[rows] == anchor)
    mean = float(mass @ gain)
    error = float(np.sqrt(np.square(mass) @ np.square(gain - mean)))
    if abs(mean) <= _CLEAR * error:
        return None
    return other if mean > 0 else one


def agreement_when_renamed(
    labels: NDArray[np.int64], others: NDArray[np.int64], n_classes: int, weights: NDArray[np.float64] | None = None
) -> tuple[float, float, NDArray[np.int64]]:
    """Share of rows on which two labellings agree, as they are and with the classes of the first renamed for the best.

    The last is the new name of each class.

    >>> plain, renamed, names = agreement_when_renamed(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 1]), 2)
    >>> plain, renamed, names.tolist()
    (0.25, 0.75, [1, 0])
    """
    mass = check_weights(weights, len(labels))
    table = np.bincount(labels * n_classes + others, mass, minlength=n_classes**2).reshape(n_classes, n_classes)
    # Classes that do not occur keep their names.
    chosen = linear_sum_assignment(-table - 1e-9 * np.eye(n_classes))
    return float(np.trace(table)), float(table[chosen].sum()), np.asarray(chosen[1])


def lost_class(view: PathView, source: Learner, adapted: Learner) -> str | None:
    """A sentence on the class that adaptation lost, or None.

    A class that the source model had lost on the target already is not lost by adaptation.
    """
    k = view.n_classes
    known = class_shares(view.codes, k, view.weights(0))
    before, after = (
        class_shares(view.predicted(learner, view.last), k, view.weights(view.last)) for learner in (source, adapted)
    )
    lost = lost_shares(known, before, after)
    if not lost.any():
        return None
    worst = int(np.argmax(np.where(lost, known, -1.0)))
    return (
        f"adaptation lost the class {str(source.classes[worst])!r}: {100 * known[worst]:.0f} % of the labelled rows, "
        f"{100 * before[worst]:.0f} % of today's rows by the old model, {100 * after[worst]:.1f} % by the adapted one"
    )


@dataclass(frozen=True)
class ClassesMove:
    """Strikes out every candidate, before it is run, where other class proportions explain the whole shift.

    Couplings and windows in their own scale force the source's proportions on the target, and a labelling with them
    has more information about its neighbours. The tests are those behind `driftfit.check`: the target differs from
    the source, and not from the source's classes in other proportions. Where the target does not differ at all, or
    there are too few rows to say, nothing is struck out.

    ``seed``: of the rows that are held out and of the exchanges.

    >>> import numpy as np
    >>> from driftfit import Domain
    >>> from driftfit import DomainSequence
    >>> from driftfit.selection.chosen import choose
    >>> from driftfit.methods import GOAT
    >>> y, new = np.arange(300) % 2, np.repeat([0, 1], [240, 20])
    >>> x = np.random.default_rng(0).normal(size=(560, 2)) + 4.0 * np.concatenate([y, new])[:, None]
    >>> path = DomainSequence([Domain(x[:300], y), Domain(x[300:])])
    >>> choice = choose({"GOAT": GOAT(2)}, path, guards=(ClassesMove(),))
    >>> choice.best, list(choice.struck)
    ('source', ['GOAT'])
    """

    seed: int = 0

    def beforehand(self, runs: Runs) -> Findings:
        try:
            law = same_laws(PathView.of(runs.sequence, runs.learner, self.seed))[-1]
        except InputError:
            return Findings()  # what cannot be tested is not shown
        if law.same or not law.classes_stay:
            return Findings()
        shares = ", ".join(
            f"{str(name)!r} {100 * share:.0f} %" for name, share in zip(runs.learner.classes, law.shares, strict=True)
        )
        why = f"other class proportions explain the shift ({shares}; p {law.p_classes:.2f}), so classes stay in place"
        return Findings({name: why for name in runs.candidates if name != runs.reference})

    def inspect(self, runs: Runs) -> Findings:
        return Findings()


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
