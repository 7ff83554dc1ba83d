"""`Domain`: one snapshot of the world: samples, perhaps weights, labels and groups where somebody gave them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from driftfit.checks import check_finite, check_points, check_real, check_weights, without_mask
from driftfit.domains.samples import (
    Interpolated,
    as_labels,
    check_classes,
    group_codes,
    is_frame,
    is_missing,
    is_tensor,
    plain_labels,
    some_rows,
    take_rows,
)
from driftfit.errors import InputError


@dataclass(frozen=True, eq=False)
class Domain:
    """Samples of one domain.

    Parameters
    ----------
    samples : array-like, sparse matrix, data frame or tensor with one row per sample
        Numbers become a float array; a data frame with other columns is kept as it is, and
        a tensor stays on its device. Samples on a geodesic may be `Interpolated`.
    labels : array-like, optional
        One label per sample; some may be missing (None, NaN). Labels that are all missing count as absent.
    weights : array-like, optional
        Non-negative, scaled to sum 1; ``None`` means uniform.
    name : str
    allow_missing : bool
        Accept NaN among the samples, for pipelines that impute.
    groups : array-like, optional
        What a row belongs to, such as its customer or machine: one whole number or word per sample. Rows of one group
        may resemble each other, so that tests move them together. Kept as codes that are the same in every domain.

    Examples
    --------
    >>> domain = Domain([[0.0], [1.0], [2.0]], labels=["a", "b", "b"], name="1996")
    >>> domain, domain.take([2, 0]).samples.ravel().tolist()
    (Domain('1996', 3 x 1, labelled), [2.0, 0.0])
    """

    samples: Any
    labels: NDArray[Any] | None = None
    weights: NDArray[np.float64] | None = None
    name: str = ""
    allow_missing: bool = False
    groups: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        samples = _as_samples(self.samples, self._who, self.allow_missing)
        n = int(samples.shape[0])
        labels = self.labels
        if labels is not None:
            labels = plain_labels(as_labels(labels))
            if labels.shape != (n,):
                raise InputError(
                    f"{self._who} has {n} samples but labels of shape {labels.shape}; give one label per sample"
                )
            if is_missing(labels).all():
                labels = None
        weights = None if self.weights is None else check_weights(self.weights, n, f"weights of {self._who}")
        groups = None if self.groups is None else group_codes(self.groups, n, f"groups of {self._who}")
        self._set(samples=samples, labels=labels, weights=weights, groups=groups)

    def __len__(self) -> int:
        return int(self.samples.shape[0])

    def __repr__(self) -> str:
        sizes = " x ".join(str(size) for size in self.samples.shape)
        how = "" if self.labels is not None else "un"
        how = "partly " if self.labels is not None and not self.has_label.all() else how
        return f"Domain({self.name!r}, {sizes}, {how}labelled)"

    @property
    def _who(self) -> str:
        return f"domain {self.name!r}" if self.name else "a domain"

    @property
    def uneven_weights(self) -> NDArray[np.float64] | None:
        """The weights, or None where they are all equal and say nothing."""
        return None if self.weights is None or np.ptp(self.weights) == 0 else self.weights

    @property
    def has_label(self) -> NDArray[np.bool_]:
        """Which rows have a label.

        >>> Domain([[0.0], [1.0]], labels=[None, "a"]).has_label.tolist()
        [False, True]
        """
        return np.zeros(len(self), dtype=bool) if self.labels is None else ~is_missing(self.labels)

    def without_labels(self) -> Domain:
        """The same samples with the labels removed."""
        if type(self) is Domain and self.labels is None:
            return self
        return Domain._made(self.samples, None, self.weights, self.name, self.allow_missing, self.groups)

    def with_samples(self, samples: Any) -> Self:
        """The same labels, weights, groups and name over other samples, such as encoded ones."""
        if samples.shape[0] != len(self):
            raise InputError(f"{self._who} has {len(self)} samples, got {samples.shape[0]} to put in their place")
        checked = _as_samples(samples, self._who, False)
        return self._made(checked, self.labels, self.weights, self.name, False, self.groups)

    def take(self, rows: Any) -> Self:
        """Some rows, in the given order, with their labels, weights and groups."""
        rows = np.asarray(rows)
        weights = None
        if self.weights is not None:
            weights = check_weights(self.weights[rows], len(rows), f"weights of {len(rows)} rows of {self._who}")
        labels = None if self.labels is None else self.labels[rows]
        groups = None if self.groups is None else self.groups[rows]
        return self._made(take_rows(self.samples, rows), labels, weights, self.name, self.allow_missing, groups)

    def subsample(self, most: int | None, seed: int) -> Self:
        """At most so many rows, drawn without replacement and left in order; the domain itself if it has no more.

        No class of a labelled source is lost.

        >>> len(Domain([[0.0], [1.0], [2.0]]).subsample(2, seed=0))
        2
        """
        if most is None or len(self) <= most:
            return self
        return self.take(some_rows(len(self), most, seed, self.labels if isinstance(self, LabelledDomain) else None))

    def matrix(self) -> Any:
        """The samples as a table of finite numbers: an array, a CSR matrix, or a tensor that stays on its device.

        Images are flattened; a data frame must hold numbers.

        >>> Domain(np.zeros((2, 3, 3))).matrix().shape
        (2, 9)
        """
        samples = self.samples.whole() if isinstance(self.samples, Interpolated) else self.samples
        if is_tensor(samples):
            return samples.flatten(1)
        if not sp.issparse(samples) and len(samples.shape) > 2:
            samples = np.asarray(samples).reshape(len(self), -1)
        return check_points(samples, f"{self._who}: samples")

    @classmethod
    def _made(cls, samples: Any, labels: Any, weights: Any, name: str, allow_missing: bool, groups: Any) -> Self:
        """A domain of parts that are known to be good."""
        domain = object.__new__(cls)
        domain._set(samples=samples, labels=labels, weights=weights, name=name)
        domain._set(allow_missing=allow_missing, groups=groups)
        return domain

    def _set(self, **values: Any) -> None:
        for key, value in values.items():
            object.__setattr__(self, key, value)


@dataclass(frozen=True, eq=False, repr=False)
class LabelledDomain(Domain):
    """A domain whose samples all have a label: the source.

    >>> source = LabelledDomain([[0.0], [1.0]], labels=["b", "a"])
    >>> source.classes.tolist(), source.codes().tolist(), source.one_hot().tolist()
    (['a', 'b'], [1, 0], [[0.0, 1.0], [1.0, 0.0]])
    """

    labels: NDArray[Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels is None:
            raise InputError(f"the source ({self._who}) has no labels; the first domain must be labelled")
        missing = is_missing(self.labels)
        if missing.any():
            raise InputError(
                f"{int(missing.sum())} of {len(self)} labels are missing in the source ({self._who}); "
                "drop these rows or label them"
            )
        check_classes(self.labels, f"the source ({self._who})")

    @classmethod
    def of(cls, domain: Domain) -> LabelledDomain:
        """The same domain, known to be labelled."""
        if isinstance(domain, LabelledDomain):
            return domain
        labels: Any = domain.labels  # absent ones are refused
        return cls(domain.samples, labels, domain.weights, domain.name, domain.allow_missing, domain.groups)

    @property
    def classes(self) -> NDArray[Any]:
        """The classes that occur, sorted."""
        return np.unique(self.labels)

    def codes(self, classes: NDArray[Any] | None = None) -> NDArray[np.int64]:
        """The labels as numbers that index ``classes``, by default those that occur."""
        known = self.classes if classes is None else classes
        codes = np.searchsorted(known, self.labels)
        strange = (codes == len(known)) | (known[np.minimum(codes, len(known) - 1)] != self.labels)
        if strange.any():
            raise InputError(f"the source has the class {self.labels[strange][0]!r}, which the model does not know")
        return np.asarray(codes, dtype=np.int64)

    def one_hot(self, classes: NDArray[Any] | None = None) -> NDArray[np.float64]:
        """The labels as shares: one row per sample, one column per class."""
        known = self.classes if classes is None else classes
        return np.asarray(np.eye(len(known))[self.codes(known)])


def _as_samples(samples: Any, who: str, allow_missing: bool) -> Any:
    if isinstance(samples, Interpolated):
        return samples  # both of its ends were checked
    check_real(samples, f"{who}: samples")
    if is_tensor(samples):
        values: Any = np.empty(0)
        if not allow_missing and not bool(samples.isfinite().all()):
            raise InputError(f"{who}: samples hold NaN or infinity; clean them first")
    elif sp.issparse(samples):
        samples = sp.csr_array(samples)
        values = samples.data
    elif is_frame(samples):
        values = np.empty(0)  # its columns are the pipeline's business
    else:
        try:
            samples = _array(samples)
        except (TypeError, ValueError) as error:
            raise InputError(f"{who}: samples must form a table, {error}") from None
        check_real(samples, f"{who}: samples")
        if samples.dtype.kind in "biu":
            samples = samples.astype(np.float64)
        values = samples if samples.dtype.kind == "f" else np.empty(0)
    if len(samples.shape) < 2:
        raise InputError(
            f"{who}: samples must have one row per sample and at least one feature, got shape {tuple(samples.shape)}; "
            "reshape(-1, 1) turns a single feature into a table"
        )
    if samples.shape[0] == 0:
        raise InputError(f"{who} is empty; every domain needs samples: widen its window or leave it out")
    if not allow_missing:
        check_finite(values, f"{who}: samples")
    return samples


def _array(samples: Any) -> NDArray[Any]:
    """Samples as an array; what a mask hides is missing, and so a number that is not one."""
    plain = without_mask(samples)
    array = np.asarray(plain)
    masked = plain is not samples and isinstance(plain, np.ndarray) and plain.dtype.kind == "O"
    return array.astype(np.float64) if masked else array
