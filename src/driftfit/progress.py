"""What a long call is doing, told on stderr where somebody watches: in a terminal or a notebook.

A call is quiet for its first ten seconds, as scikit-learn is. ``logging.getLogger("driftfit")`` is the switch: at
``WARNING`` nothing is told, at ``INFO`` everything, wherever stderr leads.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LOG = logging.getLogger("driftfit")
# Seconds before a call is long, and between two lines about it.
_PATIENCE, _BETWEEN = 10.0, 5.0
# When the call began and when something was told about it last.
_CALL: ContextVar[list[float] | None] = ContextVar("driftfit_call", default=None)


@contextmanager
def long_call() -> Iterator[None]:
    """What is told inside counts from here; inside another call, from the beginning of that."""
    if _CALL.get() is not None:
        yield
        return
    now = time.monotonic()
    token = _CALL.set([now, now])
    try:
        yield
    finally:
        _CALL.reset(token)


def tell(text: str, *, at_once: bool = False) -> None:
    """A line about a call that is long by now; ``at_once`` for what is worth knowing in any case.

    >>> with long_call():
    ...     tell("epoch 1 of 50")
    """
    level = _LOG.getEffectiveLevel() if _LOG.level else None
    if level is not None:
        if level <= logging.INFO:
            _say(text)
        return
    call, now = _CALL.get(), time.monotonic()
    if not at_once:
        if call is None or now - call[0] < _PATIENCE or (call[1] > call[0] and now - call[1] < _BETWEEN):
            return
        call[1] = now
    if _is_watched():
        _say(text)


def _say(text: str) -> None:
    print(f"driftfit: {text}", file=sys.stderr, flush=True)


def _is_watched() -> bool:
    """Whether stderr is a terminal, or this is a notebook, whose kernel has no terminal."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return sys.stderr is not None and (sys.stderr.isatty() or hasattr(shell, "kernel"))
