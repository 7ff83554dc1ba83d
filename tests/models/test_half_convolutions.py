"""Convolutions in bfloat16 by kernels of our own: which layers they take, and that they compute what torch does."""

import json

import pytest
import torch
from torch import nn
from torch.nn.functional import conv2d

from driftfit.extras import has
from driftfit.methods.baselines import DeepCoral
from driftfit.methods.baselines.loop import PairedTrainer
from driftfit.models.networks import build, conv_net, describe, mlp, split
from driftfit.models.networks import half_convolutions as module_under_test
from driftfit.models.networks.biased import BiasedConv2d
from driftfit.models.networks.half_convolutions import with_half_convolutions
from driftfit.models.torch.learner import split_for_features
from driftfit.models.torch.training import Recipe, Trainer

on_gpu = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (torch.cuda.is_available() and has("triton")), reason="needs a CUDA device and Triton"),
]


@pytest.fixture
def triton_is_there(monkeypatch):
    monkeypatch.setattr(module_under_test, "has", lambda name: True)


@pytest.mark.usefixtures("triton_is_there")
def test_the_first_convolutions_are_taken_and_parameters_are_shared():
    net = conv_net(8, 3, n_conv=3, hidden=(16,), half=True)
    quick = with_half_convolutions(net)
    assert [layer.in_channels for layer in quick.convolutions] == [1, 32, 32]
    assert [own for own in quick.parameters()] == [own for own in net.parameters()]
    assert [type(layer).__name__ for layer in quick.others][:2] == ["Flatten", "WideLinear"]


@pytest.mark.usefixtures("triton_is_there")
def test_an_encoder_of_convolutions_alone_leaves_nothing_behind():
    encoder, _ = split(conv_net(8, 3, n_conv=2, hidden=(16,), half=True), "conv2")
    quick = with_half_convolutions(encoder)
    assert (len(quick.convolutions), quick.others) == (2, ())


def half(*options, **more):
    return BiasedConv2d(*options, **{"padding": 1, **more}, half=True)


def chain(*layers):
    return nn.Sequential(*layers, nn.Flatten(), nn.LazyLinear(2))


@pytest.mark.usefixtures("triton_is_there")
@pytest.mark.parametrize(
    "net",
    [
        mlp(4, 2),
        conv_net(8, 3, n_conv=1, hidden=(4,)),
        half(1, 16, 3),
        chain(half(1, 16, 3)),  # no ReLU behind it
        chain(half(1, 16, 3, padding=0), nn.ReLU()),
        chain(half(1, 16, 5, padding=2), nn.ReLU()),
        chain(half(1, 16, 3, stride=2), nn.ReLU()),
        chain(half(1, 16, 3, bias=False), nn.ReLU()),
        chain(half(1, 16, 3, padding_mode="circular"), nn.ReLU()),
        chain(half(1, 24, 3), nn.ReLU()),
        chain(half(8, 16, 3), nn.ReLU()),
        chain(half(2, 16, 3, groups=2), nn.ReLU()),
        chain(half(1, 16, 3, padding=2, dilation=2), nn.ReLU()),
        chain(nn.MaxPool2d(2), half(1, 16, 3), nn.ReLU()),
        chain(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU()),
    ],
    ids=str,
)
def test_other_networks_stay_as_they_are(net):
    assert with_half_convolutions(net) is net


@pytest.mark.usefixtures("triton_is_there")
def test_the_chain_ends_at_the_first_other_layer():
    convolution = half(16, 16, 3)
    quick = with_half_convolutions(chain(half(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2), convolution, nn.ReLU()))
    assert len(quick.convolutions) == 1
    assert quick.others[1] is convolution


@pytest.mark.usefixtures("triton_is_there")
def test_a_head_that_begins_with_convolutions_gets_its_features_as_vectors():
    net = conv_net(8, 3, n_conv=3, hidden=(16,), half=True)
    _, head = split_for_features(net, "conv1", (1, 8, 8))
    quick = with_half_convolutions(head)
    assert [type(layer).__name__ for layer in quick.before] == ["Unflatten"]
    assert [layer.in_channels for layer in quick.convolutions] == [32, 32]
    assert type(quick.others[0]).__name__ == "Flatten"


