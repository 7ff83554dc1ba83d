"""The two kinds of failure a user meets, both catchable by their built-in parents.

>>> issubclass(InputError, ValueError), issubclass(SolverError, RuntimeError)
(True, True)
"""

from __future__ import annotations

__all__ = ["AdaptationWarning", "InputError", "SolverError"]


class InputError(ValueError):
    """What was handed in cannot be used; the message names the value and the remedy."""


class AdaptationWarning(UserWarning):
    """Something about an adaptation that its user should know, such as that the old model was kept."""


class SolverError(RuntimeError):
    """A numerical method stopped without a usable answer; the message says what to try."""
