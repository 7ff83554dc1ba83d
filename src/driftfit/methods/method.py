"""`Method`, the base of every way to adapt, `Assumption`: what may have changed, and `Adaptation`: what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from time import perf_counter
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from driftfit.domains import DomainSequence
from driftfit.errors import InputError
from driftfit.methods.plans import Path, PathStep, Workspace
from driftfit.methods.pseudo_labels import PseudoLabels, pseudo_label
from driftfit.models import Learner
from driftfit.transport import Plan


class Assumption(StrEnum):
    """What is taken to hold while the world drifts.

    Labels of today would tell which one does; without them several often fit the same rows and ask for opposite
    answers. So it is declared, and what follows from it is tested.

    Examples
    --------
    >>> Assumption.SCALE, Assumption.of("scale"), Assumption.SCALE.meaning
    (<Assumption.SCALE: 'scale'>, (<Assumption.SCALE: 'scale'>,), 'each column changed its unit or its offset')
    """

    COVARIATES = "covariates"
    PROPORTIONS = "proportions"
    SCALE = "scale"
    STRUCTURE = "structure"
    PATH = "path"

    @property
    def meaning(self) -> str:
        """The assumption in words."""
        return _MEANING[self]

    @classmethod
    def of(cls, words: Any) -> tuple[Assumption, ...]:
        """The assumptions that somebody named: one word, several, or none; the first one is believed most.

        >>> Assumption.of(["proportions", "scale"]) == (Assumption.PROPORTIONS, Assumption.SCALE), Assumption.of(None)
        (True, ())
        """
        if words is None:
            return ()
        named = [words] if isinstance(words, str) else list(words) if isinstance(words, Iterable) else [words]
        strange = [word for word in named if word not in list(cls)]
        if strange:
            raise InputError(f"there is no assumption {strange[0]!r}; choose among {', '.join(cls)}")
        return tuple(dict.fromkeys(cls(word) for word in named))


_MEANING = {
    Assumption.COVARIATES: "rows move, and a row's label is what it would have been before",
    Assumption.PROPORTIONS: "classes look as they did, and only how frequent each is has changed",
    Assumption.SCALE: "each column changed its unit or its offset",
    Assumption.STRUCTURE: "the whole cloud of rows was turned, reflected or scaled",
    Assumption.PATH: "each window lies close to the one before it",
}


class Method:
    """A way to adapt: subclasses are frozen dataclasses with a function `one_step` or `adapt`.

    What a method assumes and needs it declares below, as attributes of its class or as properties; whoever runs it
    reads that off and asks for no class. `driftfit.methods.registry.offer` gives it a word.

    Examples
    --------
    >>> from driftfit.methods import OwnScale, ProportionCorrection
    >>> method = OwnScale(then=ProportionCorrection())
    >>> sorted(map(str, method.assumes)), method.needs_matrices(encodes=True), method.learns_from_history
    (['proportions', 'scale'], True, False)
    """

    # What records call it, where it is not offered by a word of its own.
    word: ClassVar[str] = ""

    @property
    def inner(self) -> tuple[Method, ...]:
        """Methods inside that run on the same domains."""
        return ()

    @property
    def assumes(self) -> frozenset[Assumption]:
        """What is taken to hold; by default what the methods inside rely on."""
        return frozenset().union(*(one.assumes for one in self.inner))

    @property
    def on_matrices(self) -> bool:
        """Whether rows of different domains are compared column by column: those of data frames become arrays first."""
        return False

    @property
    def learns_from_history(self) -> bool:
        """Whether labels of every domain are learnt from; otherwise all but the source's are hidden from it."""
        return False

    @property
    def needs_order(self) -> bool:
        """Whether the rows of a domain must stand in their order, none left out."""
        return False

    @property
    def n_generated(self) -> int:
        """How many domains it generates between two neighbours."""
        return 0

    @property
    def keeps_encoder(self) -> bool:
        """Whether the learner's encoder stays as it was fitted, so that features can be shared."""
        return False

    def needs_matrices(self, encodes: bool) -> bool:
        """Whether samples of different domains are mixed in the input space, behind an encoder or without one."""
        return self.on_matrices or any(one.needs_matrices(encodes) for one in self.inner)

    def n_steps(self, sequence: DomainSequence) -> int:
        """How many steps there will be, for whoever watches; by default one, onto the target."""
        return 1

    def adapt(
        self, learner: Learner, sequence: DomainSequence, on_step: OnStep = None, workspace: Workspace | None = None
    ) -> Adaptation:
        """Adapt a learner, fitted on the source, to the target; labels but the source's are never looked at.

        ``on_step`` is called after each step with its record and the whole model; a ``workspace`` shares encodings and
        plans between several runs. By default that is `one_step`, told as what the old model said of the target and
        the share of it that changed.
        """
        started = perf_counter()
        done = self.one_step(learner, sequence, workspace or Workspace())
        target = sequence.target.without_labels()
        before = pseudo_label(learner, target.samples, 0.0)
        after = done.learner.logits(target.samples).argmax(axis=1)
        record = StepRecord.of(1, PathStep(target, 1.0, False, None), before, after, started)
        if on_step is not None:
            on_step(record, done.learner)
        return replace(done, records=(record,))

    def one_step(self, learner: Learner, sequence: DomainSequence, workspace: Workspace) -> Adaptation:
        """The whole of a method that goes to the target at once."""
        raise NotImplementedError(f"{type(self).__name__} has neither adapt nor one_step")


