"""Deep CORAL (Sun and Saenko 2016): equal covariances of the scores, or of features, on both sides."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from driftfit.methods.baselines.pairs import Pair, check_strength


@dataclass(frozen=True)
class DeepCoral:
    """Classification loss plus ``weight`` times the CORAL loss, of the scores unless a layer is named.

    ``weight``: 0 switches the alignment off. The paper sets it by hand, such that both losses are about equal at the
    end of the training; for scores 1 is of that order. Features of a hidden layer have any scale, and need a weight of
    their own.
    """

    weight: float = 1.0

    aligns_features: ClassVar[bool] = True
    aligns_scores: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_strength(self.weight, "weight")

    def networks(self, n_features: int, n_classes: int) -> nn.Module:
        return nn.ModuleDict()

    def prepare(self, pair: Pair) -> Tensor | None:
        return None

    def loss(self, pair: Pair) -> Tensor:
        if self.weight == 0:
            return cross_entropy(pair.scores(pair.x0), pair.y0)
        out = pair.outputs()
        return cross_entropy(out.scores0, pair.y0) + self.weight * coral_loss(out.features0, out.features1)


def coral_loss(features0: Tensor, features1: Tensor) -> Tensor:
    """Squared Frobenius distance of both covariances, over ``4 d^2``.

    With more features than samples the covariances are never formed: with centred and
    scaled rows ``Z`` of both sides, signs ``s`` of the sides and ``G = Z Z^T`` the squared
    distance is the sum of ``s_i s_j G_ij^2``.

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
