"""`Cell`: one number of a table, as plain data."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

__all__ = ["Cell"]


@dataclass(frozen=True, order=True)
class Cell:
    """One run: which table, which method, how many domains, which seed.

    Attributes
    ----------
    table : str
        Name of the benchmark, the data that the run is about.
    preset : str
        Which reading of the paper the run follows.
    seed : int
    n_given : int
        Given domains between source and target.
    method : str
        One of `driftfit.lab.configurations`.
    n_generated : int
        Domains generated between each two neighbours.
    n_samples : int or None
        At most this many samples in each domain; None: all.
    settings : str
        Digest of the preset's settings, so that a changed preset makes new cells.
    study : str
        Ablation that the run belongs to, with settings of its own; empty for the tables.
    variant : str
        What the method is varied in: an encoder layer, a plan, what it may see.

    Examples
    --------
    >>> cell = Cell("covtype", "reference", 0, 2, "goat", 4)
    >>> Cell.from_key(cell.key) == cell
    True
    """

    table: str
    preset: str
    seed: int
    n_given: int
    method: str
    n_generated: int = 0
    n_samples: int | None = None
    settings: str = ""
    study: str = ""
    variant: str = ""

    @property
    def key(self) -> str:
        """The cell as canonical JSON."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_key(cls, key: str) -> Cell:
        """The cell of a key."""
        return cls(**json.loads(key))

    @property
    def group(self) -> tuple[str, str, str, int, int | None]:
        """Cells of one group share their source model, encodings and plans."""
        return self.table, self.preset, self.study, self.seed, self.n_samples

    def __str__(self) -> str:
        generated = f"+{self.n_generated}" if self.n_generated else ""
        variant = f" ({self.variant})" if self.variant else ""
        return f"{self.table} {self.method}{variant} given {self.n_given}{generated} seed {self.seed}"
