"""The paper's convolutional network, in both readings."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn

from driftfit.errors import InputError
from driftfit.models.networks.biased import BiasedConv2d
from driftfit.models.networks.wide import WideLinear

__all__ = ["conv_net", "paper_conv_net", "reference_conv_net"]


def conv_net(
    size: int,
    n_classes: int,
    *,
    n_conv: int,
    hidden: tuple[int, ...],
    width: int = 32,
    in_channels: int = 1,
    dropout: float = 0.5,
    half: bool = False,
) -> nn.Sequential:
    """Convolutions of one width without pooling, then fully connected layers.

    The layers are named ``conv1 ..``, ``flatten``, ``fc1 ..``, ``dropout``, ``norm``,
    ``output``; ``conv2`` and ``fc2`` include their ReLU.

    Parameters
    ----------
    size : int
        Height and width of the square images.
    n_classes : int
    n_conv : int
        Convolutions of 3 x 3 with padding that keeps the size.
    hidden : tuple of int
        Neurons of the fully connected layers.
    width, in_channels : int
        Channels of the convolutions and of the images.
    dropout : float
    half : bool
        Train the convolutions in bfloat16 on a GPU, where Triton is installed: a training step takes half the time.
        Predictions are computed as ever.

    Examples
    --------
    >>> net = conv_net(8, 3, n_conv=2, hidden=(16,))
    >>> [name for name, _ in net.named_children()]
    ['conv1', 'conv2', 'flatten', 'fc1', 'dropout', 'norm', 'output']
    """
    if n_conv < 1 or not hidden:
        raise InputError(f"a network needs a convolution and a hidden layer, got n_conv={n_conv!r}, hidden={hidden!r}")
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    channels = in_channels
    for i in range(1, n_conv + 1):
        layers[f"conv{i}"] = nn.Sequential(BiasedConv2d(channels, width, 3, padding=1, half=half), nn.ReLU())
        channels = width
    layers["flatten"] = nn.Flatten()
    features = channels * size * size
    for i, neurons in enumerate(hidden, start=1):
        kind = WideLinear if i == 1 else nn.Linear
        layers[f"fc{i}"] = nn.Sequential(kind(features, neurons), nn.ReLU())
        features = neurons
    layers["dropout"] = nn.Dropout(dropout)
    layers["norm"] = nn.BatchNorm1d(features)
    layers["output"] = nn.Linear(features, n_classes)
    return nn.Sequential(layers)


def reference_conv_net(size: int, n_classes: int, *, half: bool = False) -> nn.Sequential:
    """The network behind the published tables: three convolutions, two layers of 128.

    >>> sum(p.numel() for p in reference_conv_net(28, 10).parameters())
    3248266
    """
    return conv_net(size, n_classes, n_conv=3, hidden=(128, 128), half=half)


def paper_conv_net(size: int, n_classes: int, *, half: bool = False) -> nn.Sequential:
    """The network of the paper's text: four convolutions, three layers of 1024.

    >>> [name for name, _ in paper_conv_net(4, 2).named_children()][:5]
    ['conv1', 'conv2', 'conv3', 'conv4', 'flatten']
    """
    return conv_net(size, n_classes, n_conv=4, hidden=(1024, 1024, 1024), half=half)
