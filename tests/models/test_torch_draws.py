"""`Draws` without a GPU; captured ones are tested in `test_torch_gpu`."""

import torch

from driftfit.models.torch.draws import Draws


def test_every_call_draws():
    draws = Draws(lambda sizes: [torch.rand(size) for size in sizes], capture=False)
    torch.manual_seed(1)
    found = [*draws((3, 2)), *draws((3, 2))]
    torch.manual_seed(1)
    assert torch.equal(torch.cat(found), torch.cat([torch.rand(size) for size in (3, 2, 3, 2)]))
