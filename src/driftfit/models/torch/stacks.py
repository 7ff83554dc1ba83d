"""`Stack`: many networks of one architecture side by side, computed by batched products."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from driftfit.extras import has
from driftfit.models.networks.chains import chained, has_hooks
from driftfit.models.networks.wide import WideLinear, pieces_of

__all__ = ["Batches", "Stack", "plain_layers"]


class Batches(NamedTuple):
    """One batch for each of the first slots of a stack, filled up to one length.

    Attributes
    ----------
    samples : tensor of shape (slots, pieces, length, features of a piece)
    labels : int tensor of shape (slots, length), or class shares of shape (slots, length, K)
    weights : tensor of shape (slots, length)
        What each sample counts in the loss of its slot, which is a sum; 0 where there is none.
    there : tensor of shape (slots, length)
        1 for a sample, 0 where there is none.
    noises : bool tensors of shape (slots, length, neurons)
        What each dropout layer keeps.
    """

    samples: Tensor
    labels: Tensor
    weights: Tensor
    there: Tensor
    noises: tuple[Tensor, ...]

    def first(self, slots: int) -> Batches:
        """Those of the first slots."""
        return Batches.of(value[:slots] for value in self.tensors())

    @classmethod
    def of(cls, tensors: Iterable[Tensor]) -> Batches:
        """From what `tensors` gives."""
        samples, labels, weights, there, *noises = tensors
        return cls(samples, labels, weights, there, tuple(noises))

    def tensors(self) -> list[Tensor]:
        return [self.samples, self.labels, self.weights, self.there, *self.noises]


def plain_layers(module: nn.Module) -> list[tuple[str, nn.Module]] | None:
    """Names and layers of a network on vectors that a stack can compute, in order; None for any other network.

    What only gives samples the shape of vectors, before the first product, is left out.

    >>> [name for name, _ in plain_layers(nn.Sequential(nn.Flatten(), nn.Sequential(nn.Linear(2, 3), nn.ReLU())))]
    ['1.0', '1.1']
    >>> plain_layers(nn.Sequential(nn.Conv2d(1, 1, 3), nn.Linear(2, 3))) is None
    True
    """
    layers = chained(module)
    if len({id(layer) for _, layer in layers}) < len(layers) or any(has_hooks(layer) for _, layer in layers):
        return None  # one that occurs twice has one set of weights, and hooks may do anything
    start = next((place for place, (_, layer) in enumerate(layers) if isinstance(layer, nn.Linear)), None)
    if start is None or not all(parameter.requires_grad for parameter in module.parameters()):
        return None
    shapes = [layer for _, layer in layers[:start] if type(layer) is not nn.Identity]
    if shapes and isinstance(shapes[0], nn.Unflatten):
        shapes = shapes[1:] or [nn.Identity()]
    vectors = all(type(layer) is nn.Flatten and (layer.start_dim, layer.end_dim) == (1, -1) for layer in shapes)
    return layers[start:] if vectors and all(_is_plain(layer) for _, layer in layers[start:]) else None


def _is_plain(layer: nn.Module) -> bool:
    if type(layer) is nn.BatchNorm1d:
        return layer.affine and layer.track_running_stats and layer.momentum is not None
    return type(layer) in (nn.Linear, WideLinear, nn.ReLU, nn.Dropout)


class Stack(nn.Module):
    """Slots for networks of one architecture; a network is loaded into a slot and taken out again.

    The parameters of the stack are those of each slot, so that an optimiser keeps a state of its own for each of
    them; they are views of one tensor for each layer, which the products take whole.

    Parameters
    ----------
    module : nn.Module
        One that `plain_layers` takes.
    slots : int

    Examples
    --------
    >>> one, stack = nn.Linear(2, 3), Stack(nn.Linear(2, 3), 4)
    >>> stack.load(1, one)
    >>> x = torch.ones(4, 1, 5, 2)
    >>> torch.allclose(stack(Batches(x, x, x, x, ()))[1], one(x[1, 0]))
    True
    """

    def __init__(self, module: nn.Module, slots: int) -> None:
        super().__init__()
        layers = plain_layers(module)
        if layers is None:
            raise TypeError(f"{type(module).__name__} has layers that cannot be stacked")
        self.slots = slots
        self.layers: list[_Layer] = []
        for name, layer in layers:
            prefix = f"{name}." if name else ""
            if isinstance(layer, nn.Linear):
                self.layers.append(_Linear(layer, prefix, slots, first=not self.layers))
            elif isinstance(layer, nn.BatchNorm1d):
                self.layers.append(_Norm(layer, prefix, slots))
            elif isinstance(layer, nn.Dropout):
                self.layers.append(_Dropout(layer.p, sum(isinstance(own, _Dropout) for own in self.layers)))
            elif isinstance(layer, nn.ReLU):
                self.layers.append(_Relu())
        self._own: dict[str, list[nn.Parameter]] = {}
        for name, value in self.trained():
            self._own[name] = [nn.Parameter(value[slot]) for slot in range(slots)]
            for slot, parameter in enumerate(self._own[name]):
                self.register_parameter(f"{name}@{slot}".replace(".", "/"), parameter)
        for name, value in self.tracked():
            self.register_buffer(name.replace(".", "/"), value)
        self.load_all(module)

    def trained(self) -> Iterator[tuple[str, Tensor]]:
        """Names and stacked values of all parameters."""
        for layer in self.layers:
            yield from layer.trained.items()

    def tracked(self) -> Iterator[tuple[str, Tensor]]:
        """Names and stacked values of running statistics."""
        for layer in self.layers:
            yield from layer.tracked.items()

    @property
    def pieces(self) -> int:
        """Pieces that samples are cut into."""
        return self._first.pieces

    @property
    def n_inputs(self) -> int:
        """Features of a sample."""
        return self._first.n_inputs

    @property
    def _first(self) -> _Linear:
        return self.layers[0]  # type: ignore[return-value]

    def load_all(self, module: nn.Module) -> None:
        for slot in range(self.slots):
            self.load(slot, module)

    @torch.no_grad()
    def load(self, slot: int, module: nn.Module) -> None:
        """Copy the weights of a network into a slot."""
        weights = module.state_dict()
        for layer in self.layers:
            for name, value in (*layer.trained.items(), *layer.tracked.items()):
                value[slot].copy_(layer.stacked(weights[name]))

    @torch.no_grad()
    def unload(self, slot: int, module: nn.Module) -> None:
        """Copy the weights of a slot into a network."""
        weights = module.state_dict()
        for layer in self.layers:
            for name, value in (*layer.trained.items(), *layer.tracked.items()):
                layer.stacked(weights[name]).copy_(value[slot])

    @torch.no_grad()
    def move(self, start: int, end: int) -> None:
        """Copy one slot to another."""
        for _, value in (*self.trained(), *self.tracked()):
            value[end].copy_(value[start])

    def parameters_of(self, slot: int) -> list[nn.Parameter]:
        return [own[slot] for own in self._own.values()]

    def leaves(self, slots: int) -> list[Tensor]:
        """The parameters of the first slots, to be differentiated by."""
        return [layer.leaf(name, slots) for layer in self.layers for name in layer.trained]

    def hand_out(self, gradients: Sequence[Tensor | None]) -> None:
        """Give each slot its own part of the gradients of the leaves; the others get none."""
        for own, gradient in zip(self._own.values(), gradients, strict=True):
            for slot, parameter in enumerate(own):
                parameter.grad = gradient[slot] if gradient is not None and slot < len(gradient) else None

    def forward(self, batches: Batches) -> Tensor:
        """Scores of shape (slots, length, K), in training mode."""
        x = batches.samples
        for layer in self.layers:
            x = layer(x, batches)
        return x

    def noises(self, sizes: Sequence[int], length: int) -> list[Tensor]:
        """What each dropout layer of one network would keep of batches of these sizes, drawn one after the other.

        A bool tensor of shape (batches, length, neurons) for each layer.
        """
        ones: list[tuple[float, Tensor]] = []
        for layer in self.layers:
            if isinstance(layer, _Linear):
                width, like = layer.n_outputs, layer.trained[layer.prefix + "weight"]
            elif isinstance(layer, _Dropout):
                ones.append((layer.p, torch.ones((length, width), dtype=like.dtype, device=like.device)))
        # All layers of a batch before the next batch, as in a training.
        drawn = [[dropout(own[:size], p, training=True) for p, own in ones] for size in sizes]
        kept = []
        for number, (_, own) in enumerate(ones):
            drawn[-1][number] = torch.cat([drawn[-1][number], own[sizes[-1] :]])
            kept.append(torch.stack([each[number] for each in drawn]) != 0)
        return kept


class _Layer(Protocol):
    """A layer of all slots: its stacked parameters and running statistics by the names of the one network."""

    trained: dict[str, Tensor]
    tracked: dict[str, Tensor]

    def leaf(self, name: str, slots: int) -> Tensor: ...

    def stacked(self, value: Tensor) -> Tensor:
        """A view of one network's values in the shape of a slot."""
        ...

    def __call__(self, x: Tensor, batches: Batches) -> Tensor: ...


