"""Networks: the shapes of the presets, cuts at every layer, layers that occur twice, descriptions."""

import json

import pytest
import torch
from torch import nn

from driftfit.domains import Interpolated
from driftfit.errors import InputError
from driftfit.models.networks import (
    build,
    conv_net,
    describe,
    layer_names,
    mlp,
    paper_conv_net,
    reference_conv_net,
    split,
)
from driftfit.models.torch.samples import Stored, logits


class Residual(nn.Module):
    """A user's module that is no sequence."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)
        self.out = nn.Linear(4, 3)

    def forward(self, x):
        hidden = self.norm(x + self.inner(x).relu())
        return self.out(hidden)


def test_reference_network_has_the_preset_s_shapes():
    net = reference_conv_net(28, 10)
    encoder, _ = split(net, "conv3")
    assert encoder(torch.zeros(2, 1, 28, 28)).flatten(1).shape == (2, 25_088)
    assert split(reference_conv_net(32, 2), "conv3")[0](torch.zeros(1, 1, 32, 32)).numel() == 32_768
    assert [name for name, _ in net.named_children()][-5:] == ["fc1", "fc2", "dropout", "norm", "output"]


def test_paper_network_has_four_convolutions_and_three_wide_layers():
    names = [name for name, _ in paper_conv_net(8, 2).named_children()]
    assert names == ["conv1", "conv2", "conv3", "conv4", "flatten", "fc1", "fc2", "fc3", "dropout", "norm", "output"]


@pytest.mark.parametrize("net", [conv_net(6, 3, n_conv=2, hidden=(5, 4)), mlp(7, 3, hidden=(5,))])
def test_a_sequence_can_be_cut_at_every_layer(net):
    x = torch.randn(3, 1, 6, 6) if "conv1" in layer_names(net) else torch.randn(3, 7)
    net.eval()
    for layer in layer_names(net):
        encoder, head = split(net, layer)
        assert torch.equal(head(encoder(x)), net(x)), layer


def test_any_module_can_be_cut_where_all_passes_through():
    net, x = Residual().eval(), torch.randn(5, 4)
    for layer in ("input", "norm", "out"):
        encoder, head = split(net, layer)
        assert torch.equal(head(encoder(x)), net(x))
    with pytest.raises(InputError, match="needs the input itself"):
        split(net, "inner")


def test_unknown_layers_are_named():
    with pytest.raises(InputError, match="no layer 'conv9'; it can be cut at input, fc1"):
        split(mlp(2, 2), "conv9")


@pytest.mark.parametrize(
    "net",
    [
        reference_conv_net(8, 3),
        paper_conv_net(4, 3, half=True),
        mlp(4, 2),
        nn.Sequential(nn.Unflatten(1, (1, 2, 2)), nn.Flatten()),
    ],
)
def test_descriptions_build_the_same_network(net):
    again = build(json.loads(json.dumps(describe(net))))
    assert (repr(again), type(again)) == (repr(net), type(net))
    again.load_state_dict(net.state_dict())


def test_unknown_modules_have_no_description():
    assert describe(Residual()) is None
    assert describe(nn.Conv2d(2, 2, 3, groups=2)) is None
    with pytest.raises(InputError, match="'Evil'"):
        build({"layer": "Evil"})


def test_files_of_earlier_versions_name_layers_that_have_other_names_now():
    net = conv_net(4, 3, n_conv=1, hidden=(5,), width=2)
    spec = describe(net)
    spec["children"]["conv1"]["children"]["0"] |= {"layer": "BiasedConv2d", "half": True}
    spec["children"]["fc1"]["children"]["0"]["layer"] = "WideLinear"
    assert repr(build(spec)) == repr(net)


def twice():
    """One linear layer and one ReLU, each used twice."""
    torch.manual_seed(0)
    linear, relu = nn.Linear(4, 4), nn.ReLU()
    return nn.Sequential(linear, relu, linear, relu, nn.Linear(4, 2))


def test_layers_that_occur_twice_are_there_twice():
    net, x = twice(), torch.randn(7, 4)
    for layer in ("0", "1", "2", "3"):
        encoder, head = split(net, layer)
        assert torch.equal(head(encoder(x)), net(x))
    again = build(describe(net))
    again.load_state_dict(net.state_dict())
    assert torch.equal(again(x), net(x))
    rows = torch.arange(7)
    between = Interpolated(x, x.flip(0), rows, rows, 0.25)
    assert torch.allclose(logits(net, between), net(torch.lerp(x, x.flip(0), 0.25)), atol=1e-6)


@pytest.mark.parametrize("place", ["layer", "sequence"])
def test_hooks_act_on_the_scores_between_two_samples(place):
    net, x, rows = nn.Sequential(nn.Linear(4, 2)), torch.randn(7, 4), torch.arange(7)
    if place == "layer":
        net[0].register_forward_hook(lambda module, inputs, out: out * out)
    else:
        net.register_forward_pre_hook(lambda module, inputs: (inputs[0] ** 2,))
    between = Interpolated(x, x.flip(0), rows, rows, 0.25)
    assert torch.equal(logits(net, between), logits(net, Stored(between.whole())))


@pytest.mark.parametrize("make", [lambda: conv_net(4, 2, n_conv=0, hidden=(3,)), lambda: mlp(0, 2)])
def test_impossible_sizes_are_refused(make):
    with pytest.raises(InputError):
        make()
