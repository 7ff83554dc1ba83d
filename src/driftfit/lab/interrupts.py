"""An interrupt at any moment: what is kept is said, and the same command goes on there."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from driftfit.lab.store import Cell, Store

__all__ = ["interruptible"]


@contextmanager
def interruptible(store: Store, cells: Sequence[Cell]) -> Iterator[None]:
    """An interrupt, or a request to end, says what is kept."""

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    # Only the main thread may listen; a caller's own threads leave the signal as it is.
    here = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, stop) if here else None
    try:
        yield
    except KeyboardInterrupt:
        n_finished = len(store.finished(cells))
        raise KeyboardInterrupt(
            f"interrupted; {n_finished} of {len(cells)} cells are finished and kept in {store.path}; the same command "
            "goes on there"
        ) from None
    finally:
        if here:
            signal.signal(signal.SIGTERM, before)
