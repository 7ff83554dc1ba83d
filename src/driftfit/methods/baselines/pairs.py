"""What a baseline sees of one training step, and what a baseline is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar, NamedTuple, Protocol

from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from driftfit.errors import InputError


class Outputs(NamedTuple):
    """Flattened features and scores of both sides."""

    features0: Tensor
    features1: Tensor
    scores0: Tensor
    scores1: Tensor


@dataclass(eq=False)
class Pair:
    """A labelled and an unlabelled batch, and the networks they go through.

    ``encoder`` and ``head``: the two parts of the trained network. ``extra``: the baseline's own networks, trained
    along. ``x0``: labelled batch. ``y0``: its class numbers. ``x1``: unlabelled batch. ``progress``: share of the
    training that is done; a tensor, so that a captured step sees it change. ``prepared``: what the baseline's `prepare`
    returned.
    """

    encoder: nn.Module
    head: nn.Module
    extra: nn.Module
    x0: Tensor
    y0: Tensor
    x1: Tensor
    progress: Tensor
    prepared: Tensor | None = None

    @property
    def ready(self) -> Tensor:
        """What `prepare` returned, for a loss that relies on it."""
        if self.prepared is None:
            raise InputError("the loss needs what prepare returns; call prepare before each step")
        return self.prepared

    def scores(self, x: Tensor) -> Tensor:
        scores: Tensor = self.head(self.encoder(x))
        return scores

    def outputs(self) -> Outputs:
        """Both batches through the whole network, one after the other.

        Normalisation layers see each domain by itself, and keep the running statistics of the
        unlabelled side, for which the network is made. Stacked batches would let the
        classification loss of the labelled rows act on the unlabelled ones through the shared
        statistics: it shrinks their features, whatever the baseline's own loss wants.
        """
        parts = self.encoder, self.head
        with own_statistics(*parts, track=False):
            features0 = self.encoder(self.x0)
            scores0 = self.head(features0)
        with own_statistics(*parts, track=self.encoder.training):
            features1 = self.encoder(self.x1)
            scores1 = self.head(features1)
        return Outputs(features0.flatten(1), features1.flatten(1), scores0, scores1)


class Baseline(Protocol):
    """One loss over paired batches, and the networks it needs.

    What is captured as a CUDA graph must not look at values on the host, so losses have
    fixed shapes: weights instead of selections.
    """

    #: Whether nothing is adapted where the encoder has no parameters.
    aligns_features: ClassVar[bool]
    #: Whether by default the scores are aligned, not the features of a hidden layer.
    aligns_scores: ClassVar[bool]

    def networks(self, n_features: int, n_classes: int) -> nn.Module:
        """The baseline's own networks, trained along; an empty module if it has none."""
        ...

    def prepare(self, pair: Pair) -> Tensor | None:
        """Before each step, in evaluation mode and without gradients; of the same shape at each step."""
        ...

    def loss(self, pair: Pair) -> Tensor:
        """The whole loss: classification and alignment."""
        ...


def check_strength(value: Any, name: str) -> None:
    """Raise unless a term's weight is a finite number of at least 0, where 0 switches the term off."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number >= 0, got {value!r}") from None
    if not (isfinite(number) and number >= 0):
        raise InputError(f"{name} must be a finite number >= 0 (0 switches the term off), got {value!r}")


_LAYERS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)


@contextmanager
def own_statistics(*modules: nn.Module, track: bool) -> Iterator[None]:
    """Normalise by the batch's own statistics for a while; ``track`` them for evaluation, or not.

    >>> import torch
    >>> norm = nn.BatchNorm1d(1).eval()
    >>> with own_statistics(norm, track=False):
    ...     norm(torch.tensor([[1.0], [3.0]])).flatten().round().tolist()
    [-1.0, 1.0]
    >>> norm.running_mean.item(), norm.training
    (0.0, False)
    """
    layers = [layer for module in modules for layer in module.modules() if isinstance(layer, _LAYERS)]
    before = [(layer.training, layer.track_running_stats) for layer in layers]
    try:
        for layer in layers:
            layer.training = True
            # A layer that never tracks has no running statistics to write.
            layer.track_running_stats = track and layer.running_mean is not None
        yield
    finally:
        for layer, (training, tracked) in zip(layers, before, strict=True):
            layer.training, layer.track_running_stats = training, tracked


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
