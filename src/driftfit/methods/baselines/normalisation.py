"""AdaBN (Li et al. 2017): normalisation layers know the target, and nothing else does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from driftfit.methods.baselines.pairs import Pair


@dataclass(frozen=True)
class TargetStatistics:
    """Training on the labelled side alone; the running statistics of normalisation layers are the target's.

    Nothing is aligned by a loss. This is what every baseline gets for free from sending the
    target through normalisation layers, and so the control of them all.
    """

    aligns_features: ClassVar[bool] = False
    aligns_scores: ClassVar[bool] = False

    def networks(self, n_features: int, n_classes: int) -> nn.Module:
        return nn.ModuleDict()

    def prepare(self, pair: Pair) -> Tensor | None:
        return None

    def loss(self, pair: Pair) -> Tensor:
        return cross_entropy(pair.outputs().scores0, pair.y0)
