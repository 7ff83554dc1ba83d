"""`Distortion`: how far a plan bends the distances inside two clouds, and what no plan can do better."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Distortion"]


@dataclass(frozen=True)
class Distortion:
    """Mean squared difference between the distances of two pairs that a plan joins.

    For a plan ``T`` it is the sum of ``(D0[i, j] - D1[k, l])^2 T[i, k] T[j, l]``: the loss of
    Gromov and Wasserstein. ``D0`` and ``D1`` are squared Euclidean distances, or those that the solver was given.

    Attributes
    ----------
    value : float
        The loss of the plan.
    lower : float
        No plan between the two clouds has a smaller loss: this is proven.
    bound : str
        Where ``lower`` comes from: ``"moments"`` (second moments and distances from the centre, Delon, Desolneux and
        Salmona), ``"distances"`` (how all distances are distributed, Memoli's second bound) or ``"none"``.
    history : tuple of float
        What was minimised after each exact step, for the start that was best. It never rises.
    start : str
        The start that was best.
    """

    value: float
    lower: float
    bound: str
    history: tuple[float, ...]
    start: str
