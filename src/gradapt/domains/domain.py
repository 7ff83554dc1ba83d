"""`Domain`: one snapshot of the world: samples, and perhaps labels and weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gradapt.checks import check_finite, check_weights
from gradapt.errors import InputError

__all__ = ["Domain", "is_missing"]


@dataclass(frozen=True, eq=False)
class Domain:
    """Samples of one domain.

    Parameters
    ----------
    samples : array-like, sparse matrix or data frame with one row per sample
        Numbers become a float array; a data frame with other columns is kept as it is.
    labels : array-like, optional
        One label per sample. Labels that are all missing (None, NaN) count as absent.
    weights : array-like, optional
        Non-negative, scaled to sum 1; ``None`` means uniform.
    name : str
    allow_missing : bool
        Accept NaN among the samples, for pipelines that impute.

    Examples
    --------
    >>> Domain([[0.0], [1.0]], labels=["a", "b"], name="1996")
    Domain('1996', 2 x 1, labelled)
    """

    samples: Any
    labels: NDArray[Any] | None = None
    weights: NDArray[np.float64] | None = None
    name: str = ""
    allow_missing: bool = False

    def __post_init__(self) -> None:
        who = f"domain {self.name!r}" if self.name else "a domain"
        samples = _as_samples(self.samples, who, self.allow_missing)
        n = samples.shape[0]
        labels = self.labels
        if labels is not None:
            labels = _plain_type(np.asarray(labels))
            if labels.shape != (n,):
                raise InputError(f"{who} has {n} samples but labels of shape {labels.shape}; give one label per sample")
            if is_missing(labels).all():
                labels = None
        weights = None if self.weights is None else check_weights(self.weights, n, f"weights of {who}")
        object.__setattr__(self, "samples", samples)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "weights", weights)

    def __len__(self) -> int:
        return int(self.samples.shape[0])

    def __repr__(self) -> str:
        sizes = " x ".join(str(size) for size in self.samples.shape)
        return f"Domain({self.name!r}, {sizes}, {'un' if self.labels is None else ''}labelled)"

    def without_labels(self) -> Domain:
        """The same samples with the labels removed."""
        return replace(self, labels=None)

    def with_samples(self, samples: Any) -> Domain:
        """The same labels, weights and name over other samples, such as encoded ones."""
        return replace(self, samples=samples, allow_missing=False)


def is_missing(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Which labels are None, NaN or NaT.

    >>> is_missing(np.array([1.0, float("nan")])).tolist()
    [False, True]
    """
    if labels.dtype.kind in "biuUS":
        return np.zeros(labels.shape, dtype=bool)
    if labels.dtype.kind in "fc":
        return np.asarray(np.isnan(labels))
    if labels.dtype.kind in "mM":
        return np.asarray(np.isnat(labels))
    # None, NaN, NaT and pandas' NA are the values that do not equal themselves, or say so.
    return np.array([value is None or bool(_differs_from_itself(value)) for value in labels.ravel()])


def _plain_type(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels that share a column with missing ones arrive as objects: give them their own type back."""
    if labels.dtype.kind != "O" or labels.ndim != 1 or len(labels) == 0:
        return labels
    kinds = {type(value) for value in labels}
    same = len(kinds) == 1 or all(issubclass(kind, int | np.integer | float | np.floating) for kind in kinds)
    return np.array(labels.tolist()) if same and not is_missing(labels).any() else labels


def _differs_from_itself(value: Any) -> bool:
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA refuses to become a truth value
        return True


def _as_samples(samples: Any, who: str, allow_missing: bool) -> Any:
    if sp.issparse(samples):
        samples = sp.csr_array(samples)
        values = samples.data
    elif hasattr(samples, "columns") and hasattr(samples, "shape"):
        values = np.empty(0)  # a data frame: its columns are the pipeline's business
    else:
        try:
            samples = np.asarray(samples)
        except ValueError as error:
            raise InputError(f"{who}: samples must form a table, {error}") from None
        if samples.dtype.kind in "biu":
            samples = samples.astype(np.float64)
        values = samples if samples.dtype.kind == "f" else np.empty(0)
    if len(samples.shape) < 2:
        raise InputError(
            f"{who}: samples must have one row per sample and at least one feature, got shape {samples.shape}; "
            "reshape(-1, 1) turns a single feature into a table"
        )
    if samples.shape[0] == 0:
        raise InputError(f"{who} is empty; every domain needs samples: widen its window or leave it out")
    if not allow_missing:
        check_finite(values, f"{who}: samples")
    return samples
