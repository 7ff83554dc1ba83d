"""The path that a classifier follows: given and generated domains in order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from driftfit.domains import Domain, DomainSequence, Interpolated, LabelledDomain, is_tensor
from driftfit.errors import InputError
from driftfit.methods.plans import Coupled
from driftfit.seeds import derive_seed
from driftfit.transport import Plan, wasserstein

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

    Parameters
    ----------
    coupled : Coupled
        The domains, in the space to generate in, and the plans between them.
    n_generated : int
        Domains strictly between two neighbours; with 0 the plans only measure the shifts.

    Examples
    --------
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
