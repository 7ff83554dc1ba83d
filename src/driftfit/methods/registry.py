"""Methods that can be asked for by name: each module offers its own. Here are those that leave the model as it is."""

from __future__ import annotations

from dataclasses import dataclass, field, is_dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.domains import DomainSequence
from driftfit.errors import InputError, meant
from driftfit.methods import __path__ as places
from driftfit.methods.method import Adaptation, Assumption, Method, OnStep
from driftfit.methods.plans import Transport, Workspace
from driftfit.models import Learner
from driftfit.offers import folders, found


@dataclass(frozen=True)
class Offer:
    """A method with its name.

    ``word``: for the command line, sweeps and estimators. ``shown``: what results call it. ``about``: what it does, in
    one line. ``labels``: whether it is compared where some rows of today have labels. ``history``: whether backtests
    over the past compare it by default. ``answers``: the declared assumption that it is the answer to.
    """

    word: str
    method: Method
    shown: str
    about: str = ""
    labels: bool = False
    history: bool = False
    answers: Assumption | None = None


_OFFERS: dict[str, Offer] = {}


def _extend() -> None:
    """Modules of `folders` can be imported from `driftfit.methods`, in processes that are started for work too."""
    places.extend(folder for folder in folders() if folder not in places)


_extend()


def offer(word: str, method: Method, **told: Any) -> None:
    """Give a method a word, in a line of its own in a module of `driftfit.methods`; the rest is as for `Offer`.

    The command line reads word and ``about`` off the source: they stand there as they are.
    """
    _OFFERS[word] = Offer(word, as_method(method), **{"shown": word.replace("-", " "), **told})


def offered() -> dict[str, Offer]:
    """Every method that has a word, by its word.

    >>> offered()["own-scale"].method
    OwnScale(then=SourceOnly())
    """
    _extend()
    for module, _ in found().values():
        import_module(f"driftfit.methods.{module}")
    return {word: replace(_OFFERS[word], about=about) for word, (_, about) in found().items()}


def named(word: str) -> Method:
    """The method of a word.

    >>> named("direct").freeze_encoder
    True
    """
    known = offered()
    if word not in known:
        raise InputError(f"there is no method {word!r}; choose {', '.join(known)}{meant(word, known)}")
    return known[word].method


def as_method(method: Any) -> Method:
    """A method as it is, or by its word; whatever else is refused."""
    if isinstance(method, str):
        return named(method)
    if not isinstance(method, Method):
        raise InputError(
            f"method must be a value such as GOAT() or GradualSelfTraining(), or a word, got {method!r}; a class of "
            "your own inherits from driftfit.methods.Method"
        )
    return method


def word_of(method: Method) -> str:
    """What records call a method: its word, or its class where that is offered in several ways.

    >>> from driftfit.methods import GOAT, FromHistory
    >>> word_of(GOAT(7)), word_of(FromHistory()), word_of(FromHistory(with_time=True, seed=3))
    ('goat', 'all-labels', 'FromHistory')
    """
    own = [one for one in offered().values() if type(one.method) is type(method)]
    alike = [one.word for one in own if len(own) == 1 or one.method == method]
    return method.word or next(iter(alike), type(method).__name__)


def seeded(method: Method, seed: int, max_samples: int | None = None) -> Any:
    """The method with this seed in it and in what is inside; its plans are between at most so many samples.

    >>> seeded(named("own-scale-proportions"), 7).then.seed
    7
    """
    inside: dict[str, Any] = {name: value for name, value in vars(method).items() if is_dataclass(method)}
    changes = {name: seeded(value, seed, max_samples) for name, value in inside.items() if isinstance(value, Method)}
    for name, value in inside.items():
        if isinstance(value, Transport):
            changes[name] = replace(value, seed=seed, max_samples=max_samples)
    if "seed" in inside:
        changes["seed"] = seed
    own: Any = method
    return replace(own, **changes) if changes else method


# Logarithm of a probability that is as good as none.
_NEVER = -30.0


@dataclass(frozen=True)
class SourceOnly(Method):
    """Keeps the model that was fitted on the source."""

    def adapt(
        self, learner: Learner, sequence: DomainSequence, on_step: OnStep = None, workspace: Workspace | None = None
    ) -> Adaptation:
        return Adaptation(learner)


offer("source", SourceOnly())


@dataclass(frozen=True, eq=False)
class ModelInUse(SourceOnly):
    """A model of somebody's own, known by its answers alone: others are compared with it, and it stays as it is.

    ``answers``: what it says about the rows of the target, as numbers of the learner's classes.
    """

    answers: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def adapt(
        self, learner: Learner, sequence: DomainSequence, on_step: OnStep = None, workspace: Workspace | None = None
    ) -> Adaptation:
        if len(self.answers) != len(sequence.target):
            raise InputError(f"the target has {len(sequence.target)} rows, got {len(self.answers)} answers for them")
        return Adaptation(_Answers(learner, self.answers))


@dataclass(frozen=True, eq=False)
class _Answers:
    """A learner that knows the rows of the target by their place; all else is another learner's."""

    other: Learner
    answers: NDArray[np.int64]

    def logits(self, samples: Any) -> NDArray[np.float64]:
        if samples.shape[0] != len(self.answers):
            raise InputError(f"the model in use answered for {len(self.answers)} rows, not for {samples.shape[0]}")
        return np.where(np.eye(len(self.other.classes), dtype=bool)[self.answers], 0.0, _NEVER)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.other, name)
