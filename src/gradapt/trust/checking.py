"""Is this shift gradual enough for this model? Asked before adapting, without a single target label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradapt.domains import Domain, DomainSequence
from gradapt.errors import InputError
from gradapt.trust.proportions import proportion_shift
from gradapt.trust.step_check import StepCheck, measure_step
from gradapt.trust.verdict import Verdict, judge
from gradapt.trust.view import PathView, walk

__all__ = ["check"]

# Times that the source is split to see how large a shift it shows against itself.
_SPLITS = 10
# Fewer cannot be split into halves that say anything.
_FEWEST_SAMPLES = 10


def check(sequence: DomainSequence, model: Any, *, seed: int = 0) -> Verdict:
    """Look at a path of domains with a model's eyes and advise what to do.

    The model is trained on two thirds of the source and led along the path by plain self-training, once;
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
    >>> from gradapt.datasets.toy import moving_gaussians
    >>> print(check(moving_gaussians((0, 0.5, 1.0, 1.5)), LogisticRegression()).advice.value)
    adapt
    >>> print(check(moving_gaussians((0, 3)), LogisticRegression()).advice.value)
    generate domains between these two
    """
    for domain in sequence:
        _check_size(domain)
    view = PathView.of(sequence, model, seed)
    domains = list(view.sequence)
    features = [view.features(number) for number in range(len(domains))]
    learners = walk(view.learner, domains[1:])
    steps = []
    from_source = []
    labels = view.codes
    for number in range(1, len(domains)):
        # The teacher of this step labels both sides; on the source the true labels are known.
        teacher = learners[number - 1]
        if number > 1:
            labels = _labels(teacher, domains[number - 1].samples)
        arrived = _labels(teacher, domains[number].samples)
        names = (domains[number - 1].name, domains[number].name)
        steps.append(_measured(view, features[number - 1], labels, features[number], arrived, names))
        seen = _labels(view.learner, domains[number].samples)
        names = (domains[0].name, domains[number].name)
        from_source.append(_measured(view, features[0], view.codes, features[number], seen, names))
        if not np.isfinite(from_source[-1].drift):
            raise InputError(
                f"no class has enough samples in both {names[0]!r} and {names[1]!r} to measure its shift; "
                "the check needs about ten of some class in every domain: widen the windows"
            )
    length, direct = sum(step.shift for step in steps), from_source[-1].shift
    return judge(
        tuple(steps),
        tuple(from_source),
        _noise_drift(view, features[0]),
        tuple(proportion_shift(view, number) for number in range(1, len(domains))),
        length / direct if direct > 0 else float("nan"),
    )


def _check_size(domain: Domain) -> None:
    if len(domain) < _FEWEST_SAMPLES:
        raise InputError(
            f"domain {domain.name!r} has {len(domain)} samples; the check needs at least {_FEWEST_SAMPLES} in every "
            "domain: widen its window"
        )


def _measured(
    view: PathView,
    before: NDArray[np.float64],
    before_codes: NDArray[np.int64],
    after: NDArray[np.float64],
    after_codes: NDArray[np.int64],
    names: tuple[str, str],
) -> StepCheck:
    return measure_step(before, before_codes, after, after_codes, view.n_classes, names=names, seed=view.seed)


def _noise_drift(view: PathView, features: NDArray[np.float64]) -> float:
    """The largest drift that random halves of the source show against each other."""
    predicted = _labels(view.learner, view.sequence.source.samples)
    drifts = [0.0]
    for split in range(_SPLITS):
        order = view.rng("noise", split).permutation(len(features))
        one, two = order[::2], order[1::2]
        step = _measured(view, features[one], view.codes[one], features[two], predicted[two], ("", ""))
        if np.isfinite(step.drift):
            drifts.append(step.drift)
    return float(max(drifts))


def _labels(learner: Any, samples: Any) -> NDArray[np.int64]:
    return np.asarray(learner.logits(samples).argmax(axis=1))
