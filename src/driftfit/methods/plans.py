"""Plans between neighbouring domains, the path along them, and the workspace in which candidates share both."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.domains import Domain, DomainSequence, Interpolated, LabelledDomain, is_tensor, take_rows
from driftfit.errors import InputError
from driftfit.models import Learner
from driftfit.seeds import derive_seed
from driftfit.transport import Plan, Problem, Solver, SquaredEuclidean, solve, wasserstein
from driftfit.transport.cutoffs import Cutoff

# Entries of a plan whose displacements are formed at a time.
_BLOCK = 65_536


@dataclass(frozen=True, eq=False)
class Coupled:
    """Domains and the plans between neighbours; made once, whatever the number of generated domains.

    ``domains``: whole. ``samples``: what the plans couple: the domains, or a sample of each. ``shifts``: root mean
    square distance that each plan moves its mass.
    """

    domains: DomainSequence
    samples: DomainSequence
    plans: tuple[Plan, ...]
    shifts: tuple[float, ...]

    def carried(self, classes: NDArray[Any] | None = None) -> NDArray[np.float64]:
        """Share of each source class that the plans carry to each coupled sample of the target."""
        return carry_labels(self.samples.source, self.plans, classes)


@dataclass(frozen=True)
class Transport:
    """How neighbouring domains are coupled.

    Parameters
    ----------
    solver : Solver, optional
        Such as ``Sinkhorn(epsilon=0.05)``; exact by default.
    cost : Cost or callable, optional
        Squared Euclidean by default.
    cutoffs : sequence of Cutoff
        Applied to every plan in turn, such as ``(SmallValueCutoff(),)`` after Sinkhorn.
    max_samples : int, optional
        Plans are made between at most so many samples of each domain; generated domains then
        have as many, while real domains stay whole.
    seed : int
        Draws these samples.
    certified : bool
        Prove a bound on the cost of each plan, which is a pass over all pairs.

    Examples
    --------
    >>> sequence = DomainSequence([Domain([[0.0], [1.0]], [0, 1]), Domain([[5.0], [4.0]])])
    >>> coupled = Transport().couple(sequence)
    >>> coupled.plans[0].cols.tolist(), coupled.shifts, coupled.carried().tolist()
    ([1, 0], (4.0,), [[0.0, 1.0], [1.0, 0.0]])
    """

    solver: Solver | None = None
    cost: Any = None
    cutoffs: tuple[Cutoff, ...] = ()
    max_samples: int | None = None
    seed: int = 0
    certified: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "cutoffs", tuple(self.cutoffs))
        if self.max_samples is not None and self.max_samples < 2:
            raise InputError(f"max_samples must be at least 2, or None for all, got {self.max_samples!r}")

    def couple(self, sequence: DomainSequence) -> Coupled:
        """Make the plans. Only the source's labels are looked at, and only by a cutoff that asks for them."""
        samples = sequence.each(self.sampled)
        shares = samples.source.one_hot()
        plans, shifts = [], []
        for before, after in pairwise(samples):
            problem = Problem.of(before.matrix(), after.matrix(), before.weights, after.weights, self.cost)
            plan = solve(problem, self.solver, certified=self.certified)
            for cutoff in self.cutoffs:
                plan = cutoff.apply(plan, shares)
            shares = plan.carry(shares)
            plans.append(plan)
            shifts.append(self._displacement(before, after, plan))
        return Coupled(sequence, samples, tuple(plans), tuple(shifts))

    def sampled(self, domain: Domain) -> Domain:
        """What the plans couple of a domain."""
        return domain.subsample(self.max_samples, derive_seed(self.seed, "transport", domain.name))

    def _displacement(self, before: Domain, after: Domain, plan: Plan) -> float:
        """Root mean square distance that the plan moves mass, whatever cost it was made for."""
        if self.cost is None or isinstance(self.cost, SquaredEuclidean):
            return float(np.sqrt(max(plan.cost, 0.0)))
        squared = 0.0
        x0, x1 = before.matrix(), after.matrix()
        for start in range(0, len(plan), _BLOCK):
            part = slice(start, start + _BLOCK)
            difference = take_rows(x0, plan.rows[part]) - take_rows(x1, plan.cols[part])
            squares = difference.multiply(difference) if hasattr(difference, "tocsr") else difference**2
            squared += float(plan.mass[part] @ np.asarray(squares.sum(axis=1), dtype=np.float64).ravel())
        return float(np.sqrt(squared))


