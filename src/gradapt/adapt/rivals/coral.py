"""Deep CORAL (Sun and Saenko 2016): equal covariances of the features on both sides."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from gradapt.adapt.rivals.pairs import Pair, check_strength

__all__ = ["DeepCoral", "coral_loss"]


@dataclass(frozen=True)
class DeepCoral:
    """Classification loss plus ``weight`` times the CORAL loss of the features.

    Attributes
    ----------
    weight : float or None
        0 switches the alignment off. None: one over the CORAL loss of the first pair of
        batches. The paper sets the weight by hand, such that both losses are about equal at
        the end of the training, since the raw loss depends on the number and the scale of
        the features; a loss that begins at 1 and falls as the classification loss does
        follows that rule without looking at the end, and at any scale.
    """

    weight: float | None = None

    aligns_features: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.weight is not None:
            check_strength(self.weight, "weight")

    def networks(self, n_features: int, n_classes: int) -> nn.Module:
        first = nn.Module()
        # Part of the state, so that a captured step can write it and a new training resets it.
        first.register_buffer("loss", torch.zeros(()))
        return first

    def prepare(self, pair: Pair) -> Tensor | None:
        return None

    def loss(self, pair: Pair) -> Tensor:
        if self.weight == 0:
            return cross_entropy(pair.scores(pair.x0), pair.y0)
        out = pair.outputs()
        coral = coral_loss(out.features0, out.features1)
        weight = 1.0 / _first_loss(pair, coral.detach()) if self.weight is None else self.weight
        return cross_entropy(out.scores0, pair.y0) + weight * coral


def _first_loss(pair: Pair, loss: Tensor) -> Tensor:
    """The loss of the first step of the training."""
    first = pair.extra.get_buffer("loss")
    # Features that are constant on both sides have nothing to align: any divisor will do.
    first.copy_(torch.where(pair.progress == 0, loss.clamp_min(torch.finfo(loss.dtype).tiny), first))
    return first.clone()


def coral_loss(features0: Tensor, features1: Tensor) -> Tensor:
    """Squared Frobenius distance of both covariances, over ``4 d^2``.

    With more features than samples the covariances are never formed: with centred and
    scaled rows ``Z`` of both sides, signs ``s`` of the sides and ``G = Z Z^T`` the squared
    distance is the sum of ``s_i s_j G_ij^2``.

    Examples
    --------
    >>> coral_loss(torch.tensor([[0.0], [2.0]]), torch.tensor([[0.0], [4.0]])).item()
    9.0
    """
    z0, z1 = _centred(features0), _centred(features1)
    n_features = features0.shape[1]
    if n_features <= len(z0) + len(z1):
        squared = (z0.T @ z0 - z1.T @ z1).square().sum()
    else:
        rows = torch.cat([z0, z1])
        signs = torch.cat([torch.ones_like(z0[:, 0]), -torch.ones_like(z1[:, 0])])
        squared = signs @ (rows @ rows.T).square() @ signs
    return squared / (4.0 * n_features**2)


def _centred(features: Tensor) -> Tensor:
    return (features - features.mean(0)) / sqrt(len(features) - 1)
