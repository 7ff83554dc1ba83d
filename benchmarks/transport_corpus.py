"""Exact transport beside `ot.emd2` on forty kinds of problem: time with costs and certificate, and the optimum.

    python benchmarks/transport_corpus.py --sizes 1000,3000
    python benchmarks/transport_corpus.py --sizes 1000 --kind grid --kind lines

A process for each problem, in which both solvers run in turn, so that ratios are those of one machine in one state.
Real tables are found through ``DRIFTFIT_DATA``; kinds without their data are left out and named. Writes a JSON file
after each problem, and goes on from there when it is started again; ``--again`` races anew.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

# Two clouds, their weights and a cost; None for uniform weights and for the squared Euclidean cost.
Case = tuple[Any, Any, Any, Any, Any]
Maker = Callable[[np.random.Generator, int], Case]
KINDS: dict[str, Maker] = {}
# Peers that take less than this are not raced: starting up is what one would measure.
_RACED = 0.2
# Where both together take less than this, the best of three runs counts.
_SHORT = 1.0
# Kinds on which `ot.emd2` takes minutes at 10,000: they come last.
_SLOW = {
    "convolution features d=25088",
    "scales over six decades",
    "mixture d=2048",
    "whole numbers d=8",
    "imbalanced clusters",
}
# Bytes for each pair that `ot.emd2` and its costs take: touched once before the clock starts, so that neither solver
# pays for memory that the machine has not handed out yet.
_BYTES_PER_PAIR = 48


def kind(name: str) -> Callable[[Maker], Maker]:
    def keep(maker: Maker) -> Maker:
        KINDS[name] = maker
        return maker

    return keep


def mixtures(rng: np.random.Generator, n: int, m: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Two Gaussian mixtures of ten components, the second with its centres moved."""
    centres = rng.standard_normal((10, d))
    moved = centres + 0.5 * rng.standard_normal((10, d))
    return (
        centres[rng.integers(10, size=n)] + rng.standard_normal((n, d)),
        moved[rng.integers(10, size=m)] + rng.standard_normal((m, d)),
    )


for _d in (1, 2, 3, 8, 32, 256, 2048):
    kind(f"mixture d={_d}")(lambda rng, n, d=_d: (*mixtures(rng, n, n, d), None, None, None))
for _share in (0.97, 0.75, 0.1, 0.01):
    kind(f"sizes 1:{_share:g} d=32")(
        lambda rng, n, s=_share: (*mixtures(rng, n, max(2, int(s * n)), 32), None, None, None)
    )
for _d in (2, 32):
    kind(f"sizes 1:0.975 d={_d}")(lambda rng, n, d=_d: (*mixtures(rng, n, int(0.975 * n), d), None, None, None))
    kind(f"weighted d={_d}")(
        lambda rng, n, d=_d: (*mixtures(rng, n, n, d), rng.random(n) + 0.01, rng.random(n) + 0.01, None)
    )
    kind(f"weights over six decades d={_d}")(
        lambda rng, n, d=_d: (
            *mixtures(rng, n, n, d),
            10.0 ** rng.uniform(-6, 0, n),
            10.0 ** rng.uniform(-6, 0, n),
            None,
        )
    )


kind("sizes 1:0.8 d=256")(lambda rng, n: (*mixtures(rng, n, int(0.8 * n), 256), None, None, None))
kind("weighted d=256")(lambda rng, n: (*mixtures(rng, n, n, 256), rng.random(n) + 0.01, rng.random(n) + 0.01, None))


@kind("relu features d=500")
def relu(rng: np.random.Generator, n: int) -> Case:
    turn = rng.standard_normal((20, 500))
    x0, x1 = (np.maximum(rng.standard_normal((n, 20)) @ turn + s, 0).astype(np.float32) for s in (0.0, 0.5))
    return x0, x1, None, None, None


@kind("convolution features d=25088")
def convolution(rng: np.random.Generator, n: int) -> Case:
    from transport import conv_features

    try:
        x0, x1 = conv_features(n)
    except SystemExit as missing:
        raise FileNotFoundError(str(missing)) from None
    return x0.numpy(), x1.numpy(), None, None, None


@kind("isotropic d=1000")
def isotropic(rng: np.random.Generator, n: int) -> Case:
    return rng.standard_normal((n, 1000)), rng.standard_normal((n, 1000)), None, None, None


@kind("stretched d=2")
def stretched(rng: np.random.Generator, n: int) -> Case:
    x0, x1 = rng.standard_normal((n, 2)) * [100, 1], rng.standard_normal((n, 2)) * [1, 100]
    return x0, x1, None, None, None


