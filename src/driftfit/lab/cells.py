"""`Cell`: one number of a table, as plain data; `Table`: which run stands where; `Options`: what a user may choose."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from driftfit.errors import InputError

# Mean and half width of the 95 % confidence interval, in percent.
Figure = tuple[float, float]

# Far more than anyone runs; all cells of a table are held at once.
_MOST_SEEDS = 10_000


@dataclass(frozen=True, order=True)
class Cell:
    """One run: which table, which method, how many domains, which seed.

    ``table``: name of the benchmark, the data that the run is about. ``preset``: which reading of the paper the run
    follows. ``n_given``: given domains between source and target. ``method``: one of `driftfit.lab.configurations`.
    ``n_generated``: domains generated between each two neighbours. ``n_samples``: at most this many samples in each
    domain; None: all. ``settings``: digest of the preset's settings, so that a changed preset makes new cells.
    ``study``: ablation that the run belongs to, with settings of its own; empty for the tables. ``variant``: what the
    method is varied in: an encoder layer, a plan, what it may see.

    >>> cell = Cell("covtype", "reference", 0, 2, "goat", 4)
    >>> str(cell)
    'covtype goat given 2+4 seed 0'
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

    @property
    def group(self) -> tuple[str, str, str, int, int | None]:
        """Cells of one group share their source model, encodings and plans."""
        return self.table, self.preset, self.study, self.seed, self.n_samples

    def __str__(self) -> str:
        generated = f"+{self.n_generated}" if self.n_generated else ""
        variant = f" ({self.variant})" if self.variant else ""
        return f"{self.table} {self.method}{variant} given {self.n_given}{generated} seed {self.seed}"


@dataclass(frozen=True)
class Options:
    """What a user may choose about a table; None: what the table has by itself."""

    preset: str = "reference"
    given: Sequence[int] | None = None
    generated: Sequence[int] | None = None
    n_samples: int | None = None
    with_given: bool = False
    first_seed: int = 0

    def __post_init__(self) -> None:
        for name in ("given", "generated"):
            counts = getattr(self, name)
            if counts is not None and (not counts or min(counts) < 0):
                shown = ",".join(map(str, counts))
                raise InputError(f"--{name} takes counts of 0 or more such as 0,2,4, got {shown!r}")
            if counts is not None and len(set(counts)) < len(counts):
                raise InputError(f"--{name} names a count twice: {','.join(map(str, counts))}")
        if self.n_samples is not None and self.n_samples < 2:
            raise InputError(f"--samples must be at least 2, got {self.n_samples!r}")


@dataclass(frozen=True)
class Place:
    """One number of a table.

    ``cell``: the run behind it, with seed 0 standing for all seeds. ``published``: mean and half width of the interval
    in the paper. ``measure``: which accuracy of the run.
    """

    row: str
    column: str
    cell: Cell
    published: Figure | None = None
    measure: str = "transductive_last"


@dataclass(frozen=True)
class Table:
    """Places in order; rows and columns appear as they first do there.

    ``corner``: what the rows are. ``note``: what a reader must know to compare. ``figure``: whether it is also drawn.
    ``contender``: row that is compared with all others, seed by seed. ``first_seed``: runs have this seed and those
    behind it.
    """

    name: str
    title: str
    corner: str
    places: tuple[Place, ...]
    note: str = ""
    figure: bool = False
    contender: str = ""
    first_seed: int = 0

    def cells(self, seeds: int) -> list[Cell]:
        """The runs behind all places, each once."""
        if not 1 <= seeds <= _MOST_SEEDS:
            raise InputError(f"seeds must be at least 1 and at most {_MOST_SEEDS}, got {seeds!r}")
        templates = dict.fromkeys(place.cell for place in self.places)
        return [
            replace(cell, seed=seed) for seed in range(self.first_seed, self.first_seed + seeds) for cell in templates
        ]
