"""`Draws`: random numbers that are drawn in many small calls, on a GPU as one captured graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import torch
from torch import Tensor

__all__ = ["Draws"]

# Captured graphs kept at a time.
_MOST_GRAPHS = 12


class Draws:
    """Calls a function that draws; from the second call with the same argument on as a replayed graph.

    A replay draws the numbers that the function would draw then, and leaves the generator as it would.
    What it returned before is overwritten.

    Parameters
    ----------
    draw : callable
        From an argument to tensors; it reads nothing else that changes.
    capture : bool
    """

    def __init__(self, draw: Callable[[tuple[int, ...]], list[Tensor]], *, capture: bool) -> None:
        self.draw, self.capture = draw, capture
        self._seen: set[Hashable] = set()
        self._graphs: dict[Hashable, tuple[torch.cuda.CUDAGraph, list[Tensor]]] = {}

    def __call__(self, argument: tuple[int, ...]) -> list[Tensor]:
        if argument not in self._graphs:
            first = argument not in self._seen
            self._seen.add(argument)
            if not self.capture or first or len(self._graphs) == _MOST_GRAPHS:
                return self.draw(argument)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                drawn = self.draw(argument)
            self._graphs[argument] = graph, drawn
        graph, drawn = self._graphs[argument]
        graph.replay()
        return drawn