class _Base:
    def __init__(self) -> None:
        self.trained: dict[str, Tensor] = {}
        self.tracked: dict[str, Tensor] = {}
        self._leaves: dict[tuple[str, int], Tensor] = {}

    def leaf(self, name: str, slots: int) -> Tensor:
        """The values of the first slots, one leaf for each number of them: captured steps point to it."""
        key = name, slots
        if key not in self._leaves:
            self._leaves[key] = self.trained[name][:slots].detach().requires_grad_()
        return self._leaves[key]

    def stacked(self, value: Tensor) -> Tensor:
        return value


class _Linear(_Base):
    def __init__(self, layer: nn.Linear, prefix: str, slots: int, *, first: bool) -> None:
        super().__init__()
        self.prefix, self.n_inputs, self.n_outputs = prefix, layer.in_features, layer.out_features
        # In full float32 a plain product of so many inputs would leave most of the GPU idle; in TF32 it fills it.
        full = torch.get_float32_matmul_precision() == "highest"
        wide = first and full and layer.weight.is_cuda and isinstance(layer, WideLinear)
        self.pieces = pieces_of(layer.in_features) if wide else 1
        shape = slots, self.pieces, layer.out_features, layer.in_features // self.pieces
        self.trained[prefix + "weight"] = layer.weight.new_zeros(shape)
        if layer.bias is not None:
            self.trained[prefix + "bias"] = layer.weight.new_zeros((slots, layer.out_features))

    def stacked(self, value: Tensor) -> Tensor:
        return value if value.ndim == 1 else value.view(len(value), self.pieces, -1).transpose(0, 1)

    def __call__(self, x: Tensor, batches: Batches) -> Tensor:
        x = x.unsqueeze(1) if x.ndim == 3 else x
        out: Tensor = _Products.apply(x, self.leaf(self.prefix + "weight", len(x)))  # type: ignore[no-untyped-call]
        return out + self.leaf(self.prefix + "bias", len(x)).unsqueeze(1) if len(self.trained) > 1 else out


