"""A grid that costs next to nothing, to try an engine or a cluster with."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from driftfit.lab.launch import Record
from driftfit.seeds import derive_seed


@dataclass(frozen=True, order=True)
class ToyCell:
    """One cell of the grid.

    >>> ToyCell(1, 2).group, str(ToyCell(1, 2))
    (1, 'toy 1.2')
    """

    seed: int
    number: int

    @property
    def key(self) -> str:
        return json.dumps({"toy": asdict(self)}, sort_keys=True, separators=(",", ":"))

    @property
    def group(self) -> int:
        return self.seed

    def __str__(self) -> str:
        return f"toy {self.seed}.{self.number}"


def toy_grid(n_groups: int, n_each: int) -> list[ToyCell]:
    """Cells in groups that share a matrix."""
    return [ToyCell(seed, number) for seed in range(n_groups) for number in range(n_each)]


@dataclass(frozen=True)
class ToyWork:
    """Each cell multiplies the matrix of its group some times, and rests for the remainder of its seconds.

    ``seconds``: of each cell. ``busy``: share of them that it computes. ``size``: rows of the matrix.
    """

    seconds: float = 0.0
    busy: float = 1.0
    size: int = 40

    def prepare(self, tasks: tuple[ToyCell, ...], scratch: dict[str, Any]) -> Any:
        """The matrix of a group."""
        rng = np.random.default_rng(derive_seed(tasks[0].seed, "toy"))
        return rng.normal(size=(self.size, self.size))

    def run(self, shared: Any, task: ToyCell) -> Record:
        """A number that depends on the cell alone, whoever computes it."""
        started = time.perf_counter()
        vector = np.random.default_rng(derive_seed(task.seed, task.number)).normal(size=self.size)
        for _ in range(20):
            vector = shared @ vector
            vector /= np.abs(vector).max()
        while time.perf_counter() - started < self.seconds * self.busy:
            shared @ shared
        time.sleep(max(0.0, self.seconds - (time.perf_counter() - started)))
        result = {"transductive_last": float(100 * np.abs(vector).mean()), "vector": vector.tolist()}
        return Record(result, {"toy": True}, time.perf_counter() - started)
