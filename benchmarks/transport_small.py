"""Small problems one by one and in batches, beside loops of POT and lapx; costs and our proofs are included.

    OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=2 python benchmarks/transport_small.py --out results

Gaussian samples with a shift of 1, d = 32. Solvers take turns, and each time is the least of several. Where other work
shares the cores, the clock says little: the time of the processor is kept too, of all threads together. `lapx` is
measured where it is installed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import ot

from driftfit.transport import transport, transport_batch
from driftfit.transport.arrays import worker_count
from driftfit.transport.costs.table import gamma
from driftfit.transport.kernels.dense import prove
from transport import versions

_FEATURES = 32
_ALONE = (32, 64, 128, 256, 512, 1000)
_BATCHES = ((256, 64), (256, 128), (256, 256))


Times = dict[str, tuple[float, float]]


def least(solvers: dict[str, Callable[[], Any]], rounds: int) -> Times:
    """The least time of each solver, in turns, by the clock and of the processor."""
    found = dict.fromkeys(solvers, (np.inf, np.inf))
    for _ in range(rounds):
        for name, solve in solvers.items():
            started = time.perf_counter(), time.process_time()
            solve()
            passed = time.perf_counter() - started[0], time.process_time() - started[1]
            found[name] = min(found[name][0], passed[0]), min(found[name][1], passed[1])
    return found


def peers(x: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Loops over the problems of a batch."""
    loops: dict[str, Callable[[], Any]] = {
        "ot.emd": lambda: [ot.emd([], [], ot.dist(a, b)) for a, b in zip(x, y, strict=True)]
    }
    if importlib.util.find_spec("lap") is not None:
        lap = importlib.import_module("lap")
        loops["lapx"] = lambda: [lap.lapjv(ot.dist(a, b)) for a, b in zip(x, y, strict=True)]
    return loops


def alone(rounds: int) -> list[dict[str, Any]]:
    rng, rows = np.random.default_rng(0), []
    for n in _ALONE:
        x, y = rng.normal(size=(1, n, _FEATURES)), rng.normal(size=(1, n, _FEATURES)) + 1.0
        found = least({"driftfit": lambda x=x, y=y: transport(x[0], y[0])} | peers(x, y), rounds * max(1, 512 // n))
        rows.append({"n": n, "seconds": found} | _ratios(found, 1))
        print(rows[-1], flush=True)
    return rows


def batches(rounds: int) -> list[dict[str, Any]]:
    rng, rows = np.random.default_rng(1), []
    for count, n in _BATCHES:
        x, y = rng.normal(size=(count, n, _FEATURES)), rng.normal(size=(count, n, _FEATURES)) + 1.0
        found = least({"driftfit": lambda x=x, y=y: transport_batch(x, y)} | peers(x, y), rounds)
        plans = transport_batch(x, y)
        assert all(plan.certificate.proves_optimal() for plan in plans)
        costs, out = ot.dist(x[0], y[0]), np.empty(3)
        u, v = plans.potentials(0)
        given = costs, gamma(_FEATURES + 16), plans.partners[0], u.copy(), v.copy(), np.empty(n), out
        proof = least({"proof": lambda given=given: prove(*given)}, 50)["proof"]
        share = count * proof[0] / found["driftfit"][1]
        rows.append(
            {"B": count, "n": n, "seconds": found, "share of the proofs": share} | _ratios(found, worker_count())
        )
        print(rows[-1], flush=True)
    return rows


def _ratios(found: Times, threads: int) -> dict[str, dict[str, float]]:
    """How often our time goes into that of others: by the clock, and as it would be with all threads at work."""
    ours = found["driftfit"]
    others = [(name, times) for name, times in found.items() if name != "driftfit"]
    return {
        "ratio by the clock": {name: clock / ours[0] for name, (clock, _) in others},
        "ratio of processor time": {name: threads * processor / ours[1] for name, (_, processor) in others},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("benchmark-transport"))
    options = parser.parse_args()
    transport_batch(*np.random.default_rng(2).normal(size=(2, 4, 8, _FEATURES)))
    record = {"d": _FEATURES, "load": os.getloadavg()[0], "alone": alone(options.rounds),
              "batches": batches(options.rounds), "versions": versions()}  # fmt: skip
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "transport_small.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
