"""`Verdict`: whether to adapt, why, and the numbers behind it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.selection.moves import LabelledPoints
from driftfit.selection.same_law import ProportionShift, SameLaw, proportion_shift, same_laws
from driftfit.selection.step_check import Halves, StepCheck, measure_step
from driftfit.selection.view import PathView

# A quarter of the margin: such a shift is not worth following, however sure it is.
_NEGLIGIBLE_DRIFT = 0.25**2
# A step is too large when some class moves as far as its margin.
_LARGEST_RATIO = 1.0
# More samples than this beyond noise and margin: part of the domain came from nowhere.
_LARGEST_JUMPED = 0.05
# A plan that carries most of its mass across classes mixes the classes of generated domains.
_LARGEST_CROSSING = 0.5
# Nor can a plan follow classes that it mixes where nothing moves, in shares of what a coupling at random mixes. From
# design seeds of real data: 0.5 to 0.9 on Elec2, storms and union, where generated domains lose up to 30 points (and on
# Cover Type, where they win), at most 0.3 on digits, Rotated MNIST and Portraits.
_LARGEST_MIXING = 0.4
# Share of samples that may change class in one step.
_LARGEST_PROPORTION_CHANGE = 0.2
# A step this many times the median of the others is pointed out.
_UNEVEN = 3.0


class Advice(Enum):
    """What to do."""

    ADAPT = "adapt"
    GENERATE = "generate domains between these two"
    GET_LABELS = "get labels here"
    DO_NOT_ADAPT = "do not adapt"


@dataclass(frozen=True)
class Verdict:
    """Answer of `driftfit.selection.check`.

    ``reasons``: in words, the deciding one first. ``where``: the two domains that the advice is about; None where it is
    about the whole path. ``steps``: each step along the path. ``from_source``: each domain against the source, seen by
    the source model. ``laws``: tests of each domain against the source, corrected for their number: is it the source
    again, or the source's classes in other proportions? ``proportions``: class proportions of each domain after the
    source. ``detour``: length of the path over the direct distance; NaN where source and target do not differ.
    """

    advice: Advice
    reasons: tuple[str, ...]
    where: tuple[str, str] | None
    steps: tuple[StepCheck, ...]
    from_source: tuple[StepCheck, ...]
    laws: tuple[SameLaw, ...]
    proportions: tuple[ProportionShift, ...]
    detour: float

    @property
    def trusted(self) -> bool:
        """Whether the path can be adapted along as it is."""
        return self.advice is Advice.ADAPT

    @property
    def even(self) -> bool:
        """Whether the way is spread over several steps, and none of them is most of it."""
        return len(self.steps) > 2 and _uneven_step(self.steps) is None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; numbers that are not known are None."""
        plain: dict[str, Any] = {
            "advice": self.advice.value,
            "trusted": self.trusted,
            "reasons": list(self.reasons),
            "where": None if self.where is None else list(self.where),
            "detour": self.detour,
            "laws": [asdict(law) for law in self.laws],
            "steps": [asdict(step) for step in self.steps],
            "from_source": [asdict(step) for step in self.from_source],
            "proportions": [asdict(shift) for shift in self.proportions],
        }
        return {key: _without_nan(value) for key, value in plain.items()}

    def __str__(self) -> str:
        head = self.advice.value
        if self.where is not None:
            head += f": {self.where[0]} -> {self.where[1]}"
        return "\n".join([head, *(f"  - {reason}" for reason in self.reasons)])


def advise(
    steps: tuple[StepCheck, ...],
    from_source: tuple[StepCheck, ...],
    laws: tuple[SameLaw, ...],
    proportions: tuple[ProportionShift, ...],
    detour: float,
) -> Verdict:
    """Turn the measurements into advice."""
    advice, where, reason = _decide(steps, from_source, laws, proportions)
    reasons = (reason, *_remarks(steps, detour))
    return Verdict(advice, reasons, where, steps, from_source, laws, proportions, detour)


