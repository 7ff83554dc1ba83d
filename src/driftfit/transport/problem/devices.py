"""Where a problem is solved: on the processor or on a GPU."""

from __future__ import annotations

import importlib.util
from math import inf

from driftfit.errors import InputError
from driftfit.transport.kernels import has_numba
from driftfit.transport.problem.problem import Problem

__all__ = ["bytes_on_device", "fits_on_device", "gpu_available", "placed", "room_on_device", "wants_gpu"]

# Multiplications from which moving the samples to a GPU pays for starting torch there.
_GPU_WORK = 2e10
# Share of a GPU's free memory that may be filled; 8 bytes for a cost, 4 for its kernel.
_MEMORY_SHARE = 0.7
_BYTES_PER_PAIR = 12


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
        return problem.to_device("cuda") if wants_gpu(problem) else problem
    if not problem.squared:
        raise InputError(
            f"device={device!r} takes dense samples and the squared Euclidean cost; use device='cpu' for this problem"
        )
    return problem.to_device(device)


def wants_gpu(problem: Problem) -> bool:
    """Whether the problem is of a kind and size for a GPU, and one is there."""
    n, m = problem.shape
    # Between unequal weights the simplex takes turns with the GPU, and is compiled.
    solvable = problem.uniform or has_numba()
    return problem.squared and solvable and n * m * problem.x0.shape[1] >= _GPU_WORK and gpu_available()


def gpu_available() -> bool:
    """Whether torch is installed and sees a GPU."""
    if importlib.util.find_spec("torch") is None:
        return False
    import torch  # slow to import

    return bool(torch.cuda.is_available())


def fits_on_device(problem: Problem) -> bool:
    """Whether all costs and the kernel fit into the memory of the device the samples are on."""
    return problem.on_device and bytes_on_device(problem) <= room_on_device(problem)


def room_on_device(problem: Problem) -> float:
    """Bytes that costs may take on the device the samples are on."""
    import torch  # slow to import

    place = problem.x0.device
    if place.type != "cuda":
        return inf
    free, _ = torch.cuda.mem_get_info(place)
    # Memory that torch has freed but keeps counts as taken there, and is handed out again.
    kept = torch.cuda.memory_reserved(place) - torch.cuda.memory_allocated(place)
    return _MEMORY_SHARE * (free + kept)


def bytes_on_device(problem: Problem) -> int:
    """What all costs and the kernel take.

    >>> bytes_on_device(Problem.of([[0.0]], [[1.0], [2.0]]))
    24
    """
    return _BYTES_PER_PAIR * problem.shape[0] * problem.shape[1]
