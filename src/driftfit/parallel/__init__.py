"""Where independent pieces of work run: in this process, in several of this machine, or on a cluster."""

from driftfit.parallel.engine import Batch, Bundle, Engine, Failure, Outcome, Workload
from driftfit.parallel.engine_words import ENGINES, engine_from_word
from driftfit.parallel.on_ray import Ray
from driftfit.parallel.processes import Processes
from driftfit.parallel.serial import Serial

__all__ = [
    "ENGINES",
    "Batch",
    "Bundle",
    "Engine",
    "Failure",
    "Outcome",
    "Processes",
    "Ray",
    "Serial",
    "Workload",
    "engine_from_word",
]
