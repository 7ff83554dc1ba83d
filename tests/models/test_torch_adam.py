"""`FusedAdam` is torch's fused Adam, and needs no compiler."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from driftfit.models.torch.adam import FusedAdam
from driftfit.models.torch.steps import is_adam


@pytest.mark.parametrize("weight_decay", [0.0, 1e-2])
def test_to_the_last_bit(weight_decay):
    torch.manual_seed(0)
    ours = [nn.Parameter(torch.randn(5, 3)), nn.Parameter(torch.randn(7)), nn.Parameter(torch.randn(2))]
    theirs = [nn.Parameter(own.detach().clone()) for own in ours]
    mine = FusedAdam(ours, 3e-3, weight_decay)
    other = torch.optim.Adam(theirs, lr=3e-3, weight_decay=weight_decay, fused=True)
    for step in range(10):
        # The last one has a gradient now and then, and so fewer steps than the others.
        for one, two in zip(ours[: 2 + step % 2], theirs, strict=False):
            one.grad = torch.randn_like(one)
            two.grad = one.grad.clone()
        for optimiser in (mine, other):
            optimiser.step()
            optimiser.zero_grad()
        assert all(own.grad is None for own in ours)
    assert all(torch.equal(one, two) for one, two in zip(ours, theirs, strict=True))
    assert float(mine.state[ours[0]]["step"]) == 10
    assert float(mine.state[ours[2]]["step"]) == 5


def test_gradients_may_be_kept_as_zeros():
    weight = nn.Parameter(torch.ones(2))
    weight.grad = torch.ones(2)
    FusedAdam([weight]).zero_grad(set_to_none=False)
    assert weight.grad.tolist() == [0.0, 0.0]


def test_it_counts_as_adam():
    weight = nn.Parameter(torch.ones(1))
    assert is_adam(FusedAdam([weight]))
    assert is_adam(torch.optim.Adam([weight]))
    assert not is_adam(torch.optim.SGD([weight], 0.1))


TRAINING = """
import sys
from functools import partial
import torch
from driftfit.models.torch.adam import FusedAdam
from driftfit.models.torch.samples import Stored
from driftfit.models.torch.training import Recipe, Trainer
from driftfit.models.networks import conv_net
x, y = torch.randn(8, 1, 8, 8), torch.arange(8) % 2
trainer = Trainer(conv_net(8, 2, n_conv=1, hidden=(4,)), Recipe(1, 4, partial(FusedAdam, lr=1e-3)))
trainer.train(Stored(x), torch.arange(8), y)
print("torch._dynamo" in sys.modules)
torch.optim.Adam([torch.nn.Parameter(x)])
print("torch._dynamo" in sys.modules)
"""


def test_a_training_imports_no_compiler():
    """Torch's own optimiser does."""
    done = subprocess.run([sys.executable, "-c", TRAINING], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