def test_saved_networks_remember_it():
    net = conv_net(8, 3, n_conv=1, hidden=(4,), half=True)
    again = build(json.loads(json.dumps(describe(net))))
    assert repr(again) == repr(net)
    assert again.conv1[0].half_in_training
    old = describe(conv_net(8, 3, n_conv=1, hidden=(4,)))
    assert not build(old).conv1[0].half_in_training
    assert "half" not in old["children"]["conv1"]["children"]["0"]


def test_without_triton_the_network_stays_as_it_is(monkeypatch):
    monkeypatch.setattr(module_under_test, "has", lambda name: False)
    net = conv_net(8, 3, n_conv=1, hidden=(4,), half=True)
    assert with_half_convolutions(net) is net


@pytest.mark.usefixtures("triton_is_there")
def test_on_the_cpu_it_is_the_network_itself():
    net = conv_net(8, 3, n_conv=2, hidden=(16,), half=True).eval()
    images = torch.rand(5, 1, 8, 8)
    assert torch.equal(with_half_convolutions(net)(images), net(images))


@pytest.mark.usefixtures("triton_is_there")
@pytest.mark.parametrize("wanted", [False, True])
def test_trainers_take_it_where_the_network_says_so(wanted):
    trainer = Trainer(conv_net(8, 3, n_conv=1, hidden=(4,), half=wanted), Recipe(1, 4))
    net = conv_net(8, 3, n_conv=1, hidden=(4,), half=wanted)
    pairs = PairedTrainer(net, "conv1", DeepCoral(), Recipe(1, 4), sample_shape=(1, 8, 8), n_classes=3)
    assert hasattr(trainer.network, "convolutions") is wanted
    assert hasattr(pairs.encoder, "convolutions") is wanted


def parameters(layers, channels, width, device="cuda"):
    generator = torch.Generator().manual_seed(1)
    sizes = [channels] + [width] * layers
    # Of a size that keeps the maps' scale.
    weights = [torch.randn(width, size, 3, 3, generator=generator) * (2.0 / (9 * size)) ** 0.5 for size in sizes[:-1]]
    biases = [torch.randn(width, generator=generator) * 0.1 for _ in weights]
    return [own.to(device).requires_grad_() for own in weights], [own.to(device).requires_grad_() for own in biases]


@pytest.mark.parametrize(
    "case",
    [
        (3, 1, (5, 6), 16, 2),
        (5, 3, (8, 8), 32, 3),
        (40, 1, (28, 28), 32, 4),
        (9, 7, (7, 9), 64, 2),
        (6, 32, (9, 5), 32, 2),
    ],
)
class TestKernels:
    pytestmark = on_gpu

    def test_outputs_and_gradients_are_those_of_torch(self, case):
        from driftfit.models.networks.convolution_kernels import rectified_convolutions

        n, channels, size, width, layers = case
        images = torch.randn(n, channels, *size, generator=torch.Generator().manual_seed(0)).cuda()
        weights, biases = parameters(layers, channels, width)
        out = rectified_convolutions(images, weights, biases)
        exact = images.double()
        for weight, bias in zip(weights, biases, strict=True):
            exact = conv2d(exact, weight.double(), bias.double(), padding=1).relu()
        assert (out.shape, out.dtype) == (exact.shape, torch.float32)
        assert distance(out, exact) < 1e-2
        # A smooth loss, so that few gradients cancel each other.
        found = torch.autograd.grad(out.square().mean(), weights + biases)
        wanted = torch.autograd.grad(exact.square().mean(), weights + biases)
        for own, other in zip(found, wanted, strict=True):
            # Some values near zero are on the other side of a ReLU; what is wrong is off by far more.
            assert distance(own, other) < 0.1

    def test_the_same_bits_each_time(self, case):
        from driftfit.models.networks.convolution_kernels import rectified_convolutions

        n, channels, size, width, layers = case
        images = torch.rand(n, channels, *size).cuda()
        weights, biases = parameters(layers, channels, width)
        first, second = (
            torch.autograd.grad(rectified_convolutions(images, weights, biases).sum(), weights + biases)
            for _ in range(2)
        )
        assert all(torch.equal(one, other) for one, other in zip(first, second, strict=True))


