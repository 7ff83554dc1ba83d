"""The paper's networks as plain modules with named layers."""

from gradapt.networks.cuts import INPUT, layer_names, split
from gradapt.networks.images import conv_net, paper_conv_net, reference_conv_net
from gradapt.networks.spec import build, describe
from gradapt.networks.tables import mlp
from gradapt.networks.wide import WideLinear

__all__ = [
    "INPUT",
    "WideLinear",
    "build",
    "conv_net",
    "describe",
    "layer_names",
    "mlp",
    "paper_conv_net",
    "reference_conv_net",
    "split",
]
