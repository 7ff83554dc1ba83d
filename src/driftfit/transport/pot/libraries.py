"""What NumPy, torch and JAX call the same thing: a library for the arrays that were given."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from driftfit.errors import InputError
from driftfit.transport.arrays import is_tensor


class RefusedError(InputError, AssertionError):
    """Input that POT refuses by an assertion; callers may wait for either."""


class Library:
    """NumPy; the other libraries say what they do otherwise."""

    xp: Any = np

    def host(self, x: Any) -> NDArray[Any]:
        """A NumPy array of the same values; no copy where none is needed."""
        return np.asarray(x)

    def like(self, values: Any, x: Any) -> Any:
        """NumPy values with the type, and on the device, of ``x``; a plain number stays one."""
        return values if isinstance(values, float) else np.asarray(values, dtype=x.dtype)

    def places(self, values: NDArray[np.int64], x: Any) -> Any:
        """Whole numbers beside ``x``."""
        return values

    def is_floating(self, x: Any) -> bool:
        return bool(np.issubdtype(x.dtype, np.inexact))

    def wants_gradients(self, *given: Any) -> bool:
        return False

    def with_gradients(self, value: Any, given: tuple[Any, ...], gradients: tuple[Any, ...]) -> Any:
        """A value with these gradients for what was given; for a batch one of each for each value."""
        return value

    def is_sparse(self, x: Any) -> bool:
        return bool(sp.issparse(x))

    def entries(self, x: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Rows, columns and values of a sparse matrix."""
        found = sp.coo_array(x)
        return found.row, found.col, found.data

    def coo(self, values: Any, rows: Any, cols: Any, shape: tuple[int, int], x: Any) -> Any:
        """A sparse matrix of the type of ``x``."""
        return sp.coo_array((values, (rows, cols)), shape=shape, dtype=x.dtype)

    def dense(self, matrix: Any) -> Any:
        return matrix.toarray()

    def csr(self, matrix: Any) -> Any:
        return sp.csr_matrix(matrix)

    def taken(self, x: Any, places: Any) -> Any:
        return self.xp.take_along_axis(x, places, axis=0)

    def argsort(self, x: Any) -> Any:
        return self.xp.argsort(x, axis=0)

    def sort(self, x: Any) -> Any:
        return self.xp.sort(x, axis=0)

    def joined(self, *parts: Any) -> Any:
        return self.xp.concatenate(parts, axis=0)

    def search(self, ends: Any, places: Any) -> Any:
        """The first of each column's ordered ``ends`` that is not below each of its places; the last, beyond."""
        last = ends.shape[0] - 1
        if ends.ndim == 1:
            return self.xp.minimum(self.xp.searchsorted(ends, places), last)
        columns = [self.xp.searchsorted(ends[:, k], places[:, k]) for k in range(ends.shape[1])]
        return self.xp.minimum(self.xp.stack(columns, axis=1), last)

    def length(self, x: Any) -> Any:
        """Along the last axis."""
        return self.xp.linalg.norm(x, axis=-1)


