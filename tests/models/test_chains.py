"""Layers of sequences: one that occurs twice counts twice, and hooks are seen."""

import torch
from torch import nn

from driftfit.domains import Interpolated
from driftfit.models.networks import build, conv_net, describe, split
from driftfit.models.networks.chains import chained, children
from driftfit.models.torch.samples import logits
from driftfit.models.torch.stacks import plain_layers


def network():
    """One linear layer and one ReLU, each used twice."""
    torch.manual_seed(0)
    linear, relu = nn.Linear(4, 4), nn.ReLU()
    return nn.Sequential(linear, relu, linear, relu, nn.Linear(4, 2))


def test_layers_that_occur_twice_are_there_twice():
    net = network()
    assert [name for name, _ in children(net)] == ["0", "1", "2", "3", "4"]
    assert [layer for _, layer in chained(nn.Sequential(net))] == [layer for _, layer in children(net)]


def test_a_network_is_cut_with_all_of_its_layers():
    net, x = network(), torch.randn(7, 4)
    for layer in ("0", "1", "2", "3"):
        encoder, head = split(net, layer)
        assert torch.equal(head(encoder(x)), net(x))


def test_a_network_is_described_with_all_of_its_layers():
    net, x = network(), torch.randn(7, 4)
    again = build(describe(net))
    again.load_state_dict(net.state_dict())
    assert torch.equal(again(x), net(x))


def test_scores_between_two_samples_are_those_of_the_network():
    net, x = network(), torch.randn(7, 4)
    rows = torch.arange(7)
    between = Interpolated(x, x.flip(0), rows, rows, 0.25)
    assert torch.allclose(logits(net, between), net(torch.lerp(x, x.flip(0), 0.25)), atol=1e-6)


def test_networks_that_cannot_be_taken_apart():
    hooked = nn.Sequential(nn.Linear(4, 2))
    assert plain_layers(hooked) is not None
    hooked[0].register_forward_hook(lambda module, inputs, out: 2 * out)
    assert plain_layers(hooked) is None
    assert plain_layers(network()) is None
    around = nn.Sequential(nn.Linear(4, 2))
    around.register_forward_pre_hook(lambda *_: None)
    assert plain_layers(around) is None


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = conv_net(8, 3, n_conv=2, hidden=(4,), dropout=0.0)

    def forward(self, x):
        return self.net(x)


def test_a_traced_network_with_layers_of_our_own_is_cut_in_training_too():
    net, x = Whole(), torch.randn(5, 1, 8, 8)
    encoder, head = split(net.train(), "net.conv1")
    assert torch.allclose(head(encoder(x)), net(x))