def _decide(
    steps: tuple[StepCheck, ...],
    from_source: tuple[StepCheck, ...],
    laws: tuple[SameLaw, ...],
    proportions: tuple[ProportionShift, ...],
) -> tuple[Advice, tuple[str, str] | None, str]:
    if all(_stays(domain, law) for domain, law in zip(from_source, laws, strict=True)):
        return Advice.DO_NOT_ADAPT, None, _why_nothing_to_gain(from_source, laws, proportions)
    for step in steps:
        found = trouble(step)
        if found is not None:
            return found[0], (step.before, step.after), found[1]
    unknown = next((step for step in (*steps, *from_source) if not np.isfinite(step.drift)), None)
    if unknown is not None:
        return (
            Advice.GET_LABELS,
            (unknown.before, unknown.after),
            f"how far classes move from {unknown.before} to {unknown.after} cannot be measured: no class has enough "
            "samples in both, the model answers one class only, or samples of different classes are equal",
        )
    largest = max(steps, key=lambda step: step.largest_ratio)
    return (
        Advice.ADAPT,
        None,
        f"every step is small for this model: in the largest, {largest.before} -> {largest.after}, a typical class "
        f"moves by {largest.ratio:.2f} of its margin and {_worst(largest)} by {largest.largest_ratio:.2f}, and no part "
        "of a domain comes from nowhere",
    )


def _stays(domain: StepCheck, law: SameLaw) -> bool:
    """Nothing but noise, nothing but proportions, or too little to follow."""
    little = domain.drift <= _NEGLIGIBLE_DRIFT and domain.jumped <= _LARGEST_JUMPED
    return law.classes_stay or (little and domain.largest_ratio < _LARGEST_RATIO)


def _worst(step: StepCheck) -> str:
    return f"the class {step.worst_class!r}" if step.worst_class else "the worst"


def _why_nothing_to_gain(
    from_source: tuple[StepCheck, ...], laws: tuple[SameLaw, ...], proportions: tuple[ProportionShift, ...]
) -> str:
    if all(law.same for law in laws):
        return (
            "no domain differs from the source by more than sampling noise (smallest p-value, corrected for the number "
            f"of domains: {min(law.p_same for law in laws):.2g}): the source model is as good as any"
        )
    if not all(law.classes_stay for law in laws):
        return "what moves, moves by less than a quarter of the margin: not worth following"
    most = max(range(len(laws)), key=lambda number: proportions[number].distance)
    return (
        f"the classes stay where they are and only their proportions move (by {100 * proportions[most].distance:.0f} % "
        f"of the samples in {from_source[most].after}): self-training has nothing to follow and may lose the rare "
        "classes; reweight the source model instead"
    )


def trouble(step: StepCheck) -> tuple[Advice, str] | None:
    """What no path can mend comes first: whatever the size of the step, it asks for labels."""
    if step.jumped > _LARGEST_JUMPED:
        return Advice.GET_LABELS, (
            f"{100 * step.jumped:.0f} % of the samples lie far from everything before, and have come much further than "
            "the rest of their class: not a gradual shift, and no path goes there"
        )
    if step.proportion_change > _LARGEST_PROPORTION_CHANGE:
        return Advice.GET_LABELS, (
            f"the share of classes jumps by {100 * step.proportion_change:.0f} % of the samples in a step that also "
            "moves the classes: pseudo-labels cannot tell the two apart"
        )
    if step.largest_ratio >= _LARGEST_RATIO:
        moved = f"{_worst(step)} moves by {step.largest_ratio:.1f} times its margin (a typical one by {step.ratio:.1f})"
        crossing = (
            f"{100 * step.excess_crossing:.0f} % of the plan's mass joins different classes beyond the "
            f"{100 * step.crossing_noise:.0f} % that noise gives"
        )
        if step.mixing > _LARGEST_MIXING:
            return Advice.GET_LABELS, (
                f"{moved}, too far for one step, and a plan knows little of the classes: even between two halves of "
                f"one domain it joins different ones for {100 * step.crossing_noise:.0f} % of its mass "
                f"({100 * step.crossing_chance:.0f} % at random), and domains generated on such a plan would mix them"
            )
        if step.excess_crossing < _LARGEST_CROSSING:
            return Advice.GENERATE, f"{moved}, too far for one step; {crossing}, so domains on the geodesic can help"
        return Advice.GET_LABELS, f"{moved} and {crossing}: domains generated on such a plan would mix the classes"
    return None


