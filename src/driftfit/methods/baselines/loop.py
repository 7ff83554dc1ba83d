"""The one training loop of all baselines: a labelled and an unlabelled batch at every step."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from driftfit.errors import InputError
from driftfit.methods.baselines.layers import parts_at
from driftfit.methods.baselines.pairs import Baseline, Pair
from driftfit.methods.baselines.partners import Partners
from driftfit.models.torch.samples import Samples, dtype_of
from driftfit.models.torch.steps import Steps
from driftfit.models.torch.training import Recipe, seeded
from driftfit.seeds import derive_seed
from driftfit.transport import Plan


class PairedTrainer:
    """Trains one module on pairs of batches, again and again.

    Each training has a new optimiser and newly drawn networks of the baseline.

    Parameters
    ----------
    module : nn.Module
        Trained in place.
    layer : str
        Where encoder and head meet; ``"scores"``: behind the head.
    baseline : Baseline
    recipe : Recipe
        Its early stopping is not used: a held-out loss on the labelled side does not
        tell when the unlabelled side is served best.
    sample_shape : tuple of int
    n_classes : int
    seed : int
        Draws the baseline's networks; each training draws them again from its own.
    capture : bool or None
        Whether to capture the step as a CUDA graph; None: on CUDA.

    Examples
    --------
    >>> from driftfit.methods.baselines import DANN
    >>> from driftfit.models.torch.samples import Stored
    >>> from driftfit.models.networks import mlp
    >>> trainer = PairedTrainer(mlp(2, 2, hidden=(8,)), "fc1", DANN(), Recipe(1, 4), sample_shape=(2,), n_classes=2)
    >>> x0, y0, x1 = torch.zeros(8, 2), torch.arange(8) % 2, torch.ones(12, 2)
    >>> trainer.train(Stored(x0), y0, Stored(x1), seed=0)
    """

    def __init__(
        self,
        module: nn.Module,
        layer: str,
        baseline: Baseline,
        recipe: Recipe,
        *,
        sample_shape: tuple[int, ...],
        n_classes: int,
        seed: int = 0,
        capture: bool | None = None,
    ) -> None:
        if next(module.parameters(), None) is None:
            raise InputError(f"{type(module).__name__} has no parameters to train")
        self.module, self.baseline, self.recipe = module, baseline, recipe
        self.encoder, self.head = parts_at(module, layer)
        if baseline.aligns_features and not any(p.requires_grad for p in self.encoder.parameters()):
            raise InputError(
                f"{type(baseline).__name__} aligns the features at layer {layer!r}, but nothing up to there can be "
                "trained; cut the network at a later layer"
            )
        self.n_classes = n_classes
        self.n_features = _count_features(self.encoder, sample_shape, module)
        self.extra = self._draw_networks(seed)
        self.device, self.capture = next(module.parameters()).device, capture

    def train(
        self,
        samples0: Samples,
        labels0: Tensor,
        samples1: Samples,
        *,
        seed: int,
        epochs: int | None = None,
        plan: Plan | None = None,
    ) -> None:
        """Train on labelled and unlabelled samples.

        Every step takes a full batch of each side, so that one captured step serves the whole
        training; an epoch is one pass over the side with more batches, the ragged end left out.

        Parameters
        ----------
        samples0 : Samples
        labels0 : int tensor
            Class numbers of ``samples0``, on the same device.
        samples1 : Samples
        seed : int
            Draws the baseline's networks, the order of the batches and what dropout drops.
        epochs : int, optional
            Other than the recipe's.
        plan : Plan, optional
            From the labelled to the unlabelled samples: each unlabelled batch meets labelled samples that the plan
            joins to its own, instead of a batch at random.
        """
        self._renew_networks(derive_seed(seed, "networks"))
        both = nn.ModuleDict({"module": self.module, "extra": self.extra})
        steps = Steps(both, self._loss, self.recipe.optimiser, rho=self.recipe.rho, capture=self.capture)
        order0 = _Order(len(samples0), self.recipe.batch_size, derive_seed(seed, "labelled"), self.device)
        order1 = _Order(len(samples1), self.recipe.batch_size, derive_seed(seed, "unlabelled"), self.device)
        partners = None if plan is None else Partners(plan, derive_seed(seed, "partners"), self.device)
        n_epochs = self.recipe.epochs if epochs is None else epochs
        n_steps = n_epochs * max(order0.n_batches, order1.n_batches)
        # Read from the device, so that no step waits for a copy.
        done = (torch.arange(n_steps, dtype=torch.float64) / n_steps).to(self.device, dtype_of(self.module))
        with seeded(seed, self.device):
            for step in range(n_steps):
                rows1 = order1.next()
                rows0 = order0.next() if partners is None else partners.of(rows1, order1.n_passes)
                batches = samples0.take(rows0), labels0.index_select(0, rows0), samples1.take(rows1), done[step]
                steps.take(*batches, self._prepared(*batches))

    def _prepared(self, x0: Tensor, y0: Tensor, x1: Tensor, progress: Tensor) -> Tensor | None:
        self._set_mode(training=False)
        with torch.no_grad():
            return self.baseline.prepare(self._pair(x0, y0, x1, progress, None))

    def _loss(self, x0: Tensor, y0: Tensor, x1: Tensor, progress: Tensor, prepared: Tensor | None) -> Tensor:
        # Here and not before each step: where the step is captured once, this takes no time of the others.
        self._set_mode(training=True)
        return self.baseline.loss(self._pair(x0, y0, x1, progress, prepared))

    def _pair(self, x0: Tensor, y0: Tensor, x1: Tensor, progress: Tensor, prepared: Tensor | None) -> Pair:
        return Pair(self.encoder, self.head, self.extra, x0, y0, x1, progress, prepared)

    def _set_mode(self, *, training: bool) -> None:
        # The parts of a traced module are modules of their own, with a mode of their own.
        for part in (self.module, self.encoder, self.head, self.extra):
            part.train(training)

    def _draw_networks(self, seed: int) -> nn.Module:
        parameter = next(self.module.parameters())
        with seeded(seed, torch.device("cpu")):
            networks = self.baseline.networks(self.n_features, self.n_classes)
        return networks.to(parameter.device, dtype_of(self.module))

    @torch.no_grad()
    def _renew_networks(self, seed: int) -> None:
        drawn = self._draw_networks(seed).state_dict()
        for name, value in self.extra.state_dict().items():
            value.copy_(drawn[name])


class _Order:
    """Rows of one side, batch by batch; after a pass a new permutation."""

    def __init__(self, n: int, batch_size: int | None, seed: int, device: torch.device) -> None:
        self.n, self.size = n, n if batch_size is None else min(batch_size, n)
        if self.size < 2:
            raise InputError(
                f"both sides need batches of at least 2 samples, got {self.size} (of {n} samples, "
                f"batch_size={batch_size!r})"
            )
        self.n_batches = n // self.size
        # Orders come from the CPU, so that they are the same on every device.
        self.generator = torch.Generator().manual_seed(seed)
        self.device = device
        self.left: list[Tensor] = []
        self.n_passes = 0

    def next(self) -> Tensor:
        if not self.left:
            self.n_passes += 1
            places = torch.randperm(self.n, generator=self.generator).to(self.device)
            self.left = list(torch.split(places[: self.n_batches * self.size], self.size))
        return self.left.pop()


@torch.no_grad()
def _count_features(encoder: nn.Module, sample_shape: tuple[int, ...], module: nn.Module) -> int:
    parameter = next(module.parameters())
    probe = torch.zeros((1, *sample_shape), device=parameter.device, dtype=dtype_of(module))
    return int(encoder.eval()(probe).flatten(1).shape[1])