class _Products(torch.autograd.Function):
    """The product of each slot's samples and weights, summed over the pieces; gradients lie as the weights do."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        out = torch.bmm(x.flatten(0, 1), weight.flatten(0, 1).transpose(1, 2))
        slots, pieces = x.shape[:2]
        return out if pieces == 1 else out.view(slots, pieces, *out.shape[1:]).sum(1)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor]:
        x, weight = ctx.saved_tensors
        turned, pieces = gradient.transpose(1, 2), x.shape[1]
        if pieces > 1:
            turned = turned.unsqueeze(1).expand(-1, pieces, -1, -1).flatten(0, 1)
        of_weight = torch.bmm(turned, x.flatten(0, 1)).view_as(weight)
        of_x = torch.bmm(gradient, weight.squeeze(1)).unsqueeze(1) if ctx.needs_input_grad[0] else None
        return of_x, of_weight


class _Norm(_Base):
    """Batch normalisation by the samples that are there."""

    def __init__(self, layer: nn.BatchNorm1d, prefix: str, slots: int) -> None:
        super().__init__()
        self.prefix, self.eps, self.momentum = prefix, layer.eps, float(layer.momentum or 0.0)
        for name, parameter in layer.named_parameters():
            self.trained[prefix + name] = parameter.new_zeros((slots, *parameter.shape))
        for name, buffer in layer.named_buffers():
            self.tracked[prefix + name] = buffer.new_zeros((slots, *buffer.shape))

    def __call__(self, x: Tensor, batches: Batches) -> Tensor:
        with torch.no_grad():
            self.tracked[self.prefix + "num_batches_tracked"][: len(x)].add_(1)
        if x.is_cuda and x.dtype == torch.float32 and has("triton"):
            from driftfit.models.torch.stacked_norm import stacked_norm  # only where there is Triton

            scale, shift = (self.leaf(self.prefix + name, len(x)) for name in ("weight", "bias"))
            running = self.tracked[self.prefix + "running_mean"], self.tracked[self.prefix + "running_var"]
            return stacked_norm(x, batches.there, scale, shift, running, self.momentum, self.eps)
        there = batches.there.unsqueeze(2)
        count = there.sum(1, keepdim=True)
        mean = (x * there).sum(1, keepdim=True) / count
        centred = x - mean
        variance = (centred.square() * there).sum(1, keepdim=True) / count
        with torch.no_grad():
            unbiased = variance * (count / (count - 1.0))
            for name, value in (("running_mean", mean), ("running_var", unbiased)):
                self.tracked[self.prefix + name][: len(x)].lerp_(value.squeeze(1), self.momentum)
        scale, shift = (self.leaf(self.prefix + name, len(x)).unsqueeze(1) for name in ("weight", "bias"))
        return centred * torch.rsqrt(variance + self.eps) * scale + shift


class _Dropout(_Base):
    """What it drops comes with the batches: each slot has random numbers of its own."""

    def __init__(self, p: float, number: int) -> None:
        super().__init__()
        self.p, self.number = p, number

    def __call__(self, x: Tensor, batches: Batches) -> Tensor:
        # With p = 1 nothing is kept.
        return x * (batches.noises[self.number] * (1.0 / (1.0 - self.p) if self.p < 1 else 0.0))


class _Relu(_Base):
    def __call__(self, x: Tensor, batches: Batches) -> Tensor:
        return x.relu()
