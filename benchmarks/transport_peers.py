"""Exact transport beside other solvers of the same problem: time, memory, and cost in units of the optimum.

    python benchmarks/transport_peers.py --sizes 1000,2000,5000

Gaussian mixtures with equal sizes and uniform weights, which all of them take; d = 64. Every measurement runs in a
process of its own. `lapx` (`pip install lapx`) is measured where it is installed. POT's lazy solver forms no matrix of
costs and takes minutes from some thousand samples on; POT's bijection is not exact.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from transport import mixture, peak, versions, warm_up

Cloud = np.ndarray
_FEATURES = 64
# The lazy solver takes ten minutes at 5,000.
_LAZY_UP_TO = 2000


def by_us(x0: Cloud, x1: Cloud) -> np.ndarray:
    from driftfit.transport import Exact, transport

    plan = transport(x0, x1, solver=Exact(device="cpu"))
    assert plan.certificate.proves_optimal()
    return np.asarray(plan.cols[np.argsort(plan.rows)])


def by_pot(x0: Cloud, x1: Cloud) -> np.ndarray:
    import ot

    return np.asarray(ot.emd([], [], ot.dist(x0, x1), numItermax=10**9).argmax(axis=1))


def by_pot_lazy(x0: Cloud, x1: Cloud) -> np.ndarray:
    import ot

    _, log = ot.emd2_lazy(x0, x1, numItermax=10**9, log=True, return_matrix=True)
    return np.asarray(log["G"].toarray().argmax(axis=1) if hasattr(log["G"], "toarray") else log["G"].argmax(axis=1))


def by_pot_bijection(x0: Cloud, x1: Cloud) -> np.ndarray:
    import ot

    found = ot.compute_bspot_bijection(x0, x1)
    return np.asarray(found[1])


def by_scipy(x0: Cloud, x1: Cloud) -> np.ndarray:
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    return np.asarray(linear_sum_assignment(cdist(x0, x1, "sqeuclidean"))[1])


def by_lapx(x0: Cloud, x1: Cloud) -> np.ndarray:
    from scipy.spatial.distance import cdist

    return np.asarray(importlib.import_module("lap").lapjv(cdist(x0, x1, "sqeuclidean"))[1])


SOLVERS: dict[str, Callable[[Cloud, Cloud], np.ndarray]] = {
    "driftfit, with certificate": by_us,
    "`ot.emd`": by_pot,
    "POT, lazy": by_pot_lazy,
    "POT, bijection (not exact)": by_pot_bijection,
    "SciPy, assignment": by_scipy,
    "lapx": by_lapx,
}


def measure(name: str, n: int) -> dict[str, Any]:
    """Seconds, and GiB beyond what the process had, of one solver."""
    if SOLVERS[name] is by_us:
        warm_up()
    x0, x1 = mixture(n, _FEATURES)
    SOLVERS[name](x0[:100], x1[:100])
    before, start = peak(), time.perf_counter()
    partner = SOLVERS[name](x0, x1)
    seconds, memory = time.perf_counter() - start, peak() - before
    if len(set(partner.tolist())) != n:
        raise SystemExit(f"{name} returned no permutation")
    return {"solver": name, "n": n, "seconds": seconds, "GiB": memory, "cost": float(np.square(x0 - x1[partner]).sum())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,2000,5000")
    parser.add_argument("--out", type=Path, default=Path("benchmark-transport"))
    parser.add_argument("--only", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(measure(options.only[0], int(options.only[1]))))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for n in (int(size) for size in options.sizes.split(",")):
        for name in SOLVERS:
            if name == "lapx" and importlib.util.find_spec("lap") is None:
                continue
            if name == "POT, lazy" and n > _LAZY_UP_TO:
                continue
            done = subprocess.run(
                [sys.executable, __file__, "--only", name, str(n)], stdout=subprocess.PIPE, text=True, check=True
            )
            rows.append(json.loads(done.stdout.strip().split("\n")[-1]))
            ours = next(row for row in rows if row["n"] == n)
            rows[-1]["cost / optimum"] = rows[-1]["cost"] / ours["cost"]
            rows[-1]["times ours"] = rows[-1]["seconds"] / ours["seconds"]
            print(
                f"{name:28s}{n:>7,}{rows[-1]['seconds']:>9.2f} s{rows[-1]['GiB']:>7.2f} GiB"
                f"{rows[-1]['cost / optimum']:>14.9f}{rows[-1]['times ours']:>9.1f}x",
                flush=True,
            )
    try:
        lapx = version("lapx")
    except PackageNotFoundError:
        lapx = None
    record = {"d": _FEATURES, "rows": rows, "versions": versions() | {"lapx": lapx}}
    (options.out / "transport_peers.json").write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
