"""Is this shift gradual enough for this model? Asked before adapting, without a single target label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.selection.moves import LabelledPoints
from driftfit.selection.proportions import proportion_shift
from driftfit.selection.same_law import same_laws
from driftfit.selection.step_check import Halves, StepCheck, measure_step
from driftfit.selection.verdict import Verdict, advise
from driftfit.selection.view import PathView

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
