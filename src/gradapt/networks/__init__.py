"""The paper's networks as plain modules with named layers."""

from gradapt.extras import need

need("torch", "torch", "gradapt.networks")

from gradapt.networks.autoencoder import ConvVAE, fit_vae, kl_divergence, vae_loss
from gradapt.networks.biased import BiasedConv2d
from gradapt.networks.convolutional import conv_net, paper_conv_net, reference_conv_net
from gradapt.networks.cuts import INPUT, layer_names, split
from gradapt.networks.perceptron import mlp
from gradapt.networks.spec import build, describe
from gradapt.networks.wide import WideLinear

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
