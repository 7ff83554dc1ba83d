"""Methods by name for everything that compares them: for any sequence, on a few labels of today, in backtests."""

from __future__ import annotations

from collections.abc import Iterable

from driftfit.methods import (
    GOAT,
    Assumption,
    CarriedLabels,
    FromHistory,
    GradualSelfTraining,
    Method,
    Relabelling,
    SourceOnly,
    Taught,
    Transport,
    named,
    offered,
)
from driftfit.methods.registry import seeded
from driftfit.selection.runs import Candidate
from driftfit.transport import GromovWasserstein, Mapped, Orthogonal, SameScale

# The plain thing: a model of all labels that exist.
ALL_LABELS = "all labels"


def answer_to(assumption: Assumption) -> str:
    """Name of what is done where an assumption is declared and stands; its own where several methods are compared.

    >>> answer_to(Assumption.COVARIATES), answer_to(Assumption.PATH)
    ('importance weights', 'path')
    """
    return next((one.shown for one in offered().values() if one.answers is assumption), str(assumption))


def table_methods(max_samples: int = 2_000, seed: int = 0, *, in_order: bool = True) -> dict[str, Method]:
    """Everything that labels of today are asked to compare, by name.

    ``max_samples``: rows of a window that plans are made between. ``in_order``: whether the rows of a window stand in
    their order, so that each can be compared with those before it.
    """
    chosen = (one for one in offered().values() if one.labels and (in_order or not one.method.needs_order))
    return {one.shown: seeded(one.method, seed, max_samples) for one in chosen}


def history_ways(seed: int = 0, *, in_order: bool = False) -> dict[str, Method]:
    """The ways to learn from history that are compared by default, the reference first.

    ``in_order`` says that the rows of a window stand in their order, so that each can be compared with those before it.
    """
    words = [word for word, one in offered().items() if one.history and (in_order or not one.method.needs_order)]
    return ways_from_words(sorted(words, key=lambda word: offered()[word].shown != ALL_LABELS), seed)


def as_way(method: Method, seed: int = 0) -> Method:
    """A method as a way to learn from history; one that does not by itself goes on from a model of all labels."""
    return method if method.learns_from_history else FromHistory(then=method, seed=seed)


def ways_from_words(words: Iterable[str], seed: int = 0) -> dict[str, Method]:
    """The methods of some words as ways to learn from history, by the names that results call them.

    >>> {name: way.then for name, way in ways_from_words(["own-rank"]).items()}
    {'own rank': OwnRank(then=SourceOnly())}
    """
    methods = {word: named(word) for word in words}
    return {offered()[word].shown: as_way(seeded(method, seed), seed) for word, method in methods.items()}


# By what the labels of networks are mixed: docs/choice.md.
MIXUP = 0.5


def standard_candidates(*, networks: bool = False, max_samples: int | None = None) -> dict[str, Candidate]:
    """The source model, what follows the domains, what carries labels by position or structure, and a linear teacher.

    ``networks``: whether the model is a torch network: carried labels are mixed and corrected, and Deep CORAL and CoVi
    are tried. ``max_samples``: plans are made between at most so many samples of each domain.

    >>> list(standard_candidates())
    ['source', 'gradual self-training', 'GOAT', 'carried labels', 'taught by a linear model', 'carried by structure']
    """
    scaled = Transport(Mapped(SameScale()), max_samples=max_samples)
    turned = Transport(Mapped(Orthogonal(), start=GromovWasserstein()), max_samples=max_samples)
    mixup, mended = (MIXUP, Relabelling()) if networks else (None, None)
    found = {
        "source": Candidate(SourceOnly()),
        "gradual self-training": Candidate(GradualSelfTraining()),
        "GOAT": Candidate(GOAT(transport=Transport(max_samples=max_samples))),
        "carried labels": Candidate(CarriedLabels(scaled, direct=True, joint=True, mixup=mixup)),
        "taught by a linear model": Candidate(Taught(mixup=mixup), for_tables=True),
        "carried by structure": Candidate.structural(
            CarriedLabels(turned, feature_space=False, direct=True, mixup=mixup, relabelling=mended)
        ),
    }
    if networks:
        from driftfit.methods.baselines import BaselineMethod, CoVi, DeepCoral

        found["Deep CORAL"] = Candidate(BaselineMethod(DeepCoral()))
        found["CoVi"] = Candidate(BaselineMethod(CoVi(), sequential=True))
    return found
