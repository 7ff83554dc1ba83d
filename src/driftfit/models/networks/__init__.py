"""The paper's networks as plain modules with named layers."""

from driftfit.extras import need

need("torch", "torch", "driftfit.models.networks")

from driftfit.models.networks.autoencoder import ConvVAE, fit_vae, kl_divergence, vae_loss
from driftfit.models.networks.biased import BiasedConv2d
from driftfit.models.networks.convolutional import conv_net, paper_conv_net, reference_conv_net
from driftfit.models.networks.cuts import INPUT, layer_names, split
from driftfit.models.networks.perceptron import mlp
from driftfit.models.networks.spec import build, describe
from driftfit.models.networks.wide import WideLinear

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
