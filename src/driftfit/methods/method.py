"""`Method`, the base of every way to adapt, and `Assumption`: what may have changed, as an owner declares it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from time import perf_counter
from typing import Any, ClassVar

from driftfit.domains import DomainSequence
from driftfit.errors import InputError
from driftfit.methods.adaptation import Adaptation, OnStep, StepRecord
from driftfit.methods.plans import PathStep, Workspace
from driftfit.methods.pseudo_labels import pseudo_label
from driftfit.models import Learner


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
