"""DANN (Ganin et al. 2016): features by which a discriminator cannot tell the domains apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, softplus

from driftfit.methods.baselines.pairs import Pair, check_strength
from driftfit.models.networks import mlp


@dataclass(frozen=True)
class DANN:
    """Domain-adversarial training: classification loss plus a domain discriminator behind a gradient reversal.

    The discriminator learns to tell the features of both sides apart; the encoder gets its
    gradient reversed, times ``strength * (2 / (1 + exp(-10 p)) - 1)`` at the share ``p`` of the training.

    Attributes
    ----------
    strength : float
        1 is the paper's; 0 switches the alignment off.
    hidden : tuple of int
        Neurons of the discriminator; one layer of 100 is the paper's for digits.
    """

    strength: float = 1.0
    hidden: tuple[int, ...] = (100,)

    aligns_features: ClassVar[bool] = True
    aligns_scores: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_strength(self.strength, "strength")
        object.__setattr__(self, "hidden", tuple(self.hidden))

    def networks(self, n_features: int, n_classes: int) -> nn.Module:
        return mlp(n_features, 1, hidden=tuple(self.hidden), dropout=0.0, batch_norm=False)

    def prepare(self, pair: Pair) -> Tensor | None:
        return None

    def loss(self, pair: Pair) -> Tensor:
        if self.strength == 0:
            return cross_entropy(pair.scores(pair.x0), pair.y0)
        out = pair.outputs()
        strength = self.strength * reversal_strength(pair.progress)
        features = reverse_gradient(torch.cat([out.features0, out.features1]), strength)
        judged = pair.extra(features).squeeze(1)
        n0 = len(pair.x0)
        # The logistic loss of each side is averaged over that side, as in the paper.
        domain_loss = softplus(-judged[:n0]).mean() + softplus(judged[n0:]).mean()
        return cross_entropy(out.scores0, pair.y0) + domain_loss


def reversal_strength(progress: Tensor) -> Tensor:
    """The paper's schedule ``2 / (1 + exp(-10 p)) - 1``.

    >>> reversal_strength(torch.tensor([0.0, 1.0])).tolist()
    [0.0, 0.9999091625213623]
    """
    return 2.0 / (1.0 + torch.exp(-10.0 * progress)) - 1.0


def reverse_gradient(values: Tensor, strength: Tensor) -> Tensor:
    """The values as they are; their gradient is turned around, times the strength.

    >>> x = torch.ones(1, requires_grad=True)
    >>> (3 * reverse_gradient(x, torch.tensor(0.5))).sum().backward()
    >>> x.grad.item()
    -1.5
    """
    reversed_values: Tensor = _Reversal.apply(values, strength)  # type: ignore[no-untyped-call]
    return reversed_values


class _Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, strength: Tensor) -> Tensor:
        ctx.save_for_backward(strength)
        return values.view_as(values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (strength,) = ctx.saved_tensors
        return -strength * gradient, None
