"""Checks of input: every message names the value received and the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from driftfit.errors import InputError

# Squares of larger values leave the range of float64 once they are summed.
LARGEST_VALUE = 1e150


def check_points(points: Any, name: str = "samples") -> Any:
    """Return ``points`` as a finite float array (or CSR matrix) of shape (n, d), n >= 1.

    >>> check_points([[1, 2], [3, 4]]).dtype
    dtype('float64')
    """
    check_real(points, name)
    if sp.issparse(points):
        matrix = sp.csr_array(points, dtype=np.float64)
        values = matrix.data
    else:
        try:
            matrix = np.asarray(without_mask(points))
            check_real(matrix, name)
            if matrix.dtype != np.float32:
                matrix = matrix.astype(np.float64, copy=False)
        except InputError:
            raise
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{name} must be numbers, got {_kind(points)} ({error}); encode other columns first, "
                "for instance with a ColumnTransformer in front of the classifier"
            ) from None
        values = matrix
    if matrix.ndim != 2:
        raise InputError(
            f"{name} must be a table of shape (samples, features), got shape {matrix.shape}; "
            "reshape(len(x), -1) flattens images"
        )
    if matrix.shape[0] == 0:
        raise InputError(f"{name} is empty (shape {matrix.shape}); every domain needs at least one sample")
    if matrix.shape[1] == 0:
        raise InputError(f"{name} has no features (shape {matrix.shape})")
    check_finite(values, name)
    return matrix


def check_real(values: Any, name: str) -> None:
    """Raise where values are complex, dates or durations, which a cast to float would change without a word."""
    kinds = [getattr(getattr(values, "dtype", None), "kind", "")]
    if hasattr(values, "dtypes") and hasattr(values, "columns"):
        kinds = [getattr(dtype, "kind", "") for dtype in values.dtypes]
    if "c" in kinds or (hasattr(values, "is_complex") and callable(values.is_complex) and values.is_complex()):
        raise InputError(f"{name} must be real numbers, got complex ones; give real and imaginary part as two columns")
    if len(kinds) == 1 and kinds[0] in ("m", "M"):
        raise InputError(
            f"{name} must be numbers, got {_kind(values)}; say in which unit, for instance with astype(float)"
        )


def without_mask(values: Any) -> Any:
    """The same values, those under the mask of a masked array as missing: NaN in numbers, None elsewhere.

    >>> without_mask(np.ma.array([1.0, 2.0], mask=[False, True])).tolist()
    [1.0, nan]
    """
    if isinstance(values, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in values):
        values = np.ma.stack(values)
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if not np.ma.getmaskarray(values).any():
        return values.data
    if values.dtype.kind == "f":
        return values.filled(np.nan)
    hidden = np.array(values.data, dtype=object)
    hidden[np.ma.getmaskarray(values)] = None
    return hidden


def check_finite(values: NDArray[Any], name: str) -> None:
    """Raise unless every value is finite and its square is too."""
    # Whatever is not a number, or not finite, is the largest or the least: no temporary mask.
    with np.errstate(invalid="ignore"):
        ends = (float(values.max()), float(values.min())) if values.size else (0.0, 0.0)
    if not np.isfinite(ends).all():
        n_nan = int(np.isnan(values).sum())
        n_inf = int(np.isinf(values).sum())
        if n_nan or n_inf:
            raise InputError(
                f"{name} holds NaN or infinity ({n_nan} NaN, {n_inf} infinite of {values.size} values); "
                "drop these rows or put an imputer such as SimpleImputer in front of the classifier"
            )
    if values.size:
        largest = max(abs(end) for end in ends)
        if largest > LARGEST_VALUE:
            raise InputError(
                f"{name} holds values as large as {largest:.3g}, whose squares overflow; "
                "rescale the features, for instance with StandardScaler"
            )


def check_same_features(x0: Any, x1: Any, name0: str = "x0", name1: str = "x1") -> None:
    """Raise unless both tables have the same number of columns."""
    if x0.shape[1] != x1.shape[1]:
        raise InputError(
            f"{name0} has {x0.shape[1]} features but {name1} has {x1.shape[1]}; all domains must have the same features"
        )


def check_weights(weights: Any, n: int, name: str = "weights") -> NDArray[np.float64]:
    """Return non-negative weights of length ``n`` that sum to 1; ``None`` means uniform.

    >>> check_weights([1, 3], 2).tolist()
    [0.25, 0.75]
    """
    if weights is None:
        return np.full(n, 1.0 / n)
    try:
        plain = np.asarray(without_mask(weights))
        check_real(plain, name)
        w = np.asarray(plain, dtype=np.float64)
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers, got {_kind(weights)} ({error})") from None
    if w.shape != (n,):
        raise InputError(f"{name} must have one entry per sample ({n}), got shape {w.shape}")
    if not np.isfinite(w).all():
        raise InputError(f"{name} holds NaN or infinity; give every sample a finite weight >= 0")
    if (w < 0).any():
        raise InputError(f"{name} must not be negative, got {w.min()!r}; use 0 to leave a sample out")
    largest = w.max()
    if largest == 0:
        raise InputError(f"{name} sum to zero: at least one sample must carry weight")
    # Scaled by the largest first, so that neither huge nor tiny weights leave the float range.
    w = w / largest
    return np.asarray(w / w.sum())


def check_position(position: float) -> float:
    """Return ``position`` as a float in [0, 1].

    >>> check_position(0.5)
    0.5
    """
    try:
        value = float(position)
    except (TypeError, ValueError):
        raise InputError(f"position must be a number in [0, 1], got {position!r}") from None
    if not 0.0 <= value <= 1.0:
        raise InputError(f"position must lie in [0, 1], got {position!r}; 0 is the first domain, 1 the second")
    return value


def check_fraction(value: float, name: str, *, closed: bool = False) -> float:
    """Return ``value`` as a float in [0, 1), or in [0, 1] where the range is closed.

    >>> check_fraction(1, "alpha", closed=True)
    1.0
    """
    wanted = "[0, 1]" if closed else "[0, 1)"
    try:
        fraction = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number in {wanted}, got {value!r}") from None
    if not (0.0 <= fraction < 1.0 or (closed and fraction == 1.0)):
        raise InputError(f"{name} must lie in {wanted}, got {value!r}")
    return fraction


def _kind(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    return f"dtype {dtype}" if dtype is not None else type(value).__name__
