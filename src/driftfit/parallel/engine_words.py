"""From the words of a command line to an engine."""

from __future__ import annotations

from driftfit.errors import InputError
from driftfit.parallel.engine import Engine
from driftfit.parallel.on_ray import Ray
from driftfit.parallel.processes import Processes
from driftfit.parallel.serial import Serial

__all__ = ["ENGINES", "engine_from_word"]

ENGINES = ("serial", "processes", "ray")


def engine_from_word(
    word: str | None, workers: int | None = None, address: str | None = None, gpus: float | None = None
) -> Engine:
    """The engine that somebody asks for.

    Parameters
    ----------
    word : str, optional
        One of `ENGINES`. Without one, an address asks for Ray, several workers for processes.
    workers : int, optional
    address : str, optional
        Of a Ray cluster.
    gpus : float, optional
        Of each cell, on Ray.

    Examples
    --------
    >>> engine_from_word(None, 2), engine_from_word(None, 1)
    (Processes(workers=2), Serial())
    >>> engine_from_word("processes", address="10.0.0.1:6379")
    Traceback (most recent call last):
        ...
    driftfit.errors.InputError: the address '10.0.0.1:6379' is for the engine ray, got 'processes'
    """
    if word is None:
        word = "ray" if address is not None else "processes" if (workers or 1) > 1 else "serial"
    if word not in ENGINES:
        raise InputError(f"there is no engine {word!r}; choose among {', '.join(ENGINES)}")
    if address is not None and word != "ray":
        raise InputError(f"the address {address!r} is for the engine ray, got {word!r}")
    if gpus is not None and word != "ray":
        raise InputError(f"a number of GPUs for each cell ({gpus!r}) is for the engine ray, got {word!r}")
    if word == "ray":
        return Ray(workers, address, gpus)
    if word == "serial":
        if (workers or 1) > 1:
            raise InputError(f"the engine serial has one worker, got {workers}; use processes or ray")
        return Serial()
    return Processes(workers or 2)
