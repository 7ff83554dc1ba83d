"""Networks as plain data: a nested description that can be written as JSON and built again."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from torch import nn

from driftfit.errors import InputError, one_line
from driftfit.models.networks.biased import BiasedConv2d
from driftfit.models.networks.chains import children
from driftfit.models.networks.wide import WideLinear

__all__ = ["build", "describe"]

# Layers that are known by name, with the attributes their constructors take.
_LAYERS: dict[str, tuple[type[nn.Module], tuple[str, ...]]] = {
    "Linear": (nn.Linear, ("in_features", "out_features")),
    "WideLinear": (WideLinear, ("in_features", "out_features")),
    "Conv2d": (nn.Conv2d, ("in_channels", "out_channels", "kernel_size", "stride", "padding")),
    "BiasedConv2d": (BiasedConv2d, ("in_channels", "out_channels", "kernel_size", "stride", "padding")),
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


def describe(module: nn.Module) -> dict[str, Any] | None:
    """What is needed to build a network of known layers again, without its weights; None for others.

    >>> describe(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))["children"]["0"]
    {'layer': 'Linear', 'in_features': 2, 'out_features': 3, 'bias': True}
    """
    if type(module) is nn.Sequential:
        layers = {name: describe(child) for name, child in children(module)}
        if any(layer is None for layer in layers.values()):
            return None
        return {"layer": "Sequential", "children": layers}
    for name, (kind, attributes) in _LAYERS.items():
        if type(module) is kind:
            spec = {"layer": name, **{key: _plain(getattr(module, key)) for key in attributes}}
            if name in ("Linear", "WideLinear", "Conv2d", "BiasedConv2d"):
                spec["bias"] = module.bias is not None
            if isinstance(module, BiasedConv2d) and module.half_in_training:
                spec["half"] = True
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
    if name == "Sequential":
        return nn.Sequential(OrderedDict((key, build(child)) for key, child in options["children"].items()))
    if name not in _LAYERS:
        raise InputError(
            f"the description names the layer {one_line(name, 40)!r}; known are Sequential, {', '.join(_LAYERS)}"
        )
    options = {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
    return _LAYERS[name][0](**options)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