@kind("uniform square, shifted")
def square(rng: np.random.Generator, n: int) -> Case:
    return rng.random((n, 2)), rng.random((n, 2)) + 0.2, None, None, None


@kind("grid against its shift")
def grid(rng: np.random.Generator, n: int) -> Case:
    side = int(np.sqrt(n))
    x = np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 2).astype(float)
    return x, rng.permutation(x) + np.array([3.0, 1.0]), None, None, None


@kind("grid against points")
def grid_points(rng: np.random.Generator, n: int) -> Case:
    side = int(np.sqrt(n))
    x = np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 2).astype(float)
    return x, side * rng.random((n, 2)), None, None, None


@kind("whole numbers d=2")
def integers2(rng: np.random.Generator, n: int) -> Case:
    return rng.integers(0, 30, (n, 2)).astype(float), rng.integers(5, 35, (n - 1, 2)).astype(float), None, None, None


@kind("whole numbers d=8")
def integers8(rng: np.random.Generator, n: int) -> Case:
    return rng.integers(0, 4, (n, 8)).astype(float), rng.integers(1, 5, (n, 8)).astype(float), None, None, None


@kind("one-hot, three columns")
def one_hot(rng: np.random.Generator, n: int) -> Case:
    def rows(m: int) -> np.ndarray:
        return np.concatenate([np.eye(k)[(rng.random(m) ** 2 * k).astype(int)] for k in (4, 9, 20)], axis=1)

    return rows(n), rows(int(0.9 * n)), None, None, None


@kind("one-hot and a number")
def mixed(rng: np.random.Generator, n: int) -> Case:
    def rows(m: int) -> np.ndarray:
        return np.column_stack([np.eye(9)[(rng.random(m) ** 2 * 9).astype(int)], rng.standard_normal(m)])

    return rows(n), rows(n), None, None, None


