"""`Desk`: the batches of all slots of a stack, laid out for an epoch and put together for each step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from driftfit.domains import Interpolated
from driftfit.extras import has
from driftfit.models.torch.stacks import Batches, Stack

__all__ = ["Desk", "Epoch"]

# Bytes that the samples of all slots may take here; with more, each batch is formed where it is read.
_HELD_BYTES = 2**30


@dataclass(frozen=True, eq=False)
class Epoch:
    """The batches of one epoch, filled up with zeros to one length.

    Attributes
    ----------
    places : int tensor of shape (batches, length)
        Where each sample of a batch is among those that were put down.
    labels, weights, there : tensors of shape (batches, length, ...)
    noises : bool tensors of shape (batches, length, neurons)
        What each dropout layer keeps.
    sizes : list of int
        Samples in each batch.
    """

    places: Tensor
    labels: Tensor
    weights: Tensor
    there: Tensor
    noises: list[Tensor]
    sizes: list[int]

    def tensors(self) -> list[Tensor]:
        """What a step reads as it is."""
        return [self.labels, self.weights, self.there, *self.noises]


class Desk:
    """Where the slots of a stack find their batches.

    A step takes what it reads from one place for all slots, so that what is to be done for it does not grow with
    their number. Where `forms_at_once` is true one kernel forms the samples of all slots, and `serve` can be captured
    with the step; elsewhere samples that are too large to lie here are fetched slot by slot.

    Parameters
    ----------
    stack : Stack
    like : Epoch
        Of the same length, types and neurons as all that will be laid out.
    """

    def __init__(self, stack: Stack, like: Epoch) -> None:
        self.stack, self.slots, self.length = stack, stack.slots, like.places.shape[1]
        self.forms_at_once = like.places.is_cuda and has("triton")
        device = like.places.device
        self._layers = [value.new_zeros((self.slots, *value.shape)) for value in like.tensors()]
        # Rows of both ends of each sample.
        self._pairs = like.places.new_zeros((2, self.slots, *like.places.shape))
        self._ends = torch.zeros((2, self.slots), dtype=torch.int64, device=device)
        self._positions = like.weights.new_zeros(self.slots)
        self.next = torch.zeros(self.slots, dtype=torch.int64, device=device)
        self._slot = torch.arange(self.slots, device=device)
        self._samples: list[Interpolated | None] = [None] * self.slots
        self._held: Tensor | None = None
        # What is fetched for each slot: rows of both ends, batch by batch.
        self._left: list[list[tuple[Any, ...]]] = [[] for _ in range(self.slots)]
        pieces, n_inputs = stack.pieces, stack.n_inputs
        samples = like.weights.new_zeros((self.slots, pieces, self.length, n_inputs // pieces))
        steps = [value.new_zeros((self.slots, *value.shape[1:])) for value in like.tensors()]
        self.batches = Batches.of([samples, *steps])
        self._first: dict[int, Batches] = {}

    @property
    def capacity(self) -> int:
        """Batches of an epoch that there is room for."""
        return int(self._pairs.shape[2])

    def put_down(self, slot: int, samples: Interpolated) -> None:
        """The samples of a training, in the order that `Epoch.places` counts them."""
        if self.forms_at_once:
            x0, x1 = (x.flatten(1).contiguous() for x in (samples.x0, samples.x1))
            # Kept, so that the addresses stay theirs.
            self._samples[slot] = Interpolated(x0, x1, samples.rows, samples.cols, samples.position)
            for own, x in zip(self._ends, (x0, x1), strict=True):
                # A number that is assigned to one place of a tensor would be copied from the host, which waits for all
                # steps under way; one that fills it is not.
                own[slot].fill_(x.data_ptr())
            self._positions[slot].fill_(samples.position)
            return
        n_bytes = self.slots * len(samples) * self.stack.n_inputs * self.batches.samples.element_size()
        if n_bytes > _HELD_BYTES:
            self._samples[slot] = samples
            return
        self._samples[slot] = None
        if self._held is None or self._held.shape[1] < len(samples):
            held = self.batches.samples.new_zeros((self.slots, len(samples), self.stack.n_inputs))
            if self._held is not None:
                held[:, : self._held.shape[1]] = self._held
            self._held = held
        samples.put(self._held[slot, : len(samples)])

    def clear(self, slot: int) -> None:
        """Let go of the samples of a slot that nobody has."""
        self._samples[slot] = None
        self._ends[:, slot] = 0

    def lay_out(self, slot: int, epoch: Epoch) -> None:
        """The batches of the slot's next epoch."""
        n_batches = len(epoch.places)
        if n_batches > self.capacity:
            self._layers = [_longer(own, 1, n_batches) for own in self._layers]
            self._pairs = _longer(self._pairs, 2, n_batches)
        for layer, value in zip(self._layers, epoch.tensors(), strict=True):
            layer[slot, :n_batches] = value
        self.next[slot].zero_()
        samples, places = self._samples[slot], epoch.places
        if samples is None:
            self._pairs[0, slot, :n_batches] = places
        elif self.forms_at_once:
            for pairs, own in zip(self._pairs, (samples.rows, samples.cols), strict=True):
                pairs[slot, :n_batches] = own[places]
            # Steps that are taken only to be captured may look further than the epoch goes, and rows of whoever had the
            # slot before may not be there.
            self._pairs[:, slot, n_batches:].zero_()
        else:
            taken = places.flatten()[: sum(epoch.sizes)]
            rows, cols = (torch.split(own[taken], epoch.sizes) for own in (samples.rows, samples.cols))
            self._left[slot] = list(zip(rows, cols, strict=True))[::-1]

    @torch.no_grad()
    def move(self, start: int, end: int) -> None:
        """Let one slot go on at the place of another."""
        for layer in (*self._layers, self.next, self._positions, *(() if self._held is None else (self._held,))):
            layer[end] = layer[start]
        for layer in (self._pairs, self._ends):
            layer[:, end] = layer[:, start]
        self._samples[end], self._left[end] = self._samples[start], self._left[start]

    def serve(self, members: int, width: int) -> None:
        """Put the next batch of each member into the first slots; others up to ``width`` hold what nobody reads."""
        place, firsts = self.next + self._slot * self.capacity, self.first(width)
        # On a GPU it takes longer to choose a few rows than many: all slots are read, whoever is in them.
        read = self.slots if place.is_cuda else width
        for layer, out in zip(self._layers, self.first(read).tensors()[1:], strict=True):
            torch.index_select(layer.flatten(0, 1), 0, place[:read], out=out)
        if self.forms_at_once:
            from driftfit.models.torch.gathering import form_rows  # only where there is Triton

            form_rows(self._ends, self._pairs, self.next, self._positions, firsts.samples)
        else:
            self._fetch(members, width, place[:width])
        self.next.add_(1).clamp_(max=self.capacity - 1)

    def _fetch(self, members: int, width: int, place: Tensor) -> None:
        """The samples of the next batches, from those that are held or slot by slot."""
        if self._held is not None:
            rows = self._pairs[0].flatten(0, 1).index_select(0, place)
            rows = rows + (self._slot * self._held.shape[1])[:width, None]
            found = self._held.flatten(0, 1).index_select(0, rows.flatten())
            firsts = self.first(width).samples
            firsts.transpose(1, 2).copy_(found.view(width, self.length, self.stack.pieces, -1))
        for slot in range(members):
            samples = self._samples[slot]
            if samples is not None:
                rows, cols = self._left[slot].pop()
                samples.with_rows(rows, cols).put(self.batches.samples[slot, :, : len(rows)].transpose(0, 1))

    def first(self, width: int) -> Batches:
        """The batches of the first slots; always the same tensors, which captured steps read."""
        if width not in self._first:
            self._first[width] = self.batches.first(width)
        return self._first[width]


def _longer(layer: Tensor, axis: int, size: int) -> Tensor:
    """The layer with room for more batches."""
    shape = list(layer.shape)
    shape[axis] = size - shape[axis]
    return torch.cat([layer, layer.new_zeros(shape)], dim=axis)
