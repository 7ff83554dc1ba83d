"""Where a problem is solved: on the processor or on a GPU."""

from __future__ import annotations

import importlib.util

import scipy.sparse as sp

from gradapt.errors import InputError
from gradapt.transport.costs import SquaredEuclidean
from gradapt.transport.problem import Problem

__all__ = ["gpu_available", "placed"]

# Multiplications from which moving the samples to a GPU pays for starting torch there.
_GPU_WORK = 2e10


def placed(problem: Problem, device: str) -> Problem:
    """The problem on the device asked for; ``"auto"`` takes a GPU that is there if the problem is large.

    >>> placed(Problem.of([[0.0]], [[1.0]]), "auto").on_device
    False
    """
    if problem.on_device:
        return problem.to_host() if device == "cpu" else problem
    if device == "cpu":
        return problem
    if device == "auto":
        work = problem.shape[0] * problem.shape[1] * problem.x0.shape[1]
        if not (suits_gpu(problem) and work >= _GPU_WORK and gpu_available()):
            return problem
        return problem.to_device("cuda")
    if not suits_gpu(problem):
        raise InputError(
            f"device={device!r} takes dense samples and the squared Euclidean cost, and numba for unequal sizes or "
            "weights; use device='cpu' for this problem"
        )
    return problem.to_device(device)


def suits_gpu(problem: Problem) -> bool:
    """Whether the exact solver on a GPU knows this kind of problem."""
    dense = not sp.issparse(problem.x0) and not sp.issparse(problem.x1)
    solvable = problem.uniform or importlib.util.find_spec("numba") is not None
    return bool(solvable and dense and isinstance(problem.cost, SquaredEuclidean))


def gpu_available() -> bool:
    """Whether torch is installed and sees a GPU."""
    if importlib.util.find_spec("torch") is None:
        return False
    import torch  # slow to import

    return bool(torch.cuda.is_available())
