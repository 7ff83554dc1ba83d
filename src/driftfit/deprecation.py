"""Names that go away say so first: for at least one minor version they work and warn."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from driftfit.errors import InputError

__all__ = ["deprecated", "renamed_parameter"]

_Named = TypeVar("_Named", bound=Callable[..., Any])


def deprecated(*, since: str, removed_in: str, instead: str) -> Callable[[_Named], _Named]:
    """A function or class that still works and warns whenever it is called.

    Parameters
    ----------
    since, removed_in : str
        Versions; a test fails once ``removed_in`` is reached and the name is still there.
    instead : str
        What to use.

    Examples
    --------
    >>> @deprecated(since="1.2", removed_in="1.4", instead="`new_name`")
    ... def old_name():
    ...     return 1
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     old_name()
    1
    >>> print(seen[0].message)
    old_name is deprecated since 1.2 and will be removed in 1.4; use `new_name`
    """

    def wrap(named: _Named) -> _Named:
        text = f"{named.__name__} {_told(since, removed_in, instead)}"
        if isinstance(named, type):
            original: Callable[..., None] = named.__init__  # type: ignore[misc]

            @functools.wraps(original)
            def init(self: Any, *arguments: Any, **options: Any) -> None:
                # A subclass has its own name, and its author can do nothing about the warning of a caller.
                _warn(text)
                original(self, *arguments, **options)

            named.__init__ = init  # type: ignore[misc]
            return named

        @functools.wraps(named)
        def call(*arguments: Any, **options: Any) -> Any:
            _warn(text)
            return named(*arguments, **options)

        return call  # type: ignore[return-value]

    return wrap


def renamed_parameter(old: str, new: str, *, since: str, removed_in: str) -> Callable[[_Named], _Named]:
    """A function whose parameter has another name now; the old one still works, and warns.

    >>> @renamed_parameter("n", "n_generated", since="1.2", removed_in="1.4")
    ... def count(n_generated=0):
    ...     return n_generated
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     count(n=3)
    3
    >>> print(seen[0].message)
    count: n is deprecated since 1.2 and will be removed in 1.4; use n_generated
    """

    def wrap(named: _Named) -> _Named:
        @functools.wraps(named)
        def call(*arguments: Any, **options: Any) -> Any:
            if old in options:
                if new in options:
                    raise InputError(f"{named.__name__} got both {old!r} and its new name {new!r}; give {new!r} alone")
                _warn(f"{named.__name__}: {old} {_told(since, removed_in, new)}")
                options[new] = options.pop(old)
            return named(*arguments, **options)

        return call  # type: ignore[return-value]

    return wrap


def _told(since: str, removed_in: str, instead: str) -> str:
    return f"is deprecated since {since} and will be removed in {removed_in}; use {instead}"


def _warn(text: str) -> None:
    # Shown by default, unlike DeprecationWarning: it is meant for users.
    warnings.warn(text, FutureWarning, stacklevel=3)
