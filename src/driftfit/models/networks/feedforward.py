"""The paper's networks for tables and images, and networks as plain data: described for JSON and built again."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from torch import nn

from driftfit.errors import InputError, one_line
from driftfit.models.networks.cuts import HalfSequential, children

# Layers that are known by name, with the attributes their constructors take.
_LAYERS: dict[str, tuple[type[nn.Module], tuple[str, ...]]] = {
    "Linear": (nn.Linear, ("in_features", "out_features")),
    "Conv2d": (nn.Conv2d, ("in_channels", "out_channels", "kernel_size", "stride", "padding")),
    "MaxPool2d": (nn.MaxPool2d, ("kernel_size", "stride", "padding")),
    "AvgPool2d": (nn.AvgPool2d, ("kernel_size", "stride", "padding")),
    "BatchNorm1d": (nn.BatchNorm1d, ("num_features", "eps", "momentum")),
    "BatchNorm2d": (nn.BatchNorm2d, ("num_features", "eps", "momentum")),
    "Dropout": (nn.Dropout, ("p",)),
    "Flatten": (nn.Flatten, ("start_dim", "end_dim")),
    "Unflatten": (nn.Unflatten, ("dim", "unflattened_size")),
    "ReLU": (nn.ReLU, ()),
    "GELU": (nn.GELU, ()),
    "Tanh": (nn.Tanh, ()),
    "Identity": (nn.Identity, ()),
}
# Names in files of earlier versions, of layers with the same weights.
_EARLIER = {"WideLinear": "Linear", "BiasedConv2d": "Conv2d"}


def mlp(
    n_features: int,
    n_classes: int,
    *,
    hidden: tuple[int, ...] = (256, 256, 256),
    dropout: float = 0.5,
    batch_norm: bool = True,
) -> nn.Sequential:
    """A multi-layer perceptron with named layers ``fc1 ..``, ``dropout``, ``norm``, ``output``.

    Examples
    --------
    >>> [name for name, _ in mlp(4, 2, hidden=(8,)).named_children()]
    ['fc1', 'dropout', 'norm', 'output']
    """
    if n_features < 1 or n_classes < 1:
        raise InputError(f"n_features and n_classes must be at least 1, got {n_features!r} and {n_classes!r}")
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    width = n_features
    for i, neurons in enumerate(hidden, start=1):
        layers[f"fc{i}"] = nn.Sequential(nn.Linear(width, neurons), nn.ReLU())
        width = neurons
    if dropout:
        layers["dropout"] = nn.Dropout(dropout)
    if batch_norm:
        layers["norm"] = nn.BatchNorm1d(width)
    layers["output"] = nn.Linear(width, n_classes)
    return nn.Sequential(layers)


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

    ``size``: height and width of the square images. ``n_conv``: convolutions of 3 x 3 with padding that keeps the size.
    ``hidden``: neurons of the fully connected layers. ``width`` and ``in_channels``: channels of the convolutions and
    of the images. ``half``: train in bfloat16 on a GPU, by torch's autocast. Weights stay float32, and predictions are
    computed as ever.

    >>> net = conv_net(8, 3, n_conv=2, hidden=(16,))
    >>> [name for name, _ in net.named_children()]
    ['conv1', 'conv2', 'flatten', 'fc1', 'dropout', 'norm', 'output']
    """
    if n_conv < 1 or not hidden:
        raise InputError(f"a network needs a convolution and a hidden layer, got n_conv={n_conv!r}, hidden={hidden!r}")
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    channels = in_channels
    for i in range(1, n_conv + 1):
        layers[f"conv{i}"] = nn.Sequential(nn.Conv2d(channels, width, 3, padding=1), nn.ReLU())
        channels = width
    layers["flatten"] = nn.Flatten()
    features = channels * size * size
    for i, neurons in enumerate(hidden, start=1):
        layers[f"fc{i}"] = nn.Sequential(nn.Linear(features, neurons), nn.ReLU())
        features = neurons
    layers["dropout"] = nn.Dropout(dropout)
    layers["norm"] = nn.BatchNorm1d(features)
    layers["output"] = nn.Linear(features, n_classes)
    return HalfSequential(layers) if half else nn.Sequential(layers)


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


def describe(module: nn.Module) -> dict[str, Any] | None:
    """What is needed to build a network of known layers again, without its weights; None for others.

    >>> describe(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))["children"]["0"]
    {'layer': 'Linear', 'in_features': 2, 'out_features': 3, 'bias': True}
    """
    if type(module) in (nn.Sequential, HalfSequential):
        layers = {name: describe(child) for name, child in children(module)}
        if any(layer is None for layer in layers.values()):
            return None
        half = {"half": True} if type(module) is HalfSequential else {}
        return {"layer": "Sequential", "children": layers, **half}
    for name, (kind, attributes) in _LAYERS.items():
        if type(module) is kind:
            spec = {"layer": name, **{key: _plain(getattr(module, key)) for key in attributes}}
            if name in ("Linear", "Conv2d"):
                spec["bias"] = module.bias is not None
            # A twin with other hidden options (groups, padding mode) would not be the same network.
            return spec if repr(build(spec)) == repr(module) else None
    return None


def build(spec: dict[str, Any]) -> nn.Module:
    """The network of a description, with fresh weights.

    >>> build({"layer": "Linear", "in_features": 2, "out_features": 3, "bias": False})
    Linear(in_features=2, out_features=3, bias=False)
    """
    options = dict(spec)
    name = options.pop("layer", None)
    if name in _EARLIER:
        name = _EARLIER[name]
        options.pop("half", None)
    if name == "Sequential":
        kind = HalfSequential if options.get("half") else nn.Sequential
        return kind(OrderedDict((key, build(child)) for key, child in options["children"].items()))
    if name not in _LAYERS:
        raise InputError(
            f"the description names the layer {one_line(name, 40)!r}; known are Sequential, {', '.join(_LAYERS)}"
        )
    options = {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
    return _LAYERS[name][0](**options)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