@kind("fifty copies of each")
def copies(rng: np.random.Generator, n: int) -> Case:
    x0, x1 = mixtures(rng, max(2, n // 50), max(2, n // 50), 16)
    return x0[rng.integers(len(x0), size=n)], x1[rng.integers(len(x1), size=n)], None, None, None


@kind("orthogonal lines")
def lines(rng: np.random.Generator, n: int) -> Case:
    t, s = np.linspace(0, 1, int(0.85 * n))[:, None], np.linspace(0, 1, n)[:, None]
    return t * [1, 0], s * [0, 1], None, None, None


@kind("one line")
def line(rng: np.random.Generator, n: int) -> Case:
    return rng.standard_normal((n, 1)) * np.ones(3), rng.standard_normal((n, 1)) * np.ones(3) + 1, None, None, None


@kind("circles")
def circles(rng: np.random.Generator, n: int) -> Case:
    a, b = (2 * np.pi * rng.random(n) for _ in range(2))
    return np.stack([np.cos(a), np.sin(a)], 1), 2 * np.stack([np.cos(b), np.sin(b)], 1), None, None, None


for _far in (1e6, 1e12):

    @kind(f"one sample at {_far:g}")
    def outlier(rng: np.random.Generator, n: int, far: float = _far) -> Case:
        x0, x1 = mixtures(rng, n, n, 3)
        x1[0] = far
        return x0, x1, None, None, None


@kind("a far sample in both, unequal")
def outliers(rng: np.random.Generator, n: int) -> Case:
    x0, x1 = mixtures(rng, n, int(0.9 * n), 16)
    x0[0], x1[1] = 1e5, -1e6
    return x0, x1, None, None, None


@kind("scales over six decades")
def scales(rng: np.random.Generator, n: int) -> Case:
    x0, x1 = (rng.standard_normal((n, 3)) * 10.0 ** rng.uniform(-3, 3, (n, 1)) for _ in range(2))
    return x0, x1, None, None, None


@kind("imbalanced clusters")
def imbalanced(rng: np.random.Generator, n: int) -> Case:
    x0, x1 = rng.standard_normal((n, 8)), rng.standard_normal((n, 8))
    x0[: n // 5] += 10
    x1[: n // 2] += 10
    return x0, x1, None, None, None


@kind("L1 distance d=3")
def cityblock(rng: np.random.Generator, n: int) -> Case:
    from driftfit.transport import PowerMetric

    return *mixtures(rng, n, n, 3), None, None, PowerMetric("cityblock")


@kind("distance d=8, unequal")
def distance(rng: np.random.Generator, n: int) -> Case:
    from driftfit.transport import PowerMetric

    return *mixtures(rng, n, int(0.8 * n), 8), None, None, PowerMetric("euclidean")


@kind("costs of 0 and 1")
def binary(rng: np.random.Generator, n: int) -> Case:
    from driftfit.transport import Precomputed

    costs = (rng.random((n, n)) < 0.98).astype(float)
    return np.arange(n)[:, None], np.arange(n)[:, None], None, None, Precomputed(costs)


@kind("random costs")
def random_costs(rng: np.random.Generator, n: int) -> Case:
    from driftfit.transport import Precomputed

    costs = rng.random((n, int(0.9 * n)))
    return np.arange(n)[:, None], np.arange(costs.shape[1])[:, None], None, None, Precomputed(costs)


@kind("tiny values, 1e-170")
def tiny(rng: np.random.Generator, n: int) -> Case:
    x0, x1 = mixtures(rng, n, int(0.9 * n), 4)
    return 1e-170 * x0, 1e-170 * x1, None, None, None


def table(name: str, rng: np.random.Generator, n: int, *, scaled: bool) -> Case:
    """First against last rows of a real table: numbers as they are or scaled, words as one-hot columns."""
    import pandas as pd

    frame = pd.read_parquet(Path(os.environ.get("DRIFTFIT_DATA", "data")) / "tables" / f"{name}.parquet")
    parts = []
    for column in frame.columns:
        values = frame[column]
        if pd.api.types.is_numeric_dtype(values):
            numbers = values.astype(float)
            parts.append(numbers.fillna(numbers.median()).to_frame())
        elif values.nunique() < 50:
            parts.append(pd.get_dummies(values, dtype=float))
    x = pd.concat(parts, axis=1).to_numpy(float)
    if scaled:
        x = (x - x.mean(axis=0)) / np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    n = min(n, len(x) // 2)
    return x[:n], x[-int(0.95 * n) :], None, None, None


for _name in ("rodents", "wages", "storms", "recidivism"):
    kind(f"table {_name}")(lambda rng, n, t=_name: table(t, rng, n, scaled=True))
kind("table rodents, as it is")(lambda rng, n: table("rodents", rng, n, scaled=False))


def timed(work: Callable[[], Any], pairs: int, best: tuple[float, float, Any] | None) -> tuple[float, float, Any]:
    """Seconds on the clock, seconds of the processor, and the result; the better of this run and an earlier one."""
    # In a process of its own: the memory of the race is that of the solvers.
    touch = f"import numpy; numpy.ones({_BYTES_PER_PAIR // 8 * pairs}).sum()"
    subprocess.run([sys.executable, "-c", touch], check=True)
    clock, processor = time.perf_counter(), time.process_time()
    result = work()
    now = time.perf_counter() - clock, time.process_time() - processor, result
    return now if best is None or now[0] < best[0] else best


def race(name: str, n: int) -> dict[str, Any]:
    """One problem, solved by us with certificate and by `ot.emd2` with costs, in turn; the best of three if short."""
    import ot

    from driftfit.transport import Exact, Problem, solve

    x0, x1, w0, w1, cost = KINDS[name](np.random.default_rng(0), n)
    problem = Problem.of(x0, x1, w0, w1, cost)

    def by_us() -> Any:
        return solve(Problem.of(x0, x1, w0, w1, cost), Exact(device="cpu"))

    def by_pot() -> Any:
        costs = problem.cost_matrix() if cost is not None else ot.dist(problem.x0, problem.x1)
        found = ot.emd2(problem.weights0, problem.weights1, costs, numItermax=10**9, log=True, return_matrix=True)
        return found[1]["G"]

    before = peak()
    pairs = problem.shape[0] * problem.shape[1]
    ours = timed(by_us, pairs, None)
    our_peak = peak()
    pot = timed(by_pot, pairs, None)
    pot_peak = peak()
    for _ in range(2 if ours[0] + pot[0] < _SHORT else 0):
        ours, pot = timed(by_us, pairs, ours), timed(by_pot, pairs, pot)
    plan, rows_cols = ours[2], np.nonzero(pot[2])
    # What POT's plan costs in the same arithmetic: its own sum has no more digits than its matrix of costs.
    reference = float(pot[2][rows_cols] @ problem.pair_costs(*rows_cols))
    found = float(plan.mass @ problem.pair_costs(plan.rows, plan.cols))
    record = {
        "kind": name,
        "size": n,
        "n": problem.shape[0],
        "m": problem.shape[1],
        "ours": ours[0],
        "emd2": pot[0],
        "ratio": pot[0] / ours[0],
        "processor ratio": pot[1] / ours[1],
        "certificate share": 1.0 - plan.certificate.seconds / ours[0],
        "relative difference": (found - reference) / (abs(reference) or 1.0),
        "gap": plan.certificate.gap,
        "marginal error": plan.certificate.marginal_error,
        "optimal": plan.certificate.proves_optimal(),
        # Of the whole process, so far: what this solve added at least.
        "GiB before": before,
        "GiB ours": our_peak,
        "GiB emd2": pot_peak,
    }
    print(
        f"{name:32s}{problem.shape[0]:>7}{problem.shape[1]:>7}{ours[0]:>9.2f}{pot[0]:>9.2f}{record['ratio']:>7.1f}x"
        f"{record['relative difference']:>10.0e}{plan.certificate.gap:>9.0e}  {'' if record['optimal'] else 'UNPROVEN'}"
        f"{'  SLOWER' if pot[0] > _RACED and ours[0] > pot[0] else ''}",
        flush=True,
    )
    return record


def peak() -> float:
    """Largest memory of this process so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def in_own_process(name: str, n: int) -> dict[str, Any] | None:
    """The race in a process of its own, so that its memory is its own; ``None`` where the kind has no data."""
    command = [sys.executable, __file__, "--sizes", str(n), "--only", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} at {n} ended with status {done.returncode}")
    *lines, last = done.stdout.strip().split("\n")
    print("\n".join(lines), flush=True)
    record: dict[str, Any] | None = json.loads(last)
    return record


def warm_up() -> None:
    """Load the compiled code."""
    from driftfit.transport import transport

    rng = np.random.default_rng(0)
    for n, m, d in ((320, 320, 3), (320, 320, 2000), (1600, 1500, 3), (1600, 1500, 60), (20, 30, 3)):
        transport(rng.standard_normal((n, d)), rng.standard_normal((m, d)))
    transport(*KINDS["scales over six decades"](rng, 320)[:2])


def summary(records: list[dict[str, Any]]) -> None:
    """The mean and the least speed-up of each size."""
    for n in sorted({r["size"] for r in records}):
        ratios = [r["ratio"] for r in records if r["size"] == n and r["emd2"] > _RACED]
        if ratios:
            mean = np.exp(np.mean(np.log(ratios)))
            print(f"n = {n}: {len(ratios)} kinds, geometric mean {mean:.2f}x, least {min(ratios):.2f}x")


def plot(records: list[dict[str, Any]], path: Path) -> None:
    """The speed-up of every kind, a colour for each size; hollow where POT takes no time worth a race."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = sorted(KINDS, key=lambda name: max((r["ratio"] for r in records if r["kind"] == name), default=0.0))
    figure, axes = pyplot.subplots(figsize=(8, 0.19 * len(names) + 1))
    for number, n in enumerate(sorted({r["size"] for r in records})):
        for raced in (True, False):
            some = [r for r in records if r["size"] == n and (r["emd2"] > _RACED) == raced]
            axes.plot(
                [r["ratio"] for r in some],
                [names.index(r["kind"]) for r in some],
                "o",
                markersize=5,
                color=f"C{number}",
                fillstyle="full" if raced else "none",
                label=f"n = {n:,}" if raced else None,
            )
    axes.axvline(1.0, color="grey", linewidth=1)
    axes.set(xscale="log", xlabel="times faster than ot.emd2, costs and certificate included", ylim=(-1, len(names)))
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,3000")
    parser.add_argument("--kind", action="append", help="part of a kind's name")
    parser.add_argument("--again", action="store_true", help="race again what the file has")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=Path("benchmark-transport"))
    options = parser.parse_args()
    if options.only:
        warm_up()
        try:
            print(json.dumps(race(options.only, int(options.sizes))))
        except FileNotFoundError as error:
            print(f"{options.only:32s} left out: {error}\nnull")
        return
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "transport_corpus.json"
    records: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    print(f"{'kind':32s}{'n':>7}{'m':>7}{'ours s':>9}{'emd2 s':>9}{'ratio':>8}{'differ':>10}{'gap':>9}")
    for n in (int(size) for size in options.sizes.split(",")):
        for name in sorted(KINDS, key=lambda name: name in _SLOW):
            if options.kind and not any(part in name for part in options.kind):
                continue
            if not options.again and any(r["kind"] == name and r["size"] == n for r in records):
                continue
            record = in_own_process(name, n)
            records = [r for r in records if (r["kind"], r["size"]) != (name, n)]
            records += [] if record is None else [record]
            path.write_text(json.dumps(records, indent=1))
    summary(records)
    plot(records, options.out / "transport_corpus.png")


if __name__ == "__main__":
    main()
