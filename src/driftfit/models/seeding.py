"""One seed for every part of a classifier that draws random numbers."""

from __future__ import annotations

from typing import Any

__all__ = ["seed_open"]


def seed_open(estimator: Any, seed: int) -> Any:
    """Set every ``random_state`` that the user left open, in place; returns the estimator.

    >>> from sklearn.linear_model import LogisticRegression
    >>> seed_open(LogisticRegression(), 3).random_state, seed_open(LogisticRegression(random_state=1), 3).random_state
    (3, 1)
    """
    parameters = estimator.get_params(deep=True)
    names = [
        name
        for name, value in parameters.items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    estimator.set_params(**dict.fromkeys(names, seed % 2**31))
    return estimator
