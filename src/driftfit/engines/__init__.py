"""Where independent pieces of work run: in this process, in several of this machine, or on a cluster.

`launch` runs cells and keeps their records in one store; an `Engine` runs batches of anything.
"""

from driftfit.engines.engine import Batch, Bundle, Engine, Failure, Outcome, Workload
from driftfit.engines.engine_words import ENGINES, engine_from_word
from driftfit.engines.interrupts import interruptible
from driftfit.engines.launching import Finished, OnCell, Record, launch
from driftfit.engines.on_ray import Ray
from driftfit.engines.processes import Processes
from driftfit.engines.run_log import FailedCell, RunState, failed_cells, run_states
from driftfit.engines.serial import Serial
from driftfit.engines.store import Store

__all__ = [
    "ENGINES",
    "Batch",
    "Bundle",
    "Engine",
    "FailedCell",
    "Failure",
    "Finished",
    "OnCell",
    "Outcome",
    "Processes",
    "Ray",
    "Record",
    "RunState",
    "Serial",
    "Store",
    "Workload",
    "engine_from_word",
    "failed_cells",
    "interruptible",
    "launch",
    "run_states",
]
