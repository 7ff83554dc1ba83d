"""CoVi (Na et al. 2022): mixtures of both domains around the ratio at which the network is least sure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from driftfit.errors import InputError
from driftfit.methods.baselines.pairs import Pair, check_strength

# Shares of the labelled sample in a mixture; the learner of the original chooses among the same.
RATIOS = tuple(step / 10 for step in range(1, 10))


@dataclass(frozen=True)
class CoVi:
    """Classification loss plus ``weight`` times the three losses of the vicinal space.

    Each unlabelled sample is paired with a labelled one. The mixture of largest entropy
    must show both labels in the proportion of the mixture; a view with more of the
    labelled and a view with less of it are given each other's first label as their second;
    two mixtures of mostly the same unlabelled sample must agree on a label.

    ``weight``: 0 switches the alignment off; the original has no plain classification loss beside. ``margin``: distance
    of the two views from the ratio of largest entropy. ``consensus``: share of the labelled sample in the mixtures of
    the consensus. ``contrast_weight`` and ``consensus_weight``: of the second and the third of the losses, beside the
    mixture of largest entropy. ``sureness``: contrastive views are used where the confidence in the unlabelled sample's
    label is at least the batch's mean less this many standard deviations.
    """

    weight: float = 1.0
    margin: float = 0.1
    consensus: float = 0.1
    contrast_weight: float = 1.0
    consensus_weight: float = 1.0
    sureness: float = 1.0

    aligns_features: ClassVar[bool] = False
    aligns_scores: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("weight", "contrast_weight", "consensus_weight"):
            check_strength(getattr(self, name), name)
        for name, largest in (("margin", 0.4), ("consensus", 0.5)):
            value = getattr(self, name)
            if not 0 < value < largest:
                raise InputError(f"{name} must lie strictly between 0 and {largest}, got {value!r}")

    def networks(self, n_features: int, n_classes: int) -> nn.Module:
        return nn.ModuleDict()

    def prepare(self, pair: Pair) -> Tensor | None:
        """For each unlabelled sample: the ratio, its label by the network, and whether views are used."""
        if self.weight == 0:
            return None
        x0, _ = _partners(pair)
        ratio = most_uncertain_ratio(pair, x0)
        sure, label = pair.scores(pair.x1).softmax(1).max(1)
        used = sure >= sure.mean() - self.sureness * sure.std()
        # Views stay between the first and the last ratio; room for the rounding of sums of tenths.
        room = ((RATIOS[-1] + 1e-6) - ratio >= self.margin) & (ratio - (RATIOS[0] - 1e-6) >= self.margin)
        return torch.stack([ratio, label.to(ratio.dtype), (used & room).to(ratio.dtype)])

    def loss(self, pair: Pair) -> Tensor:
        if self.weight == 0:
            return cross_entropy(pair.scores(pair.x0), pair.y0)
        ratio, used = pair.ready[0], pair.ready[2]
        label1 = pair.ready[1].long()
        x0, y0 = _partners(pair)
        # Where there is no room for them the views are not used; they must not leave the way for that.
        upper, lower = (ratio + self.margin).clamp_max(1.0), (ratio - self.margin).clamp_min(0.0)
        few = torch.full_like(ratio, self.consensus)
        views = [mix(x0, pair.x1, share) for share in (ratio, upper, lower, few)]
        # The batch is in random order: its neighbour is a random other partner.
        views.append(mix(x0.roll(1, 0), pair.x1, few))
        # One pass for all views, also those of weight 0: normalisation layers see the whole way between the domains.
        scores = pair.scores(torch.cat([pair.x0, *views]))
        sizes = [len(pair.x0)] + [len(x0)] * len(views)
        plain, least_sure, more, less, first, second = torch.split(scores, sizes)
        return cross_entropy(plain, pair.y0) + self.weight * (
            _mixed_loss(least_sure, y0, label1, ratio).mean()
            + self.contrast_weight * _contrast(more, less, y0, label1, upper, lower, used)
            + self.consensus_weight * _agreement(first, second)
        )


def mix(x0: Tensor, x1: Tensor, share: Tensor) -> Tensor:
    """``share * x0 + (1 - share) * x1``, with a share for each row.

    >>> mix(torch.zeros(1, 2), torch.ones(1, 2), torch.tensor([0.25])).tolist()
    [[0.75, 0.75]]
    """
    share = share.reshape(-1, *[1] * (x0.ndim - 1))
    return share * x0 + (1.0 - share) * x1


def most_uncertain_ratio(pair: Pair, x0: Tensor) -> Tensor:
    """The share of ``x0`` in each mixture with the unlabelled batch at which the entropy is largest."""
    ratios = torch.arange(1, len(RATIOS) + 1, dtype=x0.dtype, device=x0.device) / 10
    shares = ratios.repeat_interleave(len(x0))
    many = [len(RATIOS)] + [1] * (x0.ndim - 1)
    scores = pair.scores(mix(x0.repeat(many), pair.x1.repeat(many), shares))
    logs = scores.log_softmax(1)
    entropy = -(logs.exp() * logs).sum(1).reshape(len(RATIOS), len(x0))
    return ratios[entropy.argmax(0)]


def consensus_labels(scores: Tensor, other_scores: Tensor) -> Tensor:
    """The class with the largest mean probability of both."""
    return (scores.softmax(1) + other_scores.softmax(1)).argmax(1)


def _partners(pair: Pair) -> tuple[Tensor, Tensor]:
    """A labelled sample and its label for each unlabelled one; the labelled batch again and again if it is shorter."""
    places = torch.arange(len(pair.x1), device=pair.x1.device) % len(pair.x0)
    return pair.x0.index_select(0, places), pair.y0.index_select(0, places)


def _mixed_loss(scores: Tensor, label: Tensor, other: Tensor, share: Tensor) -> Tensor:
    """Cross-entropy of a mixture of two labels for each row."""
    return share * cross_entropy(scores, label, reduction="none") + (1.0 - share) * cross_entropy(
        scores, other, reduction="none"
    )


def _contrast(
    more: Tensor, less: Tensor, y0: Tensor, label1: Tensor, upper: Tensor, lower: Tensor, used: Tensor
) -> Tensor:
    """The second label of each view is the first label of the other."""
    top_more, top_less = more.detach().argmax(1), less.detach().argmax(1)
    losses = _mixed_loss(more, y0, top_less, upper) + _mixed_loss(less, top_more, label1, lower)
    return (used * losses).sum() / (2.0 * used.sum().clamp_min(1.0))


def _agreement(first: Tensor, second: Tensor) -> Tensor:
    label = consensus_labels(first.detach(), second.detach())
    return (cross_entropy(first, label) + cross_entropy(second, label)) / 2.0
