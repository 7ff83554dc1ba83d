"""Batches of plans and a training loop beside a GPU: our batch, SciPy's loop, random pairs against coupled ones.

    python benchmarks/transport_device.py --out results                       # a machine with a GPU: some two minutes
    python benchmarks/transport_device.py --device cpu --batch 16 --steps 20  # any machine, to try it

There is no way on the GPU itself: tensors are brought to the processor, and its cores share the batch. In the loop a
thread couples minibatches ahead while the network trains. Needs torch, numba and scikit-learn; POT is not asked for.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons

from driftfit.transport import transport_batch
from driftfit.transport.arrays import in_threads, worker_count
from driftfit.transport.costs.table import gamma
from driftfit.transport.kernels.dense import prove
from transport import versions

_FEATURES, _SAMPLES, _MINIBATCH, _AHEAD = 32, 512, 256, 64
Sampler = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


def timed(work: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """The least time by the clock, and the last result."""
    best, found = np.inf, None
    for _ in range(rounds):
        started = time.perf_counter()
        found = work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - started)
    return best, found


def batches(count: int, device: str) -> dict[str, Any]:
    """Costs, plans and proofs of a batch of tensors."""
    x, y = torch.randn((2, count, _SAMPLES, _FEATURES), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x, y = x.to(device), (y + 1.0).to(device)
    transport_batch(x[:2], y[:2])
    ours, plans = timed(lambda: transport_batch(x, y), 3)
    assert all(plans.certificate(k).proves_optimal() for k in range(count))
    a, b = x.cpu().numpy(), y.cpu().numpy()

    def one(k: int) -> float:
        costs = cdist(a[k], b[k], "sqeuclidean")
        rows, cols = linear_sum_assignment(costs)
        return float(costs[rows, cols].mean())

    scipy, reference = timed(lambda: [one(k) for k in range(count)], 1)
    assert np.allclose(plans.costs, reference, rtol=1e-12)
    threads, _ = timed(lambda: in_threads(lambda part: [one(k) for k in range(count)[part]], count), 1)
    costs, (u, v) = cdist(a[0], b[0], "sqeuclidean"), plans.potentials(0)
    given = costs, gamma(_FEATURES + 16), plans.partners[0], u.copy(), v.copy(), np.empty(_SAMPLES), np.empty(3)
    proof, _ = timed(lambda: prove(*given), 50)
    return {
        "B": count, "n": _SAMPLES, "d": _FEATURES, "threads": worker_count(), "driftfit": ours, "SciPy's loop": scipy,
        "SciPy in as many threads": threads, "times as fast as the loop": scipy / ours,
        "times as fast as its threads": threads / ours, "share of the proofs": count * proof / worker_count() / ours,
    }  # fmt: skip


def moons(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Two moons and eight Gaussians."""
    angles = rng.integers(8, size=count) * np.pi / 4
    second = 5.0 * np.column_stack([np.cos(angles), np.sin(angles)]) + 0.3 * rng.standard_normal((count, 2))
    return 3.0 * make_moons(count, noise=0.05, random_state=int(rng.integers(2**31)))[0], second


def images(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Noise, and 784 pixels of ten blurred random patterns: no data set is needed."""
    patterns = np.random.default_rng(0).random((10, 784)) > 0.8
    second = patterns[rng.integers(10, size=count)] * rng.random((count, 1)) + 0.1 * rng.random((count, 784))
    return rng.standard_normal((count, 784)), second


def minibatches(sampler: Sampler, coupled: bool, steps: int) -> Iterator[tuple[Any, Any]]:
    """Pairs of minibatches; a thread draws some ahead, and couples them where that is asked for."""

    def draw(seed: int) -> tuple[np.ndarray, np.ndarray]:
        x, y = sampler(np.random.default_rng(seed), _AHEAD * _MINIBATCH)
        x, y = (side.reshape(_AHEAD, _MINIBATCH, -1).astype(np.float32) for side in (x, y))
        if coupled:
            y = np.take_along_axis(y, transport_batch(x, y).partners[..., None], axis=1)
        return x, y

    with ThreadPoolExecutor(1) as pool:
        ahead = pool.submit(draw, 0)
        for number in range(-(-steps // _AHEAD)):
            x, y = ahead.result()
            ahead = pool.submit(draw, number + 1)
            yield from list(zip(x, y, strict=True))[: steps - number * _AHEAD]


def train(sampler: Sampler, width: int, coupled: bool, steps: int, device: str) -> float:
    """Seconds of so many steps of flow matching, after some that wake the device."""
    torch.manual_seed(0)
    size = sampler(np.random.default_rng(0), 2)[0].shape[1]
    layers = [torch.nn.Linear(size + 1, width), torch.nn.SiLU(), torch.nn.Linear(width, width), torch.nn.SiLU()]
    network = torch.nn.Sequential(*layers, torch.nn.Linear(width, size)).to(device)
    optimiser, started = torch.optim.Adam(network.parameters(), 1e-3), 0.0
    for number, pair in enumerate(minibatches(sampler, coupled, 2 * _AHEAD + steps)):
        if number == 2 * _AHEAD:
            if device != "cpu":
                torch.cuda.synchronize()
            started = time.perf_counter()
        x, y = (torch.from_numpy(side).to(device, non_blocking=True) for side in pair)
        t = torch.rand((len(x), 1), device=device)
        loss = (network(torch.cat([(1 - t) * x + t * y, t], 1)) - (y - x)).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter() - started


def loops(steps: int, device: str) -> list[dict[str, Any]]:
    rows = []
    for name, sampler, width in (("two moons to eight Gaussians", moons, 256), ("784 pixels", images, 1024)):
        times: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(3):
            for coupled, found in times.items():
                found.append(train(sampler, width, coupled, steps, device))
        random, exact = (min(times[coupled]) for coupled in (False, True))
        row = {"problem": name, "batch": _MINIBATCH, "steps": steps, "random pairs": random, "coupled pairs": exact}
        rows.append(row | {"overhead": exact / random - 1.0, "all times": list(times.values())})
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--out", type=Path, default=Path("benchmark-transport"))
    options = parser.parse_args()
    name = torch.cuda.get_device_name() if options.device.startswith("cuda") else "none"
    record: dict[str, Any] = {"GPU": name, "versions": versions(), "batch": batches(options.batch, options.device)}
    print(record["batch"], flush=True)
    record["loops"] = loops(options.steps, options.device)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "transport_device.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