def distance(found, wanted):
    return float((found.detach().double() - wanted.detach()).norm() / wanted.detach().norm())


class TestTraining:
    pytestmark = on_gpu

    def test_a_network_learns_as_it_does_in_float32(self):
        from driftfit.models.torch.samples import Stored, logits

        generator = torch.Generator().manual_seed(0)
        labels = torch.randint(0, 3, (600,), generator=generator)
        images = torch.randn(600, 1, 8, 8, generator=generator) + labels[:, None, None, None] * 0.5
        scores = {}
        for half in (False, True):
            torch.manual_seed(0)
            net = conv_net(8, 3, n_conv=2, hidden=(16,), dropout=0.0, half=half).cuda()
            trainer = Trainer(net, Recipe(5, 64))
            trainer.train(Stored(images.cuda()), torch.arange(600).cuda(), labels.cuda(), seed=3)
            assert trainer.steps.capture
            scores[half] = logits(net, Stored(images.cuda())).cpu()
        assert not torch.equal(scores[True], scores[False])
        assert (scores[True] - scores[False]).norm() < 0.2 * scores[False].norm()
        assert (scores[True].argmax(1) == scores[False].argmax(1)).float().mean() > 0.95

    def test_a_head_on_vectors_computes_what_the_network_does(self):
        net = conv_net(8, 3, n_conv=2, hidden=(16,), dropout=0.0, half=True).cuda().eval()
        encoder, head = split_for_features(net, "conv1", (1, 8, 8))
        images = torch.rand(20, 1, 8, 8, device="cuda")
        with torch.no_grad():
            features = encoder(images).flatten(1)
            assert distance(with_half_convolutions(head)(features), net(images).double()) < 2e-2

    def test_inputs_that_need_a_gradient_get_one(self):
        net = conv_net(8, 3, n_conv=1, hidden=(4,), dropout=0.0, half=True).cuda()
        images = torch.rand(4, 1, 8, 8, device="cuda", requires_grad=True)
        with_half_convolutions(net)(images).sum().backward()
        assert float(images.grad.abs().sum()) > 0

    def test_what_torch_refuses_is_left_to_torch(self):
        net = with_half_convolutions(conv_net(8, 3, n_conv=1, hidden=(4,), dropout=0.0, half=True).cuda())
        with pytest.raises(RuntimeError, match="channels"):
            net(torch.rand(4, 3, 8, 8, device="cuda"))


class Doubled(BiasedConv2d):
    def forward(self, input):
        return 2 * super().forward(input)


@pytest.mark.usefixtures("triton_is_there")
@pytest.mark.parametrize("where", ["conv1", "conv1.0", "conv1.1"])
def test_hooks_are_not_passed_over(where):
    net = conv_net(8, 3, n_conv=1, hidden=(4,), half=True)
    net.get_submodule(where).register_forward_hook(lambda *_: None)
    assert with_half_convolutions(net) is net


@pytest.mark.usefixtures("triton_is_there")
def test_layers_with_a_forward_pass_of_their_own_are_not_passed_over():
    net = chain(Doubled(1, 16, 3, padding=1, half=True), nn.ReLU())
    assert with_half_convolutions(net) is net


@pytest.mark.usefixtures("triton_is_there")
def test_a_network_without_layers_stays_as_it_is():
    net = nn.Sequential()
    assert with_half_convolutions(net) is net


def test_layers_that_know_of_no_choice_are_float32():
    layer = BiasedConv2d(1, 16, 3)
    del layer.half_in_training  # as one that an earlier version made
    assert "half" not in repr(layer)
