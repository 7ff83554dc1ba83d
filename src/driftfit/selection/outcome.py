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

    Attributes
    ----------
    n_generated : int
        Domains that it generates between two neighbours.
    how : str
        ``selection`` where candidates were compared, ``rule`` where that would have cost too much.
    sentence : str
        The choice in words.
    scores : dict
        Score of each candidate that ran, by name; also of those struck out.
    validation_rows : int array
        Target rows that the scores were taken on, as numbers in the sample that was judged.
    validation_labels : array
        Their pseudo-labels, where the evidence needs some.
    best : str or int or None
        Name of the candidate; None where nothing was compared.
    runner_up : str or int or None
        The next one that was not struck out.
    reference : str or int or None
        The candidate that the others are compared with, such as the source model.
    gains : dict
        `Gain` of each candidate over the reference.
    struck : dict
        Why a candidate cannot be chosen whatever its score.
    failed : dict
        What a candidate that could not run said.
    members : dict
        Weights of the candidates that answer together, where the score could not tell them apart.
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
