"""`Choice`: which candidate was taken, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Gain:
    """Score of a candidate less that of the reference, with a 95 % interval over target rows."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Choice:
    """A candidate that was chosen without labels, and why.

    ``n_generated``: domains that it generates between two neighbours. ``how``: ``selection`` where candidates were
    compared, ``rule`` where that would have cost too much. ``sentence``: the choice in words. ``scores``: score of each
    candidate that ran, by name; also of those struck out. ``validation_rows``: target rows that the scores were taken
    on, as numbers in the sample that was judged. ``validation_labels``: their pseudo-labels, where the evidence needs
    some. ``best``: name of the candidate; None where nothing was compared. ``runner_up``: the next one that was not
    struck out. ``reference``: the candidate that the others are compared with, such as the source model. ``gains``:
    `Gain` of each candidate over the reference. ``struck``: why a candidate cannot be chosen whatever its score.
    ``failed``: what a candidate that could not run said. ``members``: weights of the candidates that answer together,
    where the score could not tell them apart.
    """

    n_generated: int
    how: str
    sentence: str
    scores: dict[Any, float] = field(default_factory=dict)
    validation_rows: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    validation_labels: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    best: Any = None
    runner_up: Any = None
    reference: Any = None
    gains: Mapping[Any, Gain] = field(default_factory=dict)
    struck: Mapping[Any, str] = field(default_factory=dict)
    failed: Mapping[Any, str] = field(default_factory=dict)
    members: Mapping[Any, float] = field(default_factory=dict)
