"""Time against the number of samples: our exact plans, alone and in batches, beside POT, SciPy and lapx.

    OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python benchmarks/transport_sizes.py --out results

One process and one thread, time of the processor, solvers in turns, the least of several runs. Ours includes the
certificate, that of others the costs. Where a solver took long at one size it is not asked for larger ones; lapx is
measured where it is installed. ``--plot`` draws the chart of the page from the record, with what records of a GPU say.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from transport import mixture, versions

_SIZES = {2: (32, 128, 512, 2000, 5000, 20_000, 50_000), 32: (32, 128, 512, 2000, 5000, 20_000)}
# Seconds that a solver may take at one size before it is left out of the next; problems of a batch.
_PATIENCE, _BATCH = 2.0, 64
_BATCHED = "driftfit, in batches"
# Samples up to which each is asked: memory of the others grows with their square.
_MOST = {"driftfit": 50_000, _BATCHED: 1024}


def solvers() -> dict[str, Callable[[np.ndarray, np.ndarray], Any]]:
    import ot
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    from driftfit.transport import Exact, transport, transport_batch

    found: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
        "driftfit": lambda x, y: transport(x, y, solver=None if len(x) <= 1024 else Exact(device="cpu")),
        _BATCHED: lambda x, y: transport_batch(*(np.broadcast_to(side, (_BATCH, *side.shape)) for side in (x, y))),
        "ot.emd": lambda x, y: ot.emd([], [], ot.dist(x, y), numItermax=10**9),
        "SciPy": lambda x, y: linear_sum_assignment(cdist(x, y, "sqeuclidean")),
    }
    if importlib.util.find_spec("lap") is not None:
        lap = importlib.import_module("lap")
        found["lapx"] = lambda x, y: lap.lapjv(cdist(x, y, "sqeuclidean"))
    return found


def measure() -> list[dict[str, Any]]:
    rows = []
    for d, sizes in _SIZES.items():
        asked = solvers()
        for n in sizes:
            x, y = mixture(n, d)
            seconds: dict[str, float] = {}
            for _ in range(5 if n <= 512 else 2):
                for name, solve in asked.items():
                    if seconds.get(name, 0.0) > _PATIENCE / 2 or n > _MOST.get(name, 5000):
                        continue
                    started = time.process_time()
                    solve(x, y)
                    passed = (time.process_time() - started) / (_BATCH if name == _BATCHED else 1)
                    # The first of all calls loads the compiled code.
                    seconds[name] = min(seconds.get(name, np.inf), passed)
            asked = {name: solve for name, solve in asked.items() if seconds.get(name, 0.0) <= _PATIENCE}
            rows.append({"n": n, "d": d, "seconds": seconds})
            print(rows[-1], flush=True)
    return rows


def plot(rows: list[dict[str, Any]], gpu: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
    for axis, d in zip(axes, _SIZES, strict=True):
        names = dict.fromkeys(name for row in rows if row["d"] == d for name in row["seconds"])
        for name in names:
            points = [(row["n"], row["seconds"][name]) for row in rows if row["d"] == d and name in row["seconds"]]
            axis.loglog(*zip(*points, strict=True), "o-" if "driftfit" in name else "s--", markersize=4, label=name)
        axis.set(title=f"{d} features", xlabel="samples in each set")
        axis.grid(alpha=0.3)
    points = [(row["n"], row["with certificate"]) for row in gpu]
    axes[1].loglog(*zip(*points, strict=True), "^-", color="0.4", label="driftfit on an H200, 25,088 features")
    axes[0].set(ylabel="seconds for one plan")
    axes[1].legend(fontsize=7)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmark-transport"))
    parser.add_argument("--plot", type=Path, help="draw the record in --out into this file, and measure nothing")
    options = parser.parse_args()
    path = options.out / "transport_sizes.json"
    if options.plot:
        gpu = json.loads((options.out / "transport.json").read_text())["gpu"]
        plot(json.loads(path.read_text())["rows"], gpu, options.plot)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"rows": measure(), "versions": versions()}, indent=1) + "\n")


if __name__ == "__main__":
    main()
