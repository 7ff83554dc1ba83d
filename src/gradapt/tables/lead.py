"""Lead a model along the windows: the four methods on one path, with plans made between samples."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gradapt.domains import DomainSequence
from gradapt.learners import Learner
from gradapt.methods import Adaptation, GradualSelfTraining, Path, StepRecord, generate_path, make_plans
from gradapt.methods.records import OnStep
from gradapt.tables.settings import Method, Settings
from gradapt.transport import Plan

__all__ = ["Ground", "Led", "lead", "make_ground"]


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


@dataclass(frozen=True, eq=False)
class Ground:
    """What every number of generated domains shares: samples and training rows behind the encoder, and plans.

    Attributes
    ----------
    small, full : DomainSequence
    plans : tuple of Plan or None
        Between neighbours of ``small``; None: made where they are needed.
    """

    small: DomainSequence
    full: DomainSequence
    plans: tuple[Plan, ...] | None = None


def make_ground(learner: Learner, training: DomainSequence, sample: DomainSequence) -> Ground:
    """Encode once and make all plans once, for several calls of `lead`."""
    small = _encoded(learner, sample)
    return Ground(small, _encoded(learner, training), make_plans(small))


def lead(
    learner: Learner,
    training: DomainSequence,
    sample: DomainSequence,
    settings: Settings,
    n_generated: int,
    on_step: OnStep | None = None,
    ground: Ground | None = None,
) -> Led:
    """Adapt a trained learner; its encoder stays as it was trained on the source.

    Domains are generated between the samples; at each real window the student learns from all training rows.
    ``ground`` is what `make_ground` made of the same arguments, where several numbers are tried.
    """
    if settings.method is Method.DIRECT:
        training = DomainSequence([training.source, training.target])
        sample = DomainSequence([sample.source, sample.target])
    if ground is None:
        ground = Ground(_encoded(learner, sample), _encoded(learner, training))
    path = _with_all_rows(generate_path(ground.small, n_generated, plans=ground.plans), ground.full)
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
