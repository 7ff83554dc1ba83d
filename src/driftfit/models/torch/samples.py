"""Samples that live on a device and are indexed there, stored or made on the fly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from driftfit.domains import Interpolated
from driftfit.errors import InputError

# Rows on a geodesic are formed once for a whole training if they take no more bytes than this, else batch by batch.
_FORMED_BYTES = 2**32
# Forward passes without gradients take about this many input values at a time.
_FORWARD_VALUES = 2**27
# Rows of both ends that are read for each one between them rather than to form it, which takes several copies.
_ENDS_PER_ROW = 3
_PERCEPTRON = (nn.Linear, nn.ReLU, nn.Dropout, nn.BatchNorm1d)


class Samples(Protocol):
    """Rows on a device, stored or interpolated."""

    def __len__(self) -> int: ...

    @property
    def device(self) -> torch.device: ...

    @property
    def sample_shape(self) -> tuple[int, ...]: ...

    def take(self, rows: Tensor) -> Tensor:
        """The chosen rows as one tensor."""
        ...

    def select(self, rows: Tensor) -> Interpolated:
        """The chosen rows, still to be formed."""
        ...


@dataclass(frozen=True, eq=False)
class Stored:
    """Rows of a tensor."""

    values: Tensor

    def __len__(self) -> int:
        return len(self.values)

    @property
    def device(self) -> torch.device:
        return self.values.device

    @property
    def sample_shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape[1:])

    def take(self, rows: Tensor) -> Tensor:
        return self.values.index_select(0, rows)

    def select(self, rows: Tensor) -> Interpolated:
        return Interpolated(self.values, self.values, rows, rows, 0.0)


def pick_device(name: str = "auto") -> torch.device:
    """The device of a name; ``auto`` is CUDA where there is one.

    >>> pick_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f"device must be 'auto', 'cpu' or 'cuda', got {name!r}") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device {name!r} was asked for, but torch sees no GPU here; use 'cpu' or 'auto'")
    return device


def as_tensor(samples: Any, device: torch.device, dtype: torch.dtype = torch.float32) -> Tensor:
    """Any samples as a tensor of the device and type, without a copy where it is one already."""
    if isinstance(samples, Tensor):
        return samples.to(device=device, dtype=dtype)
    array = np.asarray(samples.toarray() if hasattr(samples, "toarray") else samples)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float32)
    return torch.from_numpy(array if array.flags.writeable else array.copy()).to(device=device, dtype=dtype)


def as_rows(samples: Any, device: torch.device, dtype: torch.dtype = torch.float32) -> Samples:
    """Any samples as rows on the device; those on a geodesic there stay to be formed."""
    if isinstance(samples, Interpolated):
        x0, x1 = as_tensor(samples.x0, device, dtype), as_tensor(samples.x1, device, dtype)
        return Interpolated.of(x0, x1, samples.rows, samples.cols, samples.position)
    return Stored(as_tensor(samples, device, dtype))


def formed(samples: Samples) -> Samples:
    """Rows that a training reads again and again: interpolated ones are formed at once where there is room."""
    if not isinstance(samples, Interpolated):
        return samples
    n_bytes = len(samples) * samples.x0[0].nbytes
    return Stored(samples.whole()) if n_bytes <= _FORMED_BYTES else samples


def dtype_of(module: nn.Module) -> torch.dtype:
    """The floating type that a module computes in.

    >>> dtype_of(nn.Linear(1, 1).double())
    torch.float64
    """
    return next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)


@torch.no_grad()
def logits(module: nn.Module, samples: Samples) -> Tensor:
    """Scores of all samples in evaluation mode, on the device.

    Rows on a geodesic need not be formed where the first layer is a linear one: its outputs for both ends are mixed.
    """
    module.eval()
    if isinstance(samples, Interpolated) and samples.x0.ndim == 2:
        few = len(samples.x0) + len(samples.x1) <= _ENDS_PER_ROW * len(samples)
        layers = _vector_layers(module) if few else None
        if layers is not None:
            return _mixed_logits(layers, samples)
    return torch.cat([module(part) for part in _parts(samples)])


def _vector_layers(module: nn.Module) -> list[nn.Module] | None:
    """The layers of a perceptron from its first product on, in order; None for any other network."""
    if any(vars(own)[kind] for own in module.modules() for kind in ("_forward_hooks", "_forward_pre_hooks")):
        return None  # hooks may do anything
    layers = _sequence(module)
    start = next((place for place, layer in enumerate(layers) if type(layer) is nn.Linear), None)
    if start is None or not all(type(layer) in _PERCEPTRON for layer in layers[start:]):
        return None
    # What only gives samples the shape of vectors is left out.
    shaping = [layer for layer in layers[:start] if type(layer) is not nn.Identity]
    if shaping and type(shaping[0]) is nn.Unflatten:
        shaping = shaping[1:] or [nn.Identity()]
    flat = all(type(layer) is nn.Flatten and (layer.start_dim, layer.end_dim) == (1, -1) for layer in shaping)
    return layers[start:] if flat else None


def _sequence(module: nn.Module) -> list[nn.Module]:
    """The layers of nested sequences; anything else is a layer of its own."""
    return [layer for child in module for layer in _sequence(child)] if type(module) is nn.Sequential else [module]


def _mixed_logits(layers: list[nn.Module], samples: Interpolated) -> Tensor:
    """Scores by a network on vectors, from what its first layer gives for both ends."""
    ends = [(samples.x0, samples.rows), (samples.x1, samples.cols)][: 1 if samples.position == 0.0 else 2]
    outputs = [torch.cat([layers[0](part) for part in _parts(Stored(x))]).index_select(0, rows) for x, rows in ends]
    x: Tensor = outputs[0] if len(outputs) == 1 else torch.lerp(outputs[0], outputs[1], samples.position)
    for layer in layers[1:]:
        x = layer(x)
    return x


@torch.no_grad()
def encode(module: nn.Module, samples: Samples) -> Tensor:
    """Outputs of an encoder for all samples, flattened to one row per sample."""
    module.eval()
    parts = _parts(samples)
    first: Tensor = module(next(parts)).flatten(1)
    # Filled part by part: a second copy of all features might not fit.
    out = first.new_empty((len(samples), first.shape[1]))
    out[: len(first)] = first
    start = len(first)
    for part in parts:
        features = module(part).flatten(1)
        out[start : start + len(features)] = features
        start += len(features)
    return out


def _parts(samples: Samples) -> Iterator[Tensor]:
    n = len(samples)
    # Hidden layers of a convolutional network are far larger than its input: reckon with 32 channels.
    values = max(1, int(np.prod(samples.sample_shape))) * (32 if len(samples.sample_shape) > 1 else 1)
    step = max(1, min(n, _FORWARD_VALUES // values))
    if isinstance(samples, Stored) and samples.values.is_cuda:
        # Rows in order need no copy. On the CPU one is made: it is aligned, and so gives the same bits for any samples.
        yield from (samples.values[start : start + step] for start in range(0, n, step))
        return
    everything = torch.arange(n, device=samples.device)
    for start in range(0, n, step):
        yield samples.take(everything[start : start + step])