class _Torch(Library):
    def __init__(self) -> None:
        import torch  # slow to import

        class Given(torch.autograd.Function):
            """A value and the gradients that belong to it."""

            @staticmethod
            def forward(ctx: Any, value: Any, gradients: tuple[Any, ...], *given: Any) -> Any:
                ctx.gradients = gradients
                return value.clone()

            @staticmethod
            def backward(ctx: Any, *by: Any) -> Any:
                # A batch has one value, and one slice of each gradient, for each problem.
                scale = by[0]
                each = (g * scale.reshape(scale.shape + (1,) * (g.ndim - scale.ndim)) for g in ctx.gradients)
                return (scale, None, *each)

        self.xp, self._given = torch, Given

    def host(self, x: Any) -> NDArray[Any]:
        return np.asarray(x.detach().cpu().resolve_conj().numpy() if is_tensor(x) else x)

    def like(self, values: Any, x: Any) -> Any:
        return self.xp.as_tensor(np.asarray(values), dtype=x.dtype, device=x.device)

    def places(self, values: NDArray[np.int64], x: Any) -> Any:
        return self.xp.as_tensor(np.ascontiguousarray(values), device=x.device)

    def is_floating(self, x: Any) -> bool:
        return bool(x.is_floating_point())

    def wants_gradients(self, *given: Any) -> bool:
        return self.xp.is_grad_enabled() and any(x is not None and x.requires_grad for x in given)

    def with_gradients(self, value: Any, given: tuple[Any, ...], gradients: tuple[Any, ...]) -> Any:
        attach: Any = self._given.apply
        return attach(value, gradients, *given) if self.wants_gradients(*given) else value

    def is_sparse(self, x: Any) -> bool:
        return bool(is_tensor(x) and x.layout != self.xp.strided)

    def entries(self, x: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        found = x.to_sparse_coo().coalesce()
        rows, cols = self.host(found.indices())
        return rows, cols, self.host(found.values())

    def coo(self, values: Any, rows: Any, cols: Any, shape: tuple[int, int], x: Any) -> Any:
        places = self.xp.stack([self.xp.as_tensor(side, device=x.device) for side in (rows, cols)])
        given = self.xp.as_tensor(values, dtype=x.dtype, device=x.device)
        return self.xp.sparse_coo_tensor(places, given, shape, check_invariants=True)

    def dense(self, matrix: Any) -> Any:
        return matrix.to_dense()

    def csr(self, matrix: Any) -> Any:
        return matrix.to_sparse_csr()

    def taken(self, x: Any, places: Any) -> Any:
        return self.xp.take_along_dim(x, places, 0)

    def argsort(self, x: Any) -> Any:
        return self.xp.argsort(x, 0)

    def sort(self, x: Any) -> Any:
        return self.xp.sort(x, 0).values

    def joined(self, *parts: Any) -> Any:
        return self.xp.cat(parts)

    def search(self, ends: Any, places: Any) -> Any:
        first, second = (x.detach().movedim(0, -1).contiguous() for x in (ends, places))
        return self.xp.searchsorted(first, second).movedim(-1, 0).clamp(max=ends.shape[0] - 1)

    def length(self, x: Any) -> Any:
        return self.xp.linalg.vector_norm(x, dim=-1)


class _Jax(Library):
    def __init__(self) -> None:
        jax: Any = import_module("jax")

        self.xp, self._jax = jax.numpy, jax

    def host(self, x: Any) -> NDArray[Any]:
        return np.asarray(self._jax.lax.stop_gradient(x))

    def like(self, values: Any, x: Any) -> Any:
        return self.xp.asarray(values, dtype=x.dtype)

    def is_floating(self, x: Any) -> bool:
        return bool(self.xp.issubdtype(x.dtype, self.xp.inexact))

    def wants_gradients(self, *given: Any) -> bool:
        return any(isinstance(x, self._jax.core.Tracer) for x in given)

    def with_gradients(self, value: Any, given: tuple[Any, ...], gradients: tuple[Any, ...]) -> Any:
        for x, gradient in zip(given, gradients, strict=True):
            change = (x - self._jax.lax.stop_gradient(x)) * gradient
            value = value + change.sum(axis=tuple(range(value.ndim, change.ndim)))
        return value

    def is_sparse(self, x: Any) -> bool:
        return False

    def coo(self, values: Any, rows: Any, cols: Any, shape: tuple[int, int], x: Any) -> Any:
        # JAX has no sparse matrices of its own.
        return self.xp.zeros(shape, x.dtype).at[rows, cols].add(self.xp.asarray(values, x.dtype))

    def dense(self, matrix: Any) -> Any:
        return matrix

    def csr(self, matrix: Any) -> Any:
        return matrix


_NUMPY = Library()
_torch, _jax = cache(_Torch), cache(_Jax)


def library(*given: Any) -> Library:
    """The library of some arrays; ``None`` and lists belong to any.

    >>> library([1.0], np.zeros(2)).xp.__name__
    'numpy'
    """
    found = {_owner(x) for x in given if x is not None and not isinstance(x, list | tuple | float | int)}
    if len(found) > 1:
        raise InputError(f"arrays must be of one library, got {', '.join(sorted(str(type(x)) for x in given))}")
    return {"torch": _torch, "jax": _jax}.get(found.pop(), lambda: _NUMPY)() if found else _NUMPY


def _owner(x: Any) -> str:
    if is_tensor(x):
        return "torch"
    jax = sys.modules.get("jax")
    return "jax" if jax is not None and isinstance(x, jax.Array) else "numpy"


def gathered(*given: Any) -> tuple[Any, ...]:
    """The library of what was given, and all of it as its arrays: lists take after the first array."""
    lib = library(*given)
    first = next((x for x in given if x is not None and not isinstance(x, list | tuple)), np.zeros(0))

    def whole(x: Any) -> Any:
        if not isinstance(x, list | tuple):
            return x
        values = np.array(x, dtype=None if len(x) else np.float64)
        # Shares would be lost in whole numbers.
        return lib.like(values, first if lib.is_floating(first) else lib.xp.asarray(values))

    return lib, *map(whole, given)


def signed(*required: str, **defaults: Any) -> Callable[[Callable[[SimpleNamespace], Any]], Callable[..., Any]]:
    """Parameters for a function of one namespace of them: those of POT, in its order, are more than one can hold.

    >>> @signed("first", second=2)
    ... def total(given):
    ...     return given.first + given.second
    >>> total(1), str(inspect.signature(total))
    (3, '(first, second=2)')
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    plain = [inspect.Parameter(name, kind) for name in required]
    signature = inspect.Signature(
        plain + [inspect.Parameter(name, kind, default=value) for name, value in defaults.items()]
    )

    def sign(function: Callable[[SimpleNamespace], Any]) -> Callable[..., Any]:
        @wraps(function)
        def signed_function(*arguments: Any, **options: Any) -> Any:
            bound = signature.bind(*arguments, **options)
            bound.apply_defaults()
            return function(SimpleNamespace(**bound.arguments))

        signed_function.__signature__ = signature  # type: ignore[attr-defined]
        return signed_function

    return sign
