"""The path that a classifier is led along: given and generated domains in order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradapt.domains import Domain, DomainSequence
from gradapt.errors import InputError
from gradapt.seeds import derive_seed
from gradapt.transport import Plan, Solver, interpolate, transport, wasserstein
from gradapt.transport.cutoffs import Cutoff

__all__ = ["Path", "PathStep", "generate_path", "given_path", "make_plans"]

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

    source: Domain
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


def make_plans(
    sequence: DomainSequence,
    *,
    solver: Solver | None = None,
    cost: Any = None,
    cutoffs: tuple[Cutoff, ...] = (),
) -> tuple[Plan, ...]:
    """The plans between neighbours; they are the same for every number of generated domains.

    Parameters are those of `generate_path`.

    Examples
    --------
    >>> plans = make_plans(DomainSequence([Domain([[0.0], [1.0]], [0, 1]), Domain([[5.0], [4.0]])]))
    >>> plans[0].rows.tolist(), plans[0].cols.tolist()
    ([0, 1], [1, 0])
    """
    label_scores = _one_hot(sequence.source)
    plans = []
    for before, after in pairwise(sequence):
        plan = transport(before.samples, after.samples, before.weights, after.weights, solver, cost=cost)
        for cutoff in cutoffs:
            plan = cutoff.apply(plan, label_scores)
        label_scores = plan.push(label_scores)
        plans.append(plan)
    return tuple(plans)


def generate_path(
    sequence: DomainSequence,
    n_generated: int,
    *,
    solver: Solver | None = None,
    cost: Any = None,
    cutoffs: tuple[Cutoff, ...] = (),
    plans: tuple[Plan, ...] | None = None,
) -> Path:
    """Fill the gap between each two neighbouring domains along the Wasserstein geodesic.

    Between neighbours ``n_generated`` domains are placed at ``t / (n_generated + 1)``,
    followed by the real neighbour itself (Algorithm 1 of the paper, for every pair).

    Parameters
    ----------
    sequence : DomainSequence
        In the space to generate in. Only the source's labels are looked at, and only by a
        cutoff that asks for them; further pairs use the labels carried along the plans.
    n_generated : int
        Domains strictly between two neighbours; 0 gives the given domains alone.
    solver, cost
        As for `transport`.
    cutoffs : tuple of Cutoff
        Applied to every plan in turn.
    plans : tuple of Plan, optional
        What `make_plans` made of this sequence before; ``solver``, ``cost`` and ``cutoffs``
        then have no effect. With nothing to generate they only measure the shifts.

    Examples
    --------
    >>> path = generate_path(DomainSequence([Domain([[0.0], [1.0]], [0, 1]), Domain([[4.0], [5.0]])]), 3)
    >>> [step.position for step in path.steps], path.steps[0].domain.samples.ravel().tolist()
    ([0.25, 0.5, 0.75, 1.0], [1.0, 2.0])
    """
    if not isinstance(n_generated, int | np.integer) or isinstance(n_generated, bool) or n_generated < 0:
        raise InputError(f"n_generated must be a whole number >= 0, got {n_generated!r}")
    if n_generated == 0 and plans is None:
        return given_path(sequence)
    if plans is None:
        plans = make_plans(sequence, solver=solver, cost=cost, cutoffs=cutoffs)
    n_pairs = len(sequence) - 1
    if len(plans) != n_pairs:
        raise InputError(f"{len(sequence)} domains need {n_pairs} plans, one for each two neighbours; got {len(plans)}")
    steps: list[PathStep] = []
    for number, ((before, after), plan) in enumerate(zip(pairwise(sequence), plans, strict=True)):
        steps += _steps_between(before, after, plan, n_generated, number, n_pairs)
    return Path(sequence.source, tuple(steps), plans if n_generated else ())


def _steps_between(
    before: Domain, after: Domain, plan: Plan, n_generated: int, number: int, n_pairs: int
) -> list[PathStep]:
    # On the geodesic equal steps in position are equal steps in Wasserstein distance.
    shift = max(_displacement(before, after, plan), 0.0) / (n_generated + 1)
    steps = []
    for k in range(1, n_generated + 1):
        t = k / (n_generated + 1)
        samples, mass = interpolate(before.samples, after.samples, plan, t)
        domain = Domain(samples, weights=mass, name=f"{before.name}>{after.name}@{t:.2f}")
        steps.append(PathStep(domain, (number + t) / n_pairs, True, shift))
    steps.append(PathStep(after.without_labels(), (number + 1) / n_pairs, False, shift))
    return steps


def _displacement(before: Domain, after: Domain, plan: Plan) -> float:
    """Root mean square distance that the plan moves mass, whatever cost it was made for."""
    squared = 0.0
    for start in range(0, len(plan), 65_536):
        part = slice(start, start + 65_536)
        difference = before.samples[plan.rows[part]] - after.samples[plan.cols[part]]
        squares = difference.multiply(difference) if hasattr(difference, "multiply") else np.square(difference)
        squared += float(plan.mass[part] @ np.asarray(squares.sum(axis=1), dtype=np.float64).ravel())
    return float(np.sqrt(squared))


def _one_hot(source: Domain) -> NDArray[np.float64]:
    assert source.labels is not None
    classes, codes = np.unique(source.labels, return_inverse=True)
    return np.asarray(np.eye(len(classes))[codes])


def _estimated_shift(before: Domain, after: Domain) -> float | None:
    clouds = [_subsample(domain) for domain in (before, after)]
    if any(samples is None for samples, _ in clouds):
        return None
    (x0, w0), (x1, w1) = clouds
    return wasserstein(x0, x1, 2.0, w0, w1)


def _subsample(domain: Domain) -> tuple[Any, Any]:
    samples = domain.samples
    if not hasattr(samples, "dtype") or samples.dtype.kind != "f":
        return None, None  # a frame with other than numeric columns has no distance of its own
    if hasattr(samples, "reshape") and samples.ndim > 2:
        samples = samples.reshape(len(samples), -1)
    if not np.isfinite(getattr(samples, "data", samples)).all():
        return None, None
    if samples.shape[0] <= _SHIFT_SAMPLES:
        return samples, domain.weights
    rng = np.random.default_rng(derive_seed(domain.name, "shift"))
    rows = np.sort(rng.choice(samples.shape[0], _SHIFT_SAMPLES, replace=False))
    return samples[rows], None if domain.weights is None else domain.weights[rows]
