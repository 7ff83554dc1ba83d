"""Compiled loops, threads, and what NumPy arrays and torch tensors have in common."""

import importlib.util
from functools import cache

__all__ = ["has_numba"]


@cache
def has_numba() -> bool:
    """Whether the compiled loops can be used."""
    return importlib.util.find_spec("numba") is not None
