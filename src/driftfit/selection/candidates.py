"""Methods by name for everything that compares them: on a few labels of today, under an assumption, in backtests."""

from __future__ import annotations

from collections.abc import Iterable

from driftfit.methods import Assumption, FromHistory, Method, named, offered
from driftfit.methods.registry import seeded

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

    Parameters
    ----------
    max_samples : int
        Rows of a window that plans are made between.
    seed : int
    in_order : bool
        Whether the rows of a window stand in their order, so that each can be compared with those before it.
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
