"""Lead a model along the windows: the four methods on one path, with plans made between samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from gradapt.adapt import Adaptation, GradualSelfTraining, Path, StepRecord, generate_path
from gradapt.adapt.records import OnStep
from gradapt.domains import DomainSequence
from gradapt.learners import Learner
from gradapt.runs.settings import Method, Settings
from gradapt.trust import Verdict

__all__ = ["Led", "choose_generated", "lead", "train"]

# Generated steps move a typical class by at most this share of its margin, where the number is left open.
_STEP_RATIO = 0.25
_MOST_GENERATED = 8


@dataclass(frozen=True, eq=False)
class Led:
    """An adaptation with the path it took.

    Attributes
    ----------
    path : Path
        In the space of the encoder.
    adaptation : Adaptation
    students : dict
        The model after each given window, by the window's number.
    """

    path: Path
    adaptation: Adaptation
    students: dict[int, Learner]


def choose_generated(verdict: Verdict, settings: Settings) -> int:
    """Domains between two neighbours: as asked, or enough that every step is small for the model."""
    if settings.method is not Method.GOAT:
        return 0
    if settings.n_generated is not None:
        return settings.n_generated
    ratio = max((step.ratio for step in verdict.steps if np.isfinite(step.ratio)), default=1.0)
    return min(max(ceil(ratio / _STEP_RATIO) - 1, 1), _MOST_GENERATED)


def train(template: Learner, sequence: DomainSequence) -> Learner:
    """The source model."""
    source = sequence.source
    assert source.labels is not None
    return template.fit(source.samples, np.searchsorted(template.classes, source.labels))


def lead(
    learner: Learner,
    training: DomainSequence,
    sample: DomainSequence,
    settings: Settings,
    n_generated: int,
    on_step: OnStep | None = None,
) -> Led:
    """Adapt a trained learner; its encoder stays as it was trained on the source.

    Domains are generated between the samples; at each real window the student learns from all training rows.
    """
    if settings.method is Method.DIRECT:
        training = DomainSequence([training.source, training.target])
        sample = DomainSequence([sample.source, sample.target])
    small = _encoded(learner, sample)
    path = generate_path(small, n_generated)
    path = _with_all_rows(path, _encoded(learner, training))
    if settings.method is Method.SOURCE:
        return Led(path, Adaptation(learner, ()), {})
    students: dict[int, Learner] = {}

    def watch(record: StepRecord, head: Learner) -> None:
        whole = learner.with_head(head)
        if not record.generated:
            students[len(students) + 1] = whole
        if on_step is not None:
            on_step(record, whole)

    adapted = GradualSelfTraining().adapt(learner.head(), path, watch)
    return Led(path, Adaptation(learner.with_head(adapted.learner), adapted.records, path.plans), students)


def _encoded(learner: Learner, sequence: DomainSequence) -> DomainSequence:
    return DomainSequence([domain.with_samples(learner.encode(domain.samples)) for domain in sequence.masked()])


def _with_all_rows(path: Path, full: DomainSequence) -> Path:
    """The path with every real window replaced by all of its training rows."""
    real = iter(full[1:])
    steps = [step if step.generated else replace(step, domain=next(real).without_labels()) for step in path.steps]
    return Path(full.source, tuple(steps), path.plans)
