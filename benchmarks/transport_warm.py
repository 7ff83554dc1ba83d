"""What a start saves: samples that moved a little, and others of the same kind, solved from an earlier plan.

    OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python benchmarks/transport_warm.py --out results

Two Gaussian mixtures whose samples move by a share of their spread. Both ways take turns in one process, with the
certificate; time is that of the processor, the least of several.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from driftfit.transport import Plan, transport, transport_batch
from transport import mixture, versions

_CASES = [(5000, d) for d in (2, 3, 8, 32, 256)] + [(20000, 32)]
_NOISES = (0.003, 0.01)
_BATCHES = ((64, 256, 2), (64, 256, 32), (8, 1000, 2), (8, 1000, 32))


def least(ways: Mapping[str, Callable[[], Any]], rounds: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Processor seconds of each way, and what it found."""
    seconds, found = dict.fromkeys(ways, np.inf), {}
    for _ in range(rounds):
        for name, way in ways.items():
            started = time.process_time()
            found[name] = way()
            seconds[name] = min(seconds[name], time.process_time() - started)
    return seconds, found


def moved(noise: float, *clouds: np.ndarray) -> list[np.ndarray]:
    rng, spread = np.random.default_rng(1), float(np.concatenate(clouds).std())
    return [x + noise * spread * rng.standard_normal(x.shape) for x in clouds]


def record(name: str, ways: Mapping[str, Callable[[], Any]], rounds: int, **facts: Any) -> dict[str, Any]:
    seconds, found = least(ways, rounds)
    costs = {way: plan.cost if isinstance(plan, Plan) else float(plan.costs.sum()) for way, plan in found.items()}
    plans = [one for plan in found.values() for one in ([plan] if isinstance(plan, Plan) else plan)]
    assert all(plan.certificate.proves_optimal() for plan in plans)
    assert max(costs.values()) - min(costs.values()) <= 1e-12 * abs(costs["cold"])
    row = {"problem": name, **facts, "seconds": seconds}
    row["times as fast"] = {way: seconds["cold"] / s for way, s in seconds.items() if way != "cold"}
    print(row, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("benchmark-transport"))
    options = parser.parse_args()
    rows = []
    for n, d in _CASES:
        x0, x1 = mixture(n, d)
        old = transport(x0, x1)
        for noise in _NOISES:
            y = moved(noise, x0, x1)
            ways = {"cold": partial(transport, *y), "warm": partial(transport, *y, start=old)}
            if noise == _NOISES[0]:
                ways["poor start"] = partial(transport, *y, start=np.zeros(n))
            rows.append(record("moved", ways, options.rounds, n=n, d=d, noise=noise))
        # Half as many samples, and others: the same mixtures.
        z0, z1 = mixture(2 * n, d)
        half, others = transport(z0[: n // 2], z1[: n // 2]), (z0[n:], z1[n:])
        ways = {"cold": partial(transport, *others), "warm": partial(transport, *others, start=(half, z0[: n // 2]))}
        rows.append(record("from half as many other samples", ways, options.rounds, n=n, d=d))
    for count, n, d in _BATCHES:
        x = np.random.default_rng(0).standard_normal((2, count, n, d))
        y = moved(0.01, *x)
        batches = {
            "cold": partial(transport_batch, *y),
            "warm": partial(transport_batch, *y, start=transport_batch(*x)),
        }
        rows.append(record("batch", batches, options.rounds, B=count, n=n, d=d, noise=0.01))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "transport_warm.json").write_text(
        json.dumps({"rows": rows, "versions": versions()}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
