"""Labels of the target that plans carry or a teacher gives, and a model that learns from them there."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from driftfit.checks import check_weights
from driftfit.domains import Domain, DomainSequence, LabelledDomain, stack_rows
from driftfit.errors import InputError
from driftfit.methods.alignment import OwnScale, dense_matrix
from driftfit.methods.class_proportions import ProportionEstimator
from driftfit.methods.held_out import held_out
from driftfit.methods.method import Adaptation, Assumption, Method, OnStep, StepRecord
from driftfit.methods.plans import Coupled, PathStep, Transport, Workspace
from driftfit.methods.pseudo_labels import PseudoLabels, class_shares, pseudo_label
from driftfit.methods.registry import offer
from driftfit.models import Learner, MixingLearner, as_learner
from driftfit.transport import GromovWasserstein, Mapped


@dataclass(frozen=True)
class Relabelling:
    """After a training, the model's own labels take the place of the carried ones where it is surest; then anew.

    Parameters
    ----------
    n_rounds : int
    share : float
        Of the target samples that the model labels; the others keep the label that was carried.
    """

    n_rounds: int = 1
    share: float = 0.9

    def __post_init__(self) -> None:
        if self.n_rounds < 1:
            raise InputError(f"n_rounds must be at least 1, got {self.n_rounds!r}; leave relabelling out for none")
        if not 0.0 < self.share <= 1.0:
            raise InputError(f"share must lie above 0 and at most at 1, got {self.share!r}")


@dataclass(frozen=True)
class CarriedLabels(Method):
    """Every target sample takes the label that most of its mass came with; no pseudo-label is involved.

    Parameters
    ----------
    transport : Transport
    feature_space : bool
        Couple in the space of the learner's encoder; otherwise in the input space.
    refit : bool
        Train a new model on the target with these labels. Otherwise the source model stays,
        and the labels themselves are the result (`Adaptation.carried`).
    direct : bool
        One plan from the source to the target, whatever is given between; otherwise along the given domains.
    joint : bool
        Train the new model on the source, with its own labels, and the target together.
    mixup : float, optional
        Train on mixtures of two samples and their labels, by shares from ``Beta(mixup, mixup)``, such as 0.5. Networks
        mix anew in each epoch; other classifiers learn from mixtures that are made once, and must take weights.
    relabelling : Relabelling, optional
        Let the model correct the labels it learnt from.
    proportions : ProportionEstimator, optional
        Estimate the class proportions of the target, such as ``ByLikelihood()``, and weigh the source by them before
        the plan is made: a plan moves all mass, so that of a class which shrank would end on samples of others. For a
        plan straight from the source to the target. An estimate that tells nothing (`ProportionEstimate.identifiable`)
        changes nothing.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from driftfit.datasets.toy import moving_gaussians
    >>> from driftfit.models import as_learner
    >>> path = moving_gaussians((0, 2.5))
    >>> learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(path.source.samples, path.source.labels)
    >>> student = CarriedLabels(mixup=0.5, relabelling=Relabelling()).adapt(learner, path).learner
    >>> float((student.logits(path.target.samples).argmax(axis=1) == path.target.labels).mean()) > 0.95
    True
    """

    transport: Transport = field(default_factory=Transport)
    feature_space: bool = True
    refit: bool = True
    direct: bool = False
    joint: bool = False
    mixup: float | None = None
    relabelling: Relabelling | None = None
    proportions: ProportionEstimator | None = None

    @property
    def assumes(self) -> frozenset[Assumption]:
        """By structure: that the cloud was turned as a whole. By position: that the target lies close."""
        return frozenset({Assumption.STRUCTURE if by_structure(self.transport.solver) else Assumption.PATH})

    @property
    def keeps_encoder(self) -> bool:
        return not self.refit

    def __post_init__(self) -> None:
        if self.mixup is not None and not (isfinite(self.mixup) and self.mixup > 0):
            raise InputError(f"mixup must be a finite number > 0, or None for samples as they are, got {self.mixup!r}")
        if not self.refit and (self.joint or self.mixup is not None or self.relabelling is not None):
            raise InputError("refit=False trains no model: leave joint, mixup and relabelling out, or set refit=True")

    def adapt(
        self, learner: Learner, sequence: DomainSequence, on_step: OnStep = None, workspace: Workspace | None = None
    ) -> Adaptation:
        started = time.perf_counter()
        given = sequence.masked()
        source = self._weighed(learner, given)
        coupled = self._coupled(learner, given.ends() if self.direct else given, source, workspace or Workspace())
        carried = coupled.carried(learner.classes)
        if not self.refit:
            return Adaptation(learner, plans=coupled.plans, carried=carried)
        # The samples that the plans reached, as they were before encoding.
        target = self.transport.sampled(given.target)
        step = PathStep(target, 1.0, False, coupled.shifts[-1])
        labels = PseudoLabels(carried.argmax(axis=1), carried, carried.max(axis=1), carried.sum(axis=1) > 0)
        if len(np.unique(labels.labels[labels.kept])) < 2:
            raise InputError("the plans carry a single class to the target; loosen the cutoffs")
        student = learner
        records: list[StepRecord] = []
        for number in range(1 if self.relabelling is None else 1 + self.relabelling.n_rounds):
            if number:
                labels, started = self._relabelled(student, target, labels), time.perf_counter()
                if len(np.unique(labels.labels[labels.kept])) < 2:
                    break  # with one class left there is nothing to learn
            student = self._trained(learner, source, target, labels)
            after = student.logits(target.samples).argmax(axis=1)
            records.append(StepRecord.of(number + 1, step, labels, after, started))
            if on_step is not None:
                on_step(records[-1], student)
        return Adaptation(student, tuple(records), coupled.plans, carried=carried)

    def _coupled(self, learner: Learner, sequence: DomainSequence, source: LabelledDomain, work: Workspace) -> Coupled:
        domains = work.domains(learner, sequence, feature_space=self.feature_space)
        if source is not sequence.source:
            coded = domains.source
            first = LabelledDomain(coded.samples, coded.labels, source.weights, coded.name, coded.allow_missing)
            domains = DomainSequence([first, *domains[1:]])
        return work.coupled(domains, self.transport)

    def _weighed(self, learner: Learner, sequence: DomainSequence) -> LabelledDomain:
        """The source, with the class proportions that the target is estimated to have."""
        source = sequence.source
        if self.proportions is None:
            return source
        if sequence.n_given and not self.direct:
            raise InputError("proportions are those of the target: set direct=True, or leave the given domains out")
        found = self.proportions.estimate(held_out(learner, source), learner.logits(sequence.target.samples))
        if not found.identifiable:
            return source
        codes = source.codes(learner.classes)
        own = class_shares(codes, len(learner.classes), source.weights)
        factors = np.divide(found.estimate, own, out=np.zeros(len(own)), where=own > 0)
        weights = check_weights(source.weights, len(source)) * factors[codes]
        return LabelledDomain(source.samples, source.labels, weights, source.name, source.allow_missing)

    def _trained(self, learner: Learner, source: LabelledDomain, target: Domain, labels: PseudoLabels) -> Learner:
        """A new model of the labelled target samples, perhaps with the source."""
        rows = np.flatnonzero(labels.kept)
        first = source if self.joint else None
        return trained_on(learner, target.take(rows), labels.labels[rows], source=first, mixup=self.mixup)

    def _relabelled(self, student: Learner, target: Domain, labels: PseudoLabels) -> PseudoLabels:
        """The model's labels where it is surest, those carried elsewhere."""
        share = 1.0 if self.relabelling is None else self.relabelling.share
        own = pseudo_label(student, target.samples, drop_fraction=1.0 - share)
        mixed = np.where(own.kept, own.labels, labels.labels)
        return PseudoLabels(mixed, own.shares, own.confidence, own.kept | labels.kept)


