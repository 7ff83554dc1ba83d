"""What may have changed between the labelled data and today's: their owner says it, and methods rely on it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from driftfit.errors import InputError


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
