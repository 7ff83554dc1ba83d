"""The methods that a table may be adapted by, each with what it assumes."""

from __future__ import annotations

from driftfit.methods import (
    Assumption,
    CarriedLabels,
    CovarianceAlignment,
    ImportanceWeights,
    Method,
    OwnRank,
    OwnScale,
    ProportionCorrection,
    RecentScale,
    Transport,
)

__all__ = ["MAIN", "table_methods"]

PROPORTIONS, RECENT = "proportions", "recent scale"
# What is done where an assumption is declared and stands; structure and path compare several methods.
MAIN: dict[Assumption, str] = {
    Assumption.COVARIATES: "importance weights",
    Assumption.PROPORTIONS: PROPORTIONS,
    Assumption.SCALE: "own scale",
}


def table_methods(max_samples: int = 2_000, seed: int = 0, *, in_order: bool = True) -> dict[str, Method]:
    """Everything that labels of today are asked to compare, by name.

    Parameters
    ----------
    max_samples : int
        Rows of a window that plans are made between.
    seed : int
    in_order : bool
        Whether the rows of a window stand in their order, so that each can be compared with those before it.
    """
    plans = Transport(max_samples=max_samples, seed=seed, certified=False)
    ordered: dict[str, Method] = {RECENT: RecentScale()} if in_order else {}
    return ordered | {
        "own scale": OwnScale(),
        "own rank": OwnRank(),
        "covariance": CovarianceAlignment(),
        "own scale, proportions": OwnScale(then=ProportionCorrection(seed=seed)),
        "own scale, carried labels": OwnScale(then=CarriedLabels(transport=plans, direct=True, joint=True)),
        PROPORTIONS: ProportionCorrection(seed=seed),
        "importance weights": ImportanceWeights(),
    }
