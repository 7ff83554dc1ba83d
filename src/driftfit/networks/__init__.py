"""The paper's networks as plain modules with named layers."""

from driftfit.extras import need

need("torch", "torch", "driftfit.networks")

from driftfit.networks.autoencoder import ConvVAE, fit_vae, kl_divergence, vae_loss
from driftfit.networks.biased import BiasedConv2d
from driftfit.networks.convolutional import conv_net, paper_conv_net, reference_conv_net
from driftfit.networks.cuts import INPUT, layer_names, split
from driftfit.networks.perceptron import mlp
from driftfit.networks.spec import build, describe
from driftfit.networks.wide import WideLinear

__all__ = [
    "INPUT",
    "BiasedConv2d",
    "ConvVAE",
    "WideLinear",
    "build",
    "conv_net",
    "describe",
    "fit_vae",
    "kl_divergence",
    "layer_names",
    "mlp",
    "paper_conv_net",
    "reference_conv_net",
    "split",
    "vae_loss",
]
