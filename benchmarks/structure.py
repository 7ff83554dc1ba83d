"""Couplings by structure: time and loss beside POT's in one run, and the picture of the pairs they join.

    python benchmarks/structure.py                      # a table; results/structure.json
    python benchmarks/structure.py --picture FILE.png   # pairs at 60 degrees; needs MNIST (DRIFTFIT_DATA)

All solvers see the same squared distances. POT starts from the independent coupling, as it does by default. OTT
(`pip install ott-jax`) is run where it is installed: entropic, with a strength of a hundredth of the mean cost, and
compiled beforehand for the size. Losses are of the plans that came out, by one formula. Times are of one run on one
machine: compare them as ratios.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np

from driftfit.files import write_text
from driftfit.transport import Exact, GromovWasserstein, Mapped, Orthogonal, Problem, solve

# Strength of OTT's entropy, in units of the mean cost.
_OTT_STRENGTH = 0.01
SIZES = (200, 500, 1_000, 2_000, 3_000)


def clouds(kind: str, n: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    if kind == "gamma":
        return rng.gamma(1.0, size=(n, 8)) * np.arange(1, 9), rng.gamma(1.0, size=(n, 8)) * np.arange(1, 9)
    from driftfit.datasets import rotated_mnist

    sequence = rotated_mnist(0, target_angle=60.0, distinct=True, seed=seed, n_samples=n, download=False)
    return sequence.source.matrix(), sequence.target.matrix()


def compare(kind: str, n: int, seed: int, most_for_peer: int) -> dict[str, Any]:
    import ot

    x0, x1 = clouds(kind, n, seed)
    started = time.perf_counter()
    plan = solve(Problem.of(x0, x1), GromovWasserstein(), certified=False)
    ours = time.perf_counter() - started
    row = {"kind": kind, "n": n, "seed": seed, "seconds": ours, "loss": plan.distortion.value,
           "lower": plan.distortion.lower, "start": plan.distortion.start}  # fmt: skip
    if n <= most_for_peer:
        d0, d1 = ot.dist(x0, x0), ot.dist(x1, x1)
        w = np.full(n, 1.0 / n)
        started = time.perf_counter()
        _, log = ot.gromov.gromov_wasserstein(d0, d1, w, w, "square_loss", log=True)
        row["peer_seconds"], row["peer_loss"] = time.perf_counter() - started, float(log["gw_dist"])
        if importlib.util.find_spec("ott") is not None:
            row |= by_ott(x0, x1, d0, d1)
    return row


def by_ott(x0: Any, x1: Any, d0: Any, d1: Any) -> dict[str, Any]:
    """OTT's entropic solver; the time is that of a second run, without compiling."""
    import ot

    # Not among the packages that the project asks for.
    names = ("jax", "ott.geometry.pointcloud", "ott.problems.quadratic.quadratic_problem",
             "ott.solvers.linear.sinkhorn", "ott.solvers.quadratic.gromov_wasserstein")  # fmt: skip
    jax, pointcloud, quadratic_problem, sinkhorn, gromov_wasserstein = map(importlib.import_module, names)
    first, second = (pointcloud.PointCloud(x, x, scale_cost="mean") for x in (x0, x1))
    solver = gromov_wasserstein.GromovWasserstein(
        linear_solver=sinkhorn.Sinkhorn(), epsilon=_OTT_STRENGTH, max_iterations=100
    )
    run = jax.jit(lambda one, other: solver(quadratic_problem.QuadraticProblem(one, other)).matrix)
    plan = run(first, second).block_until_ready()
    started = time.perf_counter()
    plan = run(first, second).block_until_ready()
    seconds = time.perf_counter() - started
    plan = np.asarray(plan, dtype=np.float64)
    const, h0, h1 = ot.gromov.init_matrix(d0, d1, plan.sum(axis=1), plan.sum(axis=0), "square_loss")
    off = float(np.abs(plan.sum(axis=1) * len(plan) - 1.0).mean())
    return {"ott_seconds": seconds, "ott_loss": float(ot.gromov.gwloss(const, h0, h1, plan)), "ott_rows_off": off}


def picture(path: str, n: int = 3_000, shown: int = 12) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from driftfit.datasets import rotated_mnist

    sequence = rotated_mnist(0, target_angle=60.0, distinct=True, seed=0, n_samples=n, download=False)
    source, target = sequence.source, sequence.target
    problem = Problem.of(source.matrix(), target.matrix())
    plans = {
        "optimal plan": solve(problem, Exact(), certified=False),
        "by structure, then a turn": solve(problem, Mapped(Orthogonal(), start=GromovWasserstein()), certified=False),
    }
    rng = np.random.default_rng(0)
    labels0, labels1 = np.asarray(source.labels), np.asarray(target.labels)
    rows = np.array([rng.choice(np.flatnonzero(labels0 == label % 10)) for label in range(shown)])
    figure, axes = plt.subplots(3, shown, figsize=(shown * 0.75, 2.9))
    for place, row in enumerate(rows):
        axes[0, place].imshow(source.samples[row, 0], cmap="gray_r")
        for line, plan in enumerate(plans.values(), start=1):
            col = int(plan.cols[np.flatnonzero(plan.rows == row)[0]])
            axes[line, place].imshow(target.samples[col, 0], cmap="gray_r")
            right = labels0[row] == labels1[col]
            for side in axes[line, place].spines.values():
                side.set_color("#2a7f3f" if right else "#c03028")
                side.set_linewidth(2.0)
    for axis in axes.ravel():
        axis.set_xticks([])
        axis.set_yticks([])
    axes[0, 0].set_title("source, labelled", loc="left", fontsize=9)
    for line, (name, plan) in enumerate(plans.items(), start=1):
        same = float(plan.mass @ (labels0[plan.rows] == labels1[plan.cols]))
        axes[line, 0].set_title(
            f"joined to, {name}: {100 * same:.0f} % of all pairs are of one class", loc="left", fontsize=9
        )
    figure.subplots_adjust(left=0.01, right=0.99, top=0.92, bottom=0.02, hspace=0.35, wspace=0.08)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", metavar="FILE")
    parser.add_argument("--peer-up-to", type=int, default=2_000, help="POT is run up to this size [%(default)s]")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--output", default="results/structure.json")
    chosen = parser.parse_args()
    if chosen.picture:
        picture(chosen.picture)
        return
    rows = []
    for kind in ("gamma", "digits"):
        # Compiled once, not counted.
        solve(Problem.of(*clouds("gamma", 300, 9)), GromovWasserstein(), certified=False)
        for n in chosen.sizes:
            row = compare(kind, n, 0, chosen.peer_up_to)
            rows.append(row)
            peer = ""
            if "peer_seconds" in row:
                ratio = row["peer_seconds"] / row["seconds"]
                peer = f"  POT {row['peer_seconds']:8.2f} s  loss {row['peer_loss']:.6g}  ratio {ratio:.2f}"
            if "ott_seconds" in row:
                peer += f"  OTT {row['ott_seconds']:8.2f} s  loss {row['ott_loss']:.6g}"
            print(f"{kind:8s} {n:6d}  {row['seconds']:8.2f} s  loss {row['loss']:.6g}{peer}", flush=True)
    about = {"machine": platform.machine(), "python": platform.python_version(), "rows": rows}
    write_text(Path(chosen.output), json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