offer("carried", CarriedLabels())
offer(
    "own-scale-carried", OwnScale(then=CarriedLabels(Transport(certified=False), direct=True, joint=True)),
    shown="own scale, labels carried over", labels=True,
    about="Each window scaled by itself, then a new model of the source and of labels that a plan carries.",
)  # fmt: skip


def by_structure(solver: Any) -> bool:
    """Whether a solver couples by distances inside each domain, wherever the two lie."""
    return isinstance(solver, GromovWasserstein) or (isinstance(solver, Mapped) and by_structure(solver.start))


def trained_on(
    learner: Learner,
    target: Domain,
    codes: NDArray[np.int64],
    *,
    source: LabelledDomain | None = None,
    mixup: float | None = None,
) -> Learner:
    """A new model of labelled target samples, with the source and its labels where that is given.

    ``learner``: what is trained anew. ``codes``: labels of the target's samples, as numbers of the learner's classes.
    ``mixup``: as for `CarriedLabels`.
    """
    domains: list[Domain] = [target]
    said = [codes]
    if source is not None:
        domains, said = [source, target], [source.codes(learner.classes), codes]
    samples = target.samples if source is None else stack_rows([domain.samples for domain in domains])
    weights = _weights(domains) if learner.takes_weights else None
    if mixup is None:
        return learner.fit(samples, np.concatenate(said), weights)
    if not isinstance(learner, MixingLearner):
        raise InputError(f"a {type(learner).__name__} cannot train on mixtures; leave mixup out")
    return learner.fit_mixed(samples, np.concatenate(said), weights, mixup)


def _weights(domains: list[Domain]) -> NDArray[np.float64] | None:
    """Weights of mean 1 in each domain; None where all are equal."""
    if all(domain.uneven_weights is None for domain in domains):
        return None
    parts = [np.ones(len(d)) if d.weights is None else d.weights * len(d) for d in domains]
    return np.concatenate(parts)


@dataclass(frozen=True)
class Taught(Method):
    """Another classifier is adapted, labels the target, and the learner is trained anew on these labels and the source.

    Where columns move, a flexible model loses first what it had learnt in detail. A linear one keeps more, above all
    when each window is put in its own scale; the flexible one can then learn from it where the target is.

    ``teacher``: by default logistic regression on standardised columns. ``method``: by which the teacher is adapted; by
    default each window is put in its own scale. ``mixup``: as for `CarriedLabels`.
    """

    teacher: Any = None
    method: Method = field(default_factory=OwnScale)
    mixup: float | None = None

    @property
    def assumes(self) -> frozenset[Assumption]:
        """What the adaptation of the teacher relies on."""
        return self.method.assumes

    def one_step(self, learner: Learner, sequence: DomainSequence, workspace: Workspace) -> Adaptation:
        given = sequence.masked()
        windows = given.each(lambda domain: domain.with_samples(dense_matrix(domain)))
        source, target = windows.source, windows.target
        first = as_learner(_linear() if self.teacher is None else self.teacher, learner.classes)
        weights = source.uneven_weights if first.takes_weights else None
        first = first.fit(source.samples, source.codes(learner.classes), weights)
        codes = self.method.adapt(first, windows).learner.logits(target.samples).argmax(axis=1)
        if len(np.unique(codes)) < 2:
            raise InputError("the teacher sees a single class in the target: there is nothing to learn from it")
        student = trained_on(learner, given.target, codes, source=given.source, mixup=self.mixup)
        return Adaptation(student)


def _linear() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