def _remarks(steps: tuple[StepCheck, ...], detour: float) -> list[str]:
    remarks = []
    found = _uneven_step(steps)
    if found is not None:
        step, times = found
        remarks.append(f"the step {step.before} -> {step.after} is {times:.1f} times as large as the others")
    if np.isfinite(detour) and detour >= max(len(steps), 2):
        remarks.append(
            f"the path is {detour:.1f} times as long as the direct way: check that the domains are in the right order"
        )
    return remarks


def _uneven_step(steps: tuple[StepCheck, ...]) -> tuple[StepCheck, float] | None:
    """The step that is much larger than the others, and how many times, where there is one."""
    shifts = np.array([step.shift for step in steps])
    if len(steps) < 3:
        return None
    largest = int(np.argmax(shifts))
    others = float(np.median(np.delete(shifts, largest)))
    if shifts[largest] <= _UNEVEN * others:
        return None
    return steps[largest], float(shifts[largest] / others) if others > 0 else float("inf")


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


# Fewer cannot be split into halves that say anything.
FEWEST_SAMPLES = 10


def check(sequence: DomainSequence, model: Any, *, seed: int = 0) -> Verdict:
    """Say without target labels whether a path of domains is gradual enough for a model, and advise what to do.

    The model is trained on two thirds of the source and adapted along the path by plain self-training, once;
    each step is measured in the feature space of its encoder, with the labels that the student before it gives.
    Labels of any domain but the source are removed first.

    Parameters
    ----------
    sequence : DomainSequence
        Labelled source, unlabelled rest.
    model : classifier or Learner
        A scikit-learn classifier or pipeline, or a learner; cloned and trained anew.
    seed : int

    Returns
    -------
    Verdict

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from driftfit.datasets.toy import moving_gaussians
    >>> print(check(moving_gaussians((0, 0.5, 1.0, 1.5)), LogisticRegression()).advice.value)
    adapt
    >>> print(check(moving_gaussians((0, 3)), LogisticRegression()).advice.value)
    generate domains between these two
    """
    return diagnose(PathView.of(sequence, model, seed))


def diagnose(view: PathView) -> Verdict:
    """`check` on a view that is shared with others; looked at once."""
    return view.once("verdict", lambda: _diagnosed(view))


def _diagnosed(view: PathView) -> Verdict:
    for domain in view.sequence:
        _check_size(domain)
    steps, from_source = [], []
    source = _points(view, 0, view.codes)
    before = source
    for number in range(1, len(view.sequence)):
        # The teacher of this step labels both sides; on the source the true labels are known.
        teacher = view.students[number - 1]
        if number > 1:
            before = _points(view, number - 1, view.predicted(teacher, number - 1))
        after = _points(view, number, view.predicted(teacher, number))
        steps.append(_measured(view, before, after, (number - 1, number)))
        if number == 1:
            from_source.append(steps[0])
        else:
            seen = _points(view, number, view.source_predicted(number))
            from_source.append(_measured(view, source, seen, (0, number)))
    length, direct = sum(step.shift for step in steps), from_source[-1].shift
    return advise(
        tuple(steps),
        tuple(from_source),
        same_laws(view),
        tuple(proportion_shift(view, number) for number in range(1, len(view.sequence))),
        length / direct if direct > 0 else float("nan"),
    )


def _check_size(domain: Domain) -> None:
    if len(domain) < FEWEST_SAMPLES:
        raise InputError(
            f"domain {domain.name!r} has {len(domain)} samples; the check needs at least {FEWEST_SAMPLES} in every "
            "domain: widen its window"
        )


def _points(view: PathView, number: int, codes: NDArray[np.int64]) -> LabelledPoints:
    return LabelledPoints(view.features(number), codes, view.weights(number))


def _measured(view: PathView, before: LabelledPoints, after: LabelledPoints, numbers: tuple[int, int]) -> StepCheck:
    names = (view.sequence[numbers[0]].name, view.sequence[numbers[1]].name)
    halves = [_halves(view, number, points) for number, points in zip(numbers, (before, after), strict=True)]
    return measure_step(
        before,
        after,
        view.n_classes,
        names=names,
        classes=list(view.learner.classes),
        seed=view.seed,
        halves=(halves[0], halves[1]),
    )


def _halves(view: PathView, number: int, points: LabelledPoints) -> Halves:
    """Of a domain, shared by every step that it takes part in: they do not depend on the labels."""
    return view.once(("halves", number), lambda: Halves.of(points, view.seed))
