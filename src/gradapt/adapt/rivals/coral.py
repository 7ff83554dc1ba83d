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
        0 switches the alignment off. None balances: the weight is the ratio of both losses
        at every step, a constant to the gradient, so that both terms are equal. The paper
        sets the weight by hand such that both are about equal at the end of the training.
    """

    weight: float | None = None

    aligns_features: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.weight is not None:
            check_strength(self.weight, "weight")

    def networks(self, n_features: int, n_classes: int) -> nn.Module:
        return nn.ModuleDict()

    def prepare(self, pair: Pair) -> Tensor | None:
        return None

    def loss(self, pair: Pair) -> Tensor:
        if self.weight == 0:
            return cross_entropy(pair.scores(pair.x0), pair.y0)
        out = pair.outputs()
        classification = cross_entropy(out.scores0, pair.y0)
        coral = coral_loss(out.features0, out.features1)
        if self.weight is not None:
            return classification + self.weight * coral
        tiny = torch.finfo(coral.dtype).tiny
        return classification + classification.detach() * coral / coral.detach().clamp_min(tiny)


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
