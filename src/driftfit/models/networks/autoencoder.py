"""The paper's convolutional variational auto-encoder, its loss and its training."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from driftfit.errors import InputError

# Images or latent points in one forward pass without gradients.
_PART = 4096


class ConvVAE(nn.Module):
    """Four 3 x 3 convolutions with max-pooling and a layer of 128 neurons; four transposed convolutions back.

    The text of the paper leaves open where the maxima are taken and how many channels there are. Here the
    first two convolutions are followed by 2 x 2 max-pooling, so that 28 becomes 14 and 7 and no
    side is ever cut to a fraction, and the channels are 32, 32, 64, 64. The decoder is the mirror
    image: its last two transposed convolutions double the side. ReLU follows every layer but the mean, the
    log-variance and the decoder's last one, whose outputs are logits of pixels.

    ``size``: height and width of the square images, divisible by 4. ``latent``: dimension of the latent space.
    ``hidden``: neurons of the fully connected layer in front of it. ``width``: channels of the first two convolutions;
    the next two have twice as many.

    >>> vae = ConvVAE(28)
    >>> mean, log_var = vae.encode(torch.zeros(2, 1, 28, 28))
    >>> mean.shape, vae.decode(mean).shape
    (torch.Size([2, 128]), torch.Size([2, 1, 28, 28]))
    """

    def __init__(
        self, size: int = 28, *, in_channels: int = 1, latent: int = 128, hidden: int = 128, width: int = 32
    ) -> None:
        super().__init__()
        if size < 4 or size % 4:
            raise InputError(f"size must be a positive multiple of 4, got {size!r}; pad the images to one")
        if min(in_channels, latent, hidden, width) < 1:
            raise InputError(
                "in_channels, latent, hidden and width must be at least 1, "
                f"got {in_channels!r}, {latent!r}, {hidden!r} and {width!r}"
            )
        side, wide = size // 4, 2 * width
        self.encoder = nn.Sequential(
            OrderedDict(
                conv1=nn.Sequential(nn.Conv2d(in_channels, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
                conv2=nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
                conv3=nn.Sequential(nn.Conv2d(width, wide, 3, padding=1), nn.ReLU()),
                conv4=nn.Sequential(nn.Conv2d(wide, wide, 3, padding=1), nn.ReLU()),
                flatten=nn.Flatten(),
                fc=nn.Sequential(nn.Linear(wide * side * side, hidden), nn.ReLU()),
            )
        )
        self.mean = nn.Linear(hidden, latent)
        self.log_var = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(
            OrderedDict(
                fc=nn.Sequential(nn.Linear(latent, wide * side * side), nn.ReLU()),
                unflatten=nn.Unflatten(1, (wide, side, side)),
                deconv1=nn.Sequential(nn.ConvTranspose2d(wide, wide, 3, padding=1), nn.ReLU()),
                deconv2=nn.Sequential(nn.ConvTranspose2d(wide, width, 3, padding=1), nn.ReLU()),
                deconv3=nn.Sequential(_doubling(width, width), nn.ReLU()),
                deconv4=_doubling(width, in_channels),
            )
        )

    def encode(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of the latent normal distribution of each image."""
        features = self.encoder(images)
        return self.mean(features), self.log_var(features)

    def decode(self, latents: Tensor) -> Tensor:
        """Logits of the pixels."""
        logits: Tensor = self.decoder(latents)
        return logits

    def forward(self, images: Tensor, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits of the pixels at ``mean + noise * deviation``, with mean and log-variance."""
        mean, log_var = self.encode(images)
        return self.decode(mean + noise * (0.5 * log_var).exp()), mean, log_var

    @torch.no_grad()
    def latents(self, images: Tensor) -> Tensor:
        """Latent means of any number of images."""
        return torch.cat([self.encode(part)[0] for part in torch.split(images, _PART)])

    @torch.no_grad()
    def images(self, latents: Tensor) -> Tensor:
        """Decoded images, with pixels in [0, 1], of any number of latent points."""
        return torch.cat([self.decode(part).sigmoid() for part in torch.split(latents, _PART)])


def kl_divergence(mean: Tensor, log_var: Tensor) -> Tensor:
    """Divergence of normal distributions with diagonal covariance from the standard one, in nats, for each row.

    >>> kl_divergence(torch.tensor([[0.0, 2.0]]), torch.zeros(1, 2))
    tensor([2.])
    """
    return 0.5 * (mean.square() + log_var.exp() - 1.0 - log_var).sum(1)


def vae_loss(logits: Tensor, images: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    """Negative evidence lower bound in nats per image: Bernoulli cross-entropy of the pixels plus divergence."""
    pixels = binary_cross_entropy_with_logits(logits, images, reduction="sum") / len(images)
    return pixels + kl_divergence(mean, log_var).mean()


def fit_vae(
    vae: ConvVAE,
    images: Tensor,
    *,
    epochs: int,
    batch_size: int = 512,
    lr: float = 1e-4,
    seed: int = 0,
    on_epoch: Callable[[int, float], None] | None = None,
) -> list[float]:
    """Train in place with Adam; returns the mean loss of each epoch.

    ``images``: pixels in [0, 1], on the device of the network; they stay there. ``seed``: decides the order of the
    batches and the noise. ``on_epoch``: called with the number and the mean loss of each finished epoch.
    """
    if epochs < 1 or batch_size < 1:
        raise InputError(f"epochs and batch_size must be at least 1, got {epochs!r} and {batch_size!r}")
    if not len(images) or not 0.0 <= float(images.min()) <= float(images.max()) <= 1.0:
        raise InputError("the images must have pixels in [0, 1]; divide bytes by 255")
    device = images.device
    optimiser = torch.optim.Adam(vae.parameters(), lr=lr, fused=device.type == "cuda")
    # Orders come from the CPU, so that they are the same on every device.
    order = torch.Generator().manual_seed(seed)
    noise = torch.Generator(device).manual_seed(seed)
    losses: list[float] = []
    vae.train()
    for epoch in range(1, epochs + 1):
        total = torch.zeros((), device=device)
        for rows in torch.split(torch.randperm(len(images), generator=order).to(device), batch_size):
            batch = images.index_select(0, rows)
            draws = torch.randn(len(rows), vae.mean.out_features, generator=noise, device=device)
            optimiser.zero_grad(set_to_none=True)
            logits, mean, log_var = vae(batch, draws)
            loss = vae_loss(logits, batch, mean, log_var)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            # Summed on the device: reading every loss would wait for every step.
            total += loss.detach() * len(rows)
        losses.append(float(total) / len(images))
        if on_epoch is not None:
            on_epoch(epoch, losses[-1])
    vae.eval()
    return losses


def _doubling(channels: int, out_channels: int) -> nn.ConvTranspose2d:
    return nn.ConvTranspose2d(channels, out_channels, 3, stride=2, padding=1, output_padding=1)
