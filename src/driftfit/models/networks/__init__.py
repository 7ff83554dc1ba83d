"""The paper's networks as plain modules with named layers."""

from driftfit.extras import need

need("torch", "torch", "driftfit.models.networks")

from driftfit.models.networks.autoencoder import ConvVAE, fit_vae, kl_divergence, vae_loss
from driftfit.models.networks.cuts import AUTO, INPUT, last_hidden_layer, layer_names, split
from driftfit.models.networks.feedforward import build, conv_net, describe, mlp, paper_conv_net, reference_conv_net

__all__ = [
    "mlp",
]
