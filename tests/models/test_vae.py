"""The auto-encoder: shapes, loss in closed form, training that learns and repeats to the bit."""

import pytest
import torch
from torch.distributions import Bernoulli, Normal
from torch.distributions import kl_divergence as torch_kl

from driftfit.errors import InputError
from driftfit.models.networks import ConvVAE, fit_vae, kl_divergence, vae_loss


def small_vae(seed=0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return ConvVAE(8, latent=5, hidden=16, width=4)


def bars(n=60):
    """Images of one bright line at one of eight heights."""
    images = torch.zeros(n, 1, 8, 8)
    images[torch.arange(n), 0, torch.arange(n) % 8] = 1.0
    return images


@pytest.mark.parametrize(("size", "channels"), [(28, 1), (8, 3), (4, 1)])
def test_images_come_back_in_their_shape(size, channels):
    vae = ConvVAE(size, in_channels=channels, latent=7)
    images = torch.rand(3, channels, size, size)
    logits, mean, log_var = vae(images, torch.zeros(3, 7))
    assert logits.shape == images.shape
    assert mean.shape == log_var.shape == (3, 7)
    assert torch.equal(vae.latents(images), mean)
    assert torch.equal(vae.images(mean), logits.sigmoid())


def test_the_network_is_the_one_the_paper_describes():
    layers = list(ConvVAE().modules())
    convolutions = [m for m in layers if isinstance(m, torch.nn.Conv2d)]
    transposed = [m for m in layers if isinstance(m, torch.nn.ConvTranspose2d)]
    assert [m.kernel_size for m in convolutions] == [(3, 3)] * 4
    assert [m.kernel_size for m in transposed] == [(3, 3)] * 4
    assert sum(isinstance(m, torch.nn.MaxPool2d) for m in layers) == 2
    assert ConvVAE().encoder.fc[0].out_features == ConvVAE().mean.out_features == 128


def test_decoded_images_lie_within_zero_and_one_even_far_from_the_data():
    images = small_vae().images(100 * torch.randn(50, 5))
    assert images.min() >= 0
    assert images.max() <= 1


def test_divergence_and_loss_agree_with_torch_distributions():
    mean, log_var, logits = torch.randn(6, 5), torch.randn(6, 5), torch.randn(6, 1, 8, 8)
    images = bars(6)
    expected = torch_kl(Normal(mean, (0.5 * log_var).exp()), Normal(0.0, 1.0)).sum(1)
    assert torch.allclose(kl_divergence(mean, log_var), expected, atol=1e-5)
    pixels = -Bernoulli(logits=logits).log_prob(images).flatten(1).sum(1)
    assert torch.allclose(vae_loss(logits, images, mean, log_var), (pixels + expected).mean(), rtol=1e-5)


def test_noise_moves_the_latent_point_by_the_deviation():
    vae, images = small_vae(), bars(2)
    noise = torch.randn(2, 5)
    mean, log_var = vae.encode(images)
    assert torch.allclose(vae(images, noise)[0], vae.decode(mean + noise * log_var.exp().sqrt()), atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
def test_training_learns_to_tell_the_images_apart(seed):
    images = torch.zeros(64, 1, 16, 16)
    for i, image in enumerate(images[:, 0]):
        image[4 * (i % 4) : 4 * (i % 4) + 4] = 1.0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        vae = ConvVAE(16, latent=5, hidden=16, width=8)
    seen = []
    losses = fit_vae(
        vae, images, epochs=80, batch_size=32, lr=3e-3, seed=seed, on_epoch=lambda *state: seen.append(state)
    )
    assert seen == list(enumerate(losses, start=1))
    assert losses[-1] < 0.5 * losses[0]
    # The mean image, the best answer of a decoder that ignores its input, has an error of 3/16.
    assert (vae.images(vae.latents(images)) - images).square().mean() < 0.5 * 3 / 16


def test_one_seed_gives_the_same_bits_and_another_does_not():
    weights = []
    for seed in (3, 3, 4):
        vae = small_vae()
        torch.rand(seed)  # the global generator has no say
        fit_vae(vae, bars(), epochs=2, batch_size=32, seed=seed)
        weights.append(torch.cat([p.detach().flatten() for p in vae.parameters()]))
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize("size", [0, 2, 30])
def test_sizes_that_cannot_be_halved_twice_are_refused(size):
    with pytest.raises(InputError, match=rf"multiple of 4, got {size}"):
        ConvVAE(size)


@pytest.mark.parametrize(
    ("images", "options", "message"),
    [
        (bars(), {"epochs": 0}, "epochs and batch_size"),
        (bars(), {"epochs": 1, "batch_size": 0}, "epochs and batch_size"),
        (255 * bars(), {"epochs": 1}, "divide bytes by 255"),
        (bars() - 0.5, {"epochs": 1}, "pixels in"),
        (bars() * float("nan"), {"epochs": 1}, "pixels in"),
        (bars(0), {"epochs": 1}, "pixels in"),
    ],
)
def test_bad_training_options_are_refused(images, options, message):
    with pytest.raises(InputError, match=message):
        fit_vae(small_vae(), images, **options)


def test_impossible_widths_are_refused():
    with pytest.raises(InputError, match="at least 1"):
        ConvVAE(28, latent=0)
