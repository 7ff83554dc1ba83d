"""Where independent pieces of work run: in this process, in several of this machine, or on a cluster.

`launch` runs cells and keeps their records in one store; an `Engine` runs batches of anything.
"""

from gradapt.engines.engine import Batch, Bundle, Engine, Failure, Outcome, Workload
from gradapt.engines.engine_words import ENGINES, engine_from_word
from gradapt.engines.interrupts import interruptible
from gradapt.engines.launching import Finished, OnCell, Record, launch
from gradapt.engines.on_ray import Ray
from gradapt.engines.processes import Processes
from gradapt.engines.run_log import FailedCell, RunState, failed_cells, run_states
from gradapt.engines.serial import Serial
from gradapt.engines.store import Store

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
