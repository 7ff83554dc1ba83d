"""`Serial`: one task after the other, here."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from driftfit.parallel.engine import POLL_SECONDS, Batch, Outcome, attempt, prepared

__all__ = ["Serial"]


@dataclass(frozen=True)
class Serial:
    """One task after the other, in this process."""

    @property
    def words(self) -> str:
        return "serial"

    @property
    def sharing(self) -> int:
        return 1

    def run(self, batches: Iterator[Batch | None]) -> Iterator[Outcome]:
        scratch: dict[str, Any] = {}
        for batch in batches:
            if batch is None:
                time.sleep(POLL_SECONDS)
                continue
            shared = prepared(batch, scratch)
            for task in batch.tasks:
                yield attempt(batch.workload, shared, task)
            del shared
