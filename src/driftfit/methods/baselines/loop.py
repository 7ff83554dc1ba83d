"""The one training loop of all baselines: a labelled and an unlabelled batch at every step.

With it: where encoder and head meet, and labelled partners of unlabelled samples along a plan.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from driftfit.errors import InputError
from driftfit.methods.baselines.pairs import Baseline, Pair
from driftfit.models.networks import split
from driftfit.models.torch.samples import Samples, dtype_of
from driftfit.models.torch.steps import Steps
from driftfit.models.torch.training import Recipe, seeded
from driftfit.seeds import derive_seed
from driftfit.transport import Plan


class PairedTrainer:
    """Trains one module on pairs of batches, again and again.

    Each training has a new optimiser and newly drawn networks of the baseline.

    ``module``: trained in place. ``layer``: where encoder and head meet; ``"scores"``: behind the head. ``recipe``: its
    early stopping is not used: a held-out loss on the labelled side does not tell when the unlabelled side is served
    best. ``seed``: draws the baseline's networks; each training draws them again from its own. ``capture``: whether to
    capture the step as a CUDA graph; None: on CUDA.
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

        ``labels0``: class numbers of ``samples0``, on the same device. ``seed``: draws the baseline's networks, the
        order of the batches and what dropout drops. ``epochs``: other than the recipe's. ``plan``: from the labelled to
        the unlabelled samples: each unlabelled batch meets labelled samples that the plan joins to its own, instead of
        a batch at random.
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


# The cut behind everything: the whole network is the encoder, and its features are the scores.
SCORES = "scores"


def parts_at(module: nn.Module, layer: str) -> tuple[nn.Module, nn.Module]:
    """Encoder and head at a layer, ``"input"`` or ``"scores"``.

    >>> parts_at(nn.Linear(2, 3), SCORES)
    (Linear(in_features=2, out_features=3, bias=True), Identity())
    """
    return (module, nn.Identity()) if layer == SCORES else split(module, layer)


class Partners:
    """For each unlabelled sample a labelled one, drawn by the mass that the plan moves between them.

    Drawn anew for each pass over the unlabelled side; what lost its mass to a cutoff gets any labelled sample.

    ``plan``: from the labelled to the unlabelled samples. ``device``: where the samples are indexed; one table goes
    there for each pass.

    >>> plan = Plan(np.array([0, 1]), np.array([1, 0]), np.array([0.5, 0.5]), (2, 2))
    >>> Partners(plan, 0, torch.device("cpu")).of(torch.tensor([0, 1]), 1).tolist()
    [1, 0]
    """

    def __init__(self, plan: Plan, seed: int, device: torch.device) -> None:
        order = np.argsort(plan.cols, kind="stable")
        self._rows = plan.rows[order]
        self._mass = plan.column_mass()
        self._reached = np.cumsum(plan.mass[order])
        self._start = np.cumsum(self._mass) - self._mass
        # Entries of a column begin behind those of the columns before it.
        self._first = np.searchsorted(plan.cols[order], np.arange(plan.shape[1]))
        self._last = np.searchsorted(plan.cols[order], np.arange(plan.shape[1]), side="right") - 1
        self._any = plan.shape[0]
        self._rng, self._device = np.random.default_rng(seed), device
        self._pass, self._table = 0, torch.empty(0, dtype=torch.int64)

    def of(self, rows: Tensor, number: int) -> Tensor:
        """Partners of some unlabelled samples, in the pass of this number."""
        if number != self._pass:
            self._pass = number
            self._table = torch.from_numpy(self._drawn()).to(self._device)
        return self._table.index_select(0, rows)

    def _drawn(self) -> NDArray[np.int64]:
        at = self._start + self._rng.random(len(self._mass)) * self._mass
        # Rounding of the sums must not lead into the next column.
        entry = np.clip(np.searchsorted(self._reached, at, side="right"), self._first, self._last)
        drawn = self._rows[np.maximum(entry, 0)]
        strangers = self._rng.integers(self._any, size=len(drawn))
        return np.asarray(np.where(self._last >= self._first, drawn, strangers), dtype=np.int64)
