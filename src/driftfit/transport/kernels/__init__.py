"""Compiled loops, threads, and what NumPy arrays and torch tensors have in common."""

import importlib.util
from functools import cache
from typing import Any

__all__ = ["UNCOUNTED", "has_numba"]

# For compiled functions that allocate nothing and are called often: numba counts the references to an array at every
# call and slice otherwise, which takes longer than a short loop does.
UNCOUNTED: dict[str, Any] = {"_nrt": False}


@cache
def has_numba() -> bool:
    """Whether the compiled loops can be used."""
    return importlib.util.find_spec("numba") is not None