def carry_labels(
    source: LabelledDomain, plans: Sequence[Plan], classes: NDArray[Any] | None = None
) -> NDArray[np.float64]:
    """Share of each source class that a chain of plans carries to each row of its last domain, of shape (n, K).

    A row that lost all of its mass to a cutoff has zeros. ``classes`` are those of the
    source, sorted, unless a model knows more of them.

    >>> source, target = LabelledDomain([[0.0], [5.0]], ["a", "b"]), Domain([[6.0], [1.0]])
    >>> carry_labels(source, Transport().couple(DomainSequence([source, target])).plans).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    shares = source.one_hot(classes)
    for plan in plans:
        shares = plan.carry(shares)
    return shares


# Shifts between given domains are measured on at most this many samples of each.
_SHIFT_SAMPLES = 2_000


@dataclass(frozen=True, eq=False)
class PathStep:
    """One domain on the way, where it lies, and how far it is from the one before."""

    domain: Domain
    position: float
    generated: bool
    shift: float | None


@dataclass(frozen=True, eq=False)
class Path:
    """The source, then the steps to the target; plans where domains were generated."""

    source: LabelledDomain
    steps: tuple[PathStep, ...]
    plans: tuple[Plan, ...] = ()

    @property
    def domains(self) -> DomainSequence:
        """All domains of the path, source first."""
        return DomainSequence([self.source, *(step.domain for step in self.steps)])


def given_path(sequence: DomainSequence, *, measure_shift: bool = True) -> Path:
    """The given domains as they are; shifts are estimated on at most 2,000 samples a side."""
    steps = []
    n_pairs = len(sequence) - 1
    for number, (before, domain) in enumerate(pairwise(sequence), start=1):
        shift = _estimated_shift(before, domain) if measure_shift else None
        steps.append(PathStep(domain.without_labels(), number / n_pairs, False, shift))
    return Path(sequence.source, tuple(steps))


def generate_path(coupled: Coupled, n_generated: int) -> Path:
    """Fill the gap between each two neighbouring domains along the Wasserstein geodesic.

    Between neighbours ``n_generated`` domains are placed at ``t / (n_generated + 1)``,
    followed by the real neighbour itself (Algorithm 1 of the paper, for every pair).

    ``coupled``: the domains, in the space to generate in, and the plans between them. ``n_generated``: domains strictly
    between two neighbours; with 0 the plans only measure the shifts.

    >>> from driftfit.methods.plans import Transport
    >>> sequence = DomainSequence([Domain([[0.0], [1.0]], [0, 1]), Domain([[4.0], [5.0]])])
    >>> path = generate_path(Transport().couple(sequence), 3)
    >>> [step.position for step in path.steps], path.steps[0].domain.samples.ravel().tolist()
    ([0.25, 0.5, 0.75, 1.0], [1.0, 2.0])
    """
    check_n_generated(n_generated)
    n_pairs = len(coupled.plans)
    steps: list[PathStep] = []
    for number, (before, after) in enumerate(pairwise(coupled.samples)):
        # On the geodesic equal steps in position are equal steps in Wasserstein distance.
        shift = coupled.shifts[number] / (n_generated + 1)
        for k in range(1, n_generated + 1):
            t = k / (n_generated + 1)
            domain = _between(before, after, coupled.plans[number], t)
            steps.append(PathStep(domain, (number + t) / n_pairs, True, shift))
        real = coupled.domains[number + 1].without_labels()
        steps.append(PathStep(real, (number + 1) / n_pairs, False, shift))
    return Path(coupled.domains.source, tuple(steps), coupled.plans if n_generated else ())


def check_n_generated(number: int) -> None:
    """Raise unless it is a number of domains."""
    if not isinstance(number, int | np.integer) or isinstance(number, bool) or number < 0:
        raise InputError(f"n_generated must be a whole number >= 0, got {number!r}")


def _between(before: Domain, after: Domain, plan: Plan, position: float) -> Domain:
    samples = Interpolated.of(before.matrix(), after.matrix(), plan.rows, plan.cols, position)
    name = f"{before.name}>{after.name}@{position:.2f}"
    # On a device rows are formed when a batch asks for them; elsewhere models want them all at once.
    return Domain(samples if is_tensor(samples.x0) else samples.whole(), weights=plan.mass, name=name)


def _estimated_shift(before: Domain, after: Domain) -> float | None:
    try:
        (x0, w0), (x1, w1) = (_sample(domain) for domain in (before, after))
    except InputError:
        return None  # words and missing values have no distance of their own
    return wasserstein(x0, x1, 2.0, w0, w1)


def _sample(domain: Domain) -> tuple[object, object]:
    small = domain.subsample(_SHIFT_SAMPLES, derive_seed(domain.name, "shift"))
    return small.matrix(), small.weights


class Workspace:
    """Encoded domains and plans by what they were made of.

    Every method makes its own unless it is handed one: then methods that run on the same
    learner and the same domains do their common work once.

    ``max_bytes``: the oldest encoded domains are dropped when all take more than this.

    >>> sequence = DomainSequence([Domain([[0.0], [1.0]], [0, 1]), Domain([[5.0], [4.0]])])
    >>> work = Workspace()
    >>> work.coupled(sequence, Transport()) is work.coupled(sequence, Transport())
    True
    """

    def __init__(self, max_bytes: int | None = None) -> None:
        self.max_bytes = max_bytes
        # Keys are identities; what they belong to is kept along, so that no identity is given away twice.
        self._encoded: dict[tuple[int, int], tuple[Learner, Domain, Domain]] = {}
        self._coupled: dict[Hashable, tuple[DomainSequence, Transport, Coupled]] = {}

    def __getstate__(self) -> dict[str, Any]:
        # Features that are larger than what they were made of are made anew there: that is faster than to send them.
        encoded = [own for own in self._encoded.values() if _bytes(own[2]) <= _bytes(own[1])]
        gone = {id(own[2]) for own in self._encoded.values()} - {id(own[2]) for own in encoded}
        coupled = [own for own in self._coupled.values() if not any(id(domain) in gone for domain in own[0])]
        # In another process everything has another identity.
        return {"max_bytes": self.max_bytes, "kept": (encoded, coupled)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.max_bytes = state["max_bytes"]
        encoded, coupled = state["kept"]
        self._encoded = {(id(own[0]), id(own[1])): own for own in encoded}
        self._coupled = {_key(own[0], own[1]): own for own in coupled}

    def domains(self, learner: Learner, sequence: DomainSequence, *, feature_space: bool) -> DomainSequence:
        """The domains in the space to couple in, without labels but the source's."""
        return self.encoded(learner, sequence) if feature_space else sequence.masked()

    def encoded(self, learner: Learner, sequence: DomainSequence) -> DomainSequence:
        """The domains in the space of the learner's encoder, without labels but the source's."""
        return sequence.masked().each(lambda domain: self.encoded_domain(learner, domain))

    def encoded_domain(self, learner: Learner, domain: Domain) -> Domain:
        """One domain in the space of the learner's encoder."""
        key = (id(learner), id(domain))
        if key in self._encoded:
            # Put behind the others: the one used longest ago is dropped first.
            self._encoded[key] = self._encoded.pop(key)
        else:
            features = domain.with_samples(learner.encode(domain.samples))
            self._make_room(features)
            self._encoded[key] = (learner, domain, features)
        return self._encoded[key][2]

    def coupled(self, sequence: DomainSequence, transport: Transport) -> Coupled:
        """The plans between neighbours of a sequence."""
        key = _key(sequence, transport)
        if key not in self._coupled:
            self._coupled[key] = (sequence, transport, transport.couple(sequence))
        return self._coupled[key][2]

    def path(
        self, sequence: DomainSequence, transport: Transport, n_generated: int, *, measure_shift: bool = True
    ) -> Path:
        """Given and generated domains in order.

        With nothing to generate no plan is needed; one that somebody has made still measures the shifts.
        """
        if n_generated or _key(sequence, transport) in self._coupled:
            return generate_path(self.coupled(sequence, transport), n_generated)
        return given_path(sequence, measure_shift=measure_shift)

    def _make_room(self, domain: Domain) -> None:
        if self.max_bytes is None:
            return
        while self._encoded and _bytes(domain) + sum(_bytes(kept) for *_, kept in self._encoded.values()) > (
            self.max_bytes
        ):
            dropped = self._encoded.pop(next(iter(self._encoded)))[2]
            for key in [key for key, (known, *_) in self._coupled.items() if any(d is dropped for d in known)]:
                del self._coupled[key]


def _key(sequence: DomainSequence, transport: Transport) -> Hashable:
    domains = tuple(id(domain) for domain in sequence)
    try:
        hash(transport)
    except TypeError:
        return domains, id(transport)  # a cost or solver that holds an array
    return domains, transport


def _bytes(domain: Domain) -> int:
    samples: Any = domain.samples
    return int(getattr(samples, "nbytes", 0) or getattr(getattr(samples, "data", None), "nbytes", 0) or 0)
