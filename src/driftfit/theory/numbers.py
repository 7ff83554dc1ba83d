"""Checks of the numbers that go into a bound."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.errors import InputError

__all__ = ["check_count", "check_non_negative", "check_positive", "check_probability", "check_shifts", "check_simplex"]


def check_non_negative(value: Any, name: str) -> float:
    """Return ``value`` as a finite float >= 0.

    >>> check_non_negative(2, "shift")
    2.0
    """
    number = _as_float(value, name)
    if not (isfinite(number) and number >= 0):
        raise InputError(f"{name} must be a finite number >= 0, got {value!r}")
    return number


def check_positive(value: Any, name: str) -> float:
    """Return ``value`` as a finite float > 0."""
    number = _as_float(value, name)
    if not (isfinite(number) and number > 0):
        raise InputError(f"{name} must be a finite number > 0, got {value!r}")
    return number


def check_count(value: Any, name: str, least: int = 1) -> int:
    """Return ``value`` as an integer of at least ``least``.

    >>> check_count(np.int64(3), "n_steps")
    3
    """
    number = _as_float(value, name)
    if not (isfinite(number) and number == int(number) and number >= least):
        raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(number)


def check_probability(value: Any, name: str) -> float:
    """Return ``value`` as a float strictly between 0 and 1."""
    number = _as_float(value, name)
    if not 0.0 < number < 1.0:
        raise InputError(f"{name} must lie strictly between 0 and 1, got {value!r}; 0.05 asks for 95 % confidence")
    return number


def check_shifts(values: Any, name: str = "shifts") -> NDArray[np.float64]:
    """Return the shifts of the steps as a float array with at least one entry, none negative."""
    try:
        array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers, got {values!r} ({error})") from None
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name} must hold one number per step, got shape {array.shape}")
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise InputError(f"{name} must be finite and not negative, got {array.tolist()}")
    return array


def check_simplex(weights: Any, size: int, name: str = "weights") -> NDArray[np.float64]:
    """Return a probability vector of length ``size``; ``None`` means uniform."""
    if weights is None:
        return np.full(size, 1.0 / size)
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (size,):
        raise InputError(f"{name} must have {size} entries, one per domain, got shape {array.shape}")
    if not np.isfinite(array).all() or (array < 0).any() or abs(array.sum() - 1.0) > 1e-9:
        raise InputError(f"{name} must be non-negative and sum to 1, got {array.tolist()}; divide them by their sum")
    return array


def _as_float(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number, got {value!r}") from None
