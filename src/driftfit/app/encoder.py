"""An encoder for tables: the hidden layer of a small network trained on the labelled source."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.neural_network import MLPClassifier
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["MLPEncoder"]


class MLPEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Activations of the hidden layer of an `MLPClassifier`.

    Parameters
    ----------
    n_units : int
        Width of the hidden layer, and number of features behind it.
    max_iter : int
    random_state : int, generator or None

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 3.0], [3.0, 4.0]])
    >>> MLPEncoder(n_units=4, max_iter=5000, random_state=0).fit(X, [0, 0, 1, 1]).transform(X).shape
    (4, 4)
    """

    def __init__(self, n_units: int = 32, *, max_iter: int = 100, random_state: Any = None) -> None:
        self.n_units = n_units
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train the network on labelled samples."""
        X = validate_data(self, X, reset=True)
        network = MLPClassifier((self.n_units,), max_iter=self.max_iter, random_state=self.random_state)
        network.fit(X, y)
        self.weights_: NDArray[np.float64] = network.coefs_[0]
        self.offsets_: NDArray[np.float64] = network.intercepts_[0]
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """What the hidden layer says about each sample."""
        check_is_fitted(self, "weights_")
        X = validate_data(self, X, reset=False)
        return np.asarray(np.maximum(X @ self.weights_ + self.offsets_, 0.0))