@dataclass(frozen=True)
class StepRecord:
    """One step of self-training along the path.

    ``step``: counts from 1; step 0 is the source. ``name``: name of the domain. ``position``: where the domain lies
    between source (0) and target (1), counting given domains evenly. ``generated``: whether the domain was generated on
    the geodesic. ``n_samples``: size of the domain. ``kept_fraction``: share of the samples that were confident enough
    to train on. ``mean_confidence``: mean of the teacher's confidence over all samples. ``changed_fraction``: share of
    the samples whose label the student changed. ``class_shares``: share of each class among the pseudo-labels.
    ``shift``: Wasserstein-2 distance from the domain before; along a generated path, its length along the plan. None
    where it was not measured. ``seconds``: time of pseudo-labelling and training.
    """

    step: int
    name: str
    position: float
    generated: bool
    n_samples: int
    kept_fraction: float
    mean_confidence: float
    changed_fraction: float
    class_shares: tuple[float, ...]
    shift: float | None
    seconds: float

    @classmethod
    def of(
        cls, number: int, step: PathStep, labels: PseudoLabels, after: NDArray[np.int64], started: float
    ) -> StepRecord:
        """The record of a training on one domain.

        ``step``: which domain. ``labels``: what was trained on. ``after``: what the trained model says about the same
        samples. ``started``: when it began, by ``time.perf_counter``.
        """
        counts = np.bincount(labels.labels, minlength=labels.shares.shape[1])
        return cls(
            step=number,
            name=step.domain.name,
            position=step.position,
            generated=step.generated,
            n_samples=len(labels.labels),
            kept_fraction=float(labels.kept.mean()),
            mean_confidence=float(labels.confidence.mean()),
            changed_fraction=float((after != labels.labels).mean()),
            class_shares=tuple(float(count / len(labels.labels)) for count in counts),
            shift=step.shift,
            seconds=perf_counter() - started,
        )


# Called after each step with its record and the learner it produced; None where nobody watches.
OnStep = Callable[[StepRecord, Learner], None] | None


@dataclass(frozen=True, eq=False)
class Adaptation:
    """Result of a method.

    Attributes
    ----------
    learner : Learner
        The adapted model.
    records : tuple of StepRecord
        How it got there.
    plans : tuple of Plan
        What it moved along.
    path : Path or None
        The domains that it followed, where it followed a path.
    carried : array or None
        Share of each class that the plans carried to each target sample, where that was the method.
    choice : object or None
        Why this one, where the method chose among several.
    """

    learner: Learner
    records: tuple[StepRecord, ...] = ()
    plans: tuple[Plan, ...] = ()
    path: Path | None = None
    carried: NDArray[np.float64] | None = None
    choice: Any = None

    def is_none_of(self, learner: Learner) -> bool:
        """Whether nothing was done: a student may be its teacher, where one class was left to learn from."""
        return not self.records and self.learner is learner

    @property
    def n_generated(self) -> int:
        """Domains that were generated between two neighbours."""
        generated = sum(record.generated for record in self.records)
        return generated // max(len(self.records) - generated, 1)


@runtime_checkable
class GradualMethod(Protocol):
    """What can run along any path, such as one with generated domains."""

    def along(self, learner: Learner, path: Path, on_step: OnStep = None) -> Adaptation: ...
