"""`Table`: which run stands where, as plain data; `Options`: what a user may choose about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from driftfit.errors import InputError
from driftfit.lab.cells import Cell
from driftfit.lab.published import Figure

__all__ = ["Options", "Place", "Table"]


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

    Attributes
    ----------
    row, column : str
    cell : Cell
        The run behind it, with seed 0 standing for all seeds.
    published : (float, float) or None
        Mean and half width of the interval in the paper.
    measure : str
        Which accuracy of the run.
    """

    row: str
    column: str
    cell: Cell
    published: Figure | None = None
    measure: str = "transductive_last"


@dataclass(frozen=True)
class Table:
    """Places in order; rows and columns appear as they first do there.

    Attributes
    ----------
    name, title : str
    corner : str
        What the rows are.
    places : tuple of Place
    note : str
        What a reader must know to compare.
    figure : bool
        Whether it is also drawn.
    contender : str
        Row that is compared with all others, seed by seed.
    first_seed : int
        Runs have this seed and those behind it.
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
        if seeds < 1:
            raise InputError(f"seeds must be at least 1, got {seeds!r}")
        templates = dict.fromkeys(place.cell for place in self.places)
        return [
            replace(cell, seed=seed) for seed in range(self.first_seed, self.first_seed + seeds) for cell in templates
        ]
