"""Cut a network in two at a named layer: an encoder and the head behind it."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor, fx, nn

from driftfit.errors import InputError

# The name of the cut in front of everything: the encoder does nothing.
INPUT = "input"
# The cut that nobody named: in front of the last layer with weights (`last_hidden_layer`).
AUTO = "auto"


class HalfSequential(nn.Sequential):
    """A sequence that is computed in bfloat16 in training on a GPU, by torch's autocast, and as ever anywhere else."""

    #: What it computes in evaluation mode.
    evaluates_as = nn.Sequential

    def forward(self, input: Tensor) -> Tensor:
        if not (self.training and input.is_cuda):
            plain: Tensor = super().forward(input)  # type: ignore[no-untyped-call]
            return plain
        # Weights are cast anew in each pass: a captured step may not read what was cached before it.
        with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
            output: Tensor = super().forward(input)  # type: ignore[no-untyped-call]
        return output.to(input.dtype)


def children(sequence: nn.Module) -> list[tuple[str, nn.Module]]:
    """Names and layers; one that occurs twice is there twice, unlike in ``named_children``.

    >>> relu = nn.ReLU()
    >>> [name for name, _ in children(nn.Sequential(relu, nn.Linear(2, 2), relu))]
    ['0', '1', '2']
    """
    everything = sequence.named_modules(remove_duplicate=False)
    return [(name, child) for name, child in everything if name and "." not in name]


def layer_names(module: nn.Module) -> list[str]:
    """Names at which a network can be cut.

    >>> layer_names(nn.Sequential(OrderedDict(a=nn.Linear(2, 3), b=nn.ReLU())))
    ['input', 'a', 'b']
    """
    return [INPUT, *(name for name, _ in module.named_modules(remove_duplicate=False) if name)]


def split(module: nn.Module, layer: str = INPUT) -> tuple[nn.Module, nn.Module]:
    """Encoder, up to and including ``layer``, and head, the rest; both share the module's parameters.

    A sequence of layers is cut directly. Any other module is traced symbolically
    (`torch.fx`); it can be cut where everything behind the layer depends on its output alone.

    ``layer``: a dotted name as in ``named_modules``, or ``"input"``.

    >>> net = nn.Sequential(OrderedDict(a=nn.Linear(2, 3), b=nn.ReLU(), c=nn.Linear(3, 2)))
    >>> encoder, head = split(net, "b")
    >>> x = torch.ones(1, 2)
    >>> torch.equal(head(encoder(x)), net(x))
    True
    """
    if layer == INPUT:
        return nn.Identity(), module
    if layer not in layer_names(module):
        raise InputError(f"the network has no layer {layer!r}; it can be cut at {', '.join(layer_names(module))}")
    if isinstance(module, nn.Sequential):
        return _split_sequence(module, layer)
    return _split_traced(module, layer)


def last_hidden_layer(module: nn.Module) -> str:
    """The latest layer that leaves something to train on both sides of the cut; ``"input"`` if there is none.

    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> last_hidden_layer(net), last_hidden_layer(nn.Linear(4, 2))
    ('1', 'input')
    """
    for layer in reversed(layer_names(module)):
        if layer == INPUT:
            break
        try:
            encoder, head = split(module, layer)
        except InputError:
            continue  # a network cannot be cut inside a branch
        if _can_train(encoder) and _can_train(head):
            return layer
    return INPUT


def _can_train(module: nn.Module) -> bool:
    return any(p.requires_grad for p in module.parameters())


def _split_sequence(module: nn.Sequential, layer: str) -> tuple[nn.Module, nn.Module]:
    first, _, rest = layer.partition(".")
    layers = children(module)
    place = next(i for i, (name, _) in enumerate(layers) if name == first)
    front, back = layers[:place], layers[place + 1 :]
    before, after = (layers[place][1], nn.Identity()) if not rest else split(layers[place][1], rest)
    encoder = type(module)(OrderedDict([*front, (first, before)]))
    if rest:
        back = [(first, after), *back]
    return encoder, nn.Sequential(OrderedDict(back))


def _split_traced(module: nn.Module, layer: str) -> tuple[nn.Module, nn.Module]:
    try:
        graph = _LeafTracer(layer).trace(module)
    except Exception as error:
        raise InputError(
            f"{type(module).__name__} cannot be traced to cut it at {layer!r} ({error}); "
            "build it as nn.Sequential, or cut at 'input'"
        ) from None
    calls = [node for node in graph.nodes if node.op == "call_module" and node.target == layer]
    if len(calls) != 1:
        raise InputError(f"layer {layer!r} is used {len(calls)} times, so the network cannot be cut there")
    return _pruned(module, _front(graph, layer)), _pruned(module, _back(graph, layer))


def _pruned(module: nn.Module, graph: fx.Graph) -> fx.GraphModule:
    part = fx.GraphModule(module, graph)
    part.graph.eliminate_dead_code()
    part.recompile()
    # Layers of the other part would count as parameters of this one.
    part.delete_all_unused_submodules()
    return part


class _LeafTracer(fx.Tracer):
    """Keeps the layer of the cut whole."""

    def __init__(self, layer: str) -> None:
        super().__init__()
        self.layer = layer

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return module_qualified_name == self.layer or super().is_leaf_module(m, module_qualified_name)


def _call(graph: fx.Graph, layer: str) -> fx.Node:
    found: fx.Node = next(node for node in graph.nodes if node.op == "call_module" and node.target == layer)
    return found


def _front(graph: fx.Graph, layer: str) -> fx.Graph:
    front = fx.Graph()
    seen: dict[fx.Node, fx.Node] = {}
    for node in graph.nodes:
        if node.op == "output":
            break
        seen[node] = front.node_copy(node, lambda n: seen[n])
    front.output(seen[_call(graph, layer)])
    return front


def _back(graph: fx.Graph, layer: str) -> fx.Graph:
    back = fx.Graph()
    cut = _call(graph, layer)
    seen: dict[fx.Node, fx.Node] = {cut: back.placeholder("features")}
    for node in graph.nodes:
        if node is cut or node.op == "placeholder":
            continue
        if any(n not in seen for n in node.all_input_nodes):
            if node.op == "output" or cut in node.all_input_nodes:
                raise InputError(f"what follows layer {layer!r} also needs the input itself; cut elsewhere")
            continue  # belongs to the encoder
        seen[node] = back.node_copy(node, lambda n: seen[n])
    if not any(node.op == "output" for node in back.nodes):
        raise InputError(f"what follows layer {layer!r} also needs the input itself; cut elsewhere")
    back.lint()
    return back
