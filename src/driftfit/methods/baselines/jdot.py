"""DeepJDOT (Damodaran et al. 2018): features and labels carried along the optimal plan of each pair of batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from driftfit.errors import InputError
from driftfit.methods.baselines.pairs import Pair, check_strength
from driftfit.transport import Exact, Precomputed, transport


@dataclass(frozen=True)
class DeepJDOT:
    """Classification loss plus the joint cost of features and labels along the plan of the batches.

    At each step the exact plan is computed with the network fixed, then the network is
    trained with the plan fixed.

    ``alpha``: weight of the squared distance of features. ``lambda_t``: weight of the loss of a labelled sample's class
    at an unlabelled sample. Both weights are the paper's; both 0 switch the alignment off.
    """

    alpha: float = 0.001
    lambda_t: float = 0.0001

    aligns_features: ClassVar[bool] = False
    aligns_scores: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_strength(self.alpha, "alpha")
        check_strength(self.lambda_t, "lambda_t")

    def networks(self, n_features: int, n_classes: int) -> nn.Module:
        return nn.ModuleDict()

    def prepare(self, pair: Pair) -> Tensor | None:
        """The optimal plan of this pair of batches, of mass 1."""
        if self._is_off():
            return None
        out = pair.outputs()
        return optimal_plan(joint_cost(out.features0, out.features1, pair.y0, out.scores1, self.alpha, self.lambda_t))

    def loss(self, pair: Pair) -> Tensor:
        if self._is_off():
            return cross_entropy(pair.scores(pair.x0), pair.y0)
        out = pair.outputs()
        cost = joint_cost(out.features0, out.features1, pair.y0, out.scores1, self.alpha, self.lambda_t)
        return cross_entropy(out.scores0, pair.y0) + (pair.ready * cost).sum()

    def _is_off(self) -> bool:
        return self.alpha == 0 and self.lambda_t == 0


def joint_cost(
    features0: Tensor, features1: Tensor, labels0: Tensor, scores1: Tensor, alpha: float, lambda_t: float
) -> Tensor:
    """``alpha |g0_i - g1_j|^2 + lambda_t L(y_i, f_j)`` for all pairs, with the cross-entropy as ``L``."""
    # Distances do not change when both clouds move; near the origin they lose fewer digits.
    middle = features0.detach().mean(0)
    a, b = features0 - middle, features1 - middle
    squared = a.square().sum(1)[:, None] + b.square().sum(1) - 2.0 * (a @ b.T)
    label_loss = -scores1.log_softmax(1).T.index_select(0, labels0)
    return alpha * squared + lambda_t * label_loss


def optimal_plan(cost: Tensor) -> Tensor:
    """The exact plan between uniform weights, as a matrix of mass 1 on the cost's device.

    >>> optimal_plan(torch.tensor([[0.0, 1.0], [0.0, 3.0]])).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    table = cost.detach().double().cpu().numpy()
    if not np.isfinite(table).all():
        raise InputError("the network gave values that are not finite; rescale the samples or lower the step size")
    n0, n1 = table.shape
    plan = np.zeros_like(table)
    if n0 == n1:
        # With equal sizes a vertex of the polytope is a permutation.
        plan[linear_sum_assignment(table)] = 1.0 / n0
    else:
        rows, cols = np.arange(n0)[:, None], np.arange(n1)[:, None]
        sparse = transport(rows, cols, solver=Exact(device="cpu"), cost=Precomputed(table))
        plan[sparse.rows, sparse.cols] = sparse.mass
    return torch.from_numpy(plan).to(cost.device, cost.dtype)
