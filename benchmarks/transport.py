"""How fast exact transport is, beside POT, in one run: times, memory, growth.

    python benchmarks/transport.py                      # everything a processor can show
    python benchmarks/transport.py --part cpu --sizes 1000,2000,5000
    python benchmarks/transport.py --part gpu --part gpu-million      # on a machine with a GPU

Every measurement runs in a process of its own, so that its peak memory is its own, after
a small problem that loads the compiled code. Writes a JSON file, a table and a plot.
MNIST (for ``conv`` and ``gpu``) is found through ``DRIFTFIT_DATA``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import resource
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

Record = dict[str, Any]
# Scripts beside this one that are parts of it.
_OTHERS = {"corpus": ["--sizes", "1000,3000,10000"], "peers": [], "hostile": []}


def mixture(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two Gaussian mixtures of ten components, the second with its centres moved."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((10, d))
    moved = centres + 0.5 * rng.standard_normal((10, d))
    x0 = centres[rng.integers(10, size=n)] + rng.standard_normal((n, d))
    return x0, moved[rng.integers(10, size=n)] + rng.standard_normal((n, d))


def mnist(n: int) -> np.ndarray:
    """The first ``n`` training images."""
    path = Path(os.environ.get("DRIFTFIT_DATA", "data")) / "mnist" / "train-images-idx3-ubyte.gz"
    if not path.exists():
        raise SystemExit(f"{path} is missing; set DRIFTFIT_DATA to the folder that holds mnist/")
    with gzip.open(path) as file:
        file.read(16)
        return np.frombuffer(file.read(n * 784), np.uint8).reshape(n, 28, 28).astype(np.float32) / 255


def conv_features(n: int, device: str = "cpu") -> tuple[Any, Any]:
    """Features of images and of the same images turned by 45 degrees, from an untrained three-layer network."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = [nn.Conv2d(1 if k == 0 else 32, 32, 3, padding="same") for k in range(3)]
    network = nn.Sequential(*[part for layer in layers for part in (layer, nn.ReLU())], nn.Flatten()).to(device)
    images = torch.from_numpy(mnist(n))[:, None].to(device)
    turn = torch.tensor([[np.sqrt(0.5), -np.sqrt(0.5), 0.0], [np.sqrt(0.5), np.sqrt(0.5), 0.0]], dtype=torch.float32)
    grid = nn.functional.affine_grid(turn[None], [1, 1, 28, 28], align_corners=False).to(device)
    clouds = []
    with torch.no_grad():
        for rotate in (False, True):
            out = torch.empty((n, 25_088), device=device)
            for start in range(0, n, 500):
                batch = images[start : start + 500]
                if rotate:
                    batch = nn.functional.grid_sample(batch, grid.expand(len(batch), -1, -1, -1), align_corners=False)
                out[start : start + 500] = network(batch)
            clouds.append(out)
    return clouds[0], clouds[1]


def peak() -> float:
    """Peak memory of this process in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def warm_up() -> None:
    from driftfit.transport import Exact, transport

    for n, d in ((320, 3), (320, 2000), (20, 3)):
        transport(*mixture(n, d), solver=Exact(device="cpu"))


def measure_certified(n: int, d: int, memory: float = 2.0**31) -> Record:
    from driftfit.transport import Exact, transport

    warm_up()
    x0, x1 = mixture(n, d)
    before, start = peak(), time.perf_counter()
    plan = transport(x0, x1, solver=Exact(device="cpu", memory=memory))
    whole, certificate = time.perf_counter() - start, plan.certificate
    return {
        "seconds": certificate.seconds, "with certificate": whole, "peak": peak(), "extra": peak() - before,
        "cost": plan.cost, "gap": certificate.gap, "optimal": certificate.proves_optimal(),
    }  # fmt: skip


def measure_pot(n: int, d: int) -> Record:
    import ot

    x0, x1 = mixture(n, d)
    before, start = peak(), time.perf_counter()
    costs = ot.dist(x0, x1)
    after_costs = time.perf_counter() - start
    cost = ot.emd2([], [], costs, numItermax=10**9)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "costs": after_costs, "peak": peak(), "extra": peak() - before, "cost": float(cost)}


def measure_conv(n: int) -> Record:
    """Our whole solve, one float32 matrix product of the same size, and POT on the same costs."""
    import ot

    from driftfit.transport import Exact, Problem
    from driftfit.transport.certificate import certify
    from driftfit.transport.costs.products import Products

    warm_up()
    x0, x1 = (x.numpy() for x in conv_features(n))
    Exact(device="cpu").solve(Problem.of(x0[:400], x1[:400]))
    keep = Products.keep
    inside: list[float] = []

    def timed(form: Products) -> Any:
        start = time.perf_counter()
        kept = keep(form)
        inside.append(time.perf_counter() - start)
        return kept

    Products.keep = timed  # type: ignore[method-assign]
    start = time.perf_counter()
    product = x0 @ x1.T
    one_product = time.perf_counter() - start
    start = time.perf_counter()
    problem = Problem.of(x0, x1)
    checks = time.perf_counter() - start
    start = time.perf_counter()
    solution = Exact(device="cpu", memory=2.0**33).solve(problem)
    whole = time.perf_counter() - start
    costs = (x0.astype(np.float64) ** 2).sum(1)[:, None] + (x1.astype(np.float64) ** 2).sum(1) - 2.0 * product
    start = time.perf_counter()
    ot.emd([], [], costs, numItermax=10**9)
    emd = time.perf_counter() - start
    del product, costs
    start = time.perf_counter()
    certificate = certify(problem, solution, whole)
    proof = time.perf_counter() - start
    after = whole - inside[0]
    return {
        "n": n, "product": one_product, "product inside": inside[0], "checks": checks, "whole": whole,
        "whole / product": whole / one_product, "whole / product inside": whole / inside[0],
        "solve after costs": after, "emd after costs": emd, "speed-up after costs": emd / after,
        "certificate": proof, "gap": certificate.gap, "cost": certificate.primal, "peak": peak(),
    }  # fmt: skip


def measure_million(n: int, d: int, sub: int) -> Record:
    from driftfit.transport import Exact, Hierarchical, Problem, solve, transport

    warm_up()
    solver = Hierarchical(device="cpu")
    x0, x1 = (x.astype(np.float32) for x in mixture(n, d))
    before, start = peak(), time.perf_counter()
    plan = transport(x0, x1, solver=solver)
    record = {"n": n, "d": d, "seconds": time.perf_counter() - start, "peak": peak(), "extra": peak() - before}
    record |= {"cost": plan.cost, "moment bound": plan.certificate.dual, "gap to bound": plan.certificate.gap}
    if sub:
        problem = Problem.of(x0[:sub], x1[:sub])
        ours, exact = solve(problem, solver, certified=False), solve(problem, Exact(device="cpu"), certified=False)
        record |= {"subsample": sub, "subsample ratio": ours.cost / exact.cost}
    return record


def measure_refined(n: int, d: int, gap: float, device: str) -> Record:
    """`Hierarchical` until a gap is proven, with its certificate; samples in float32, in the processor's memory."""
    from driftfit.transport import Hierarchical, transport

    x0, x1 = (x.astype(np.float32) for x in mixture(n, d))
    solver = Hierarchical(gap=gap, seconds=None if device == "cpu" else 300, device=device)
    # A small problem loads the compiled code and wakes the device.
    transport(x0[:3000], x1[:3000], solver=solver)
    before, start = peak(), time.perf_counter()
    plan = transport(x0, x1, solver=solver)
    whole, certificate = time.perf_counter() - start, plan.certificate
    record = {
        "n": n, "d": d, "device": device, "gap asked": gap, "seconds": certificate.seconds, "with certificate": whole,
        "cost": certificate.primal, "certified bound": certificate.dual, "gap": certificate.gap,
        "marginal error": certificate.marginal_error, "peak": peak(), "extra": peak() - before,
    }  # fmt: skip
    if device != "cpu":
        import torch

        record["gpu memory"] = torch.cuda.max_memory_allocated() / 2**30
    return record


def measure_gpu(sizes: list[int]) -> list[Record]:
    """On one GPU: conv features, costs and certificate included; POT on the same machine's processor if it is there."""
    import torch

    from driftfit.transport import Exact, Problem, transport
    from driftfit.transport.certificate import certify

    records: list[Record] = []
    transport(*(torch.from_numpy(x).cuda() for x in mixture(2000, 2000)), solver=Exact())
    for n in sizes:
        x0, x1 = conv_features(n, "cuda")
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        marks: list[tuple[str, float]] = []
        start = time.perf_counter()

        def mark(stage: str, share: float, start: float = start, marks: list[tuple[str, float]] = marks) -> None:
            torch.cuda.synchronize()
            marks.append((stage, time.perf_counter() - start))

        problem = Problem.of(x0, x1)
        solution = Exact(progress=mark).solve(problem)
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        certificate = certify(problem, solution, seconds)
        whole = time.perf_counter() - start
        record = {
            "n": n, "seconds": seconds, "with certificate": whole, "gap": certificate.gap, "cost": certificate.primal,
            "optimal": certificate.proves_optimal(), "gpu memory": torch.cuda.max_memory_allocated() / 2**30,
            "stages": dict(marks),
        }  # fmt: skip
        print(record, flush=True)
        if n <= 10_000:
            record |= gpu_peer(x0.cpu().numpy(), x1.cpu().numpy(), seconds, whole)
            print(record, flush=True)
        records.append(record)
        del x0, x1, problem
        torch.cuda.empty_cache()
    return records


def measure_gpu_unequal(sizes: list[tuple[int, int]]) -> list[Record]:
    """On one GPU: rows of Cover Type, full of ties, between clouds of unequal size; needs the data set and numba."""
    import torch

    from driftfit.datasets import covtype
    from driftfit.transport import Exact, Problem, solve

    x0, x1 = (
        torch.from_numpy(domain.samples).cuda() for domain in list(covtype(n_given=2, preset="paper", seed=0))[:2]
    )
    records: list[Record] = []
    for n, m in sizes:
        start = time.perf_counter()
        certificate = solve(Problem.of(x0[:n], x1[:m]), Exact()).certificate
        whole = time.perf_counter() - start
        record = {
            "n": n, "m": m, "seconds": certificate.seconds, "with certificate": whole, "gap": certificate.gap,
            "cost": certificate.primal, "optimal": certificate.proves_optimal(),
        }  # fmt: skip
        records.append(record)
        if len(records) == 1:
            records[0]["note"] = "compiling included"
        print(records[-1], flush=True)
    return records


def gpu_peer(x0: np.ndarray, x1: np.ndarray, seconds: float, whole: float) -> Record:
    try:
        import ot
    except ImportError:
        return {"peer": "POT is not installed here"}
    start = time.perf_counter()
    costs = ot.dist(x0.astype(np.float64), x1.astype(np.float64))
    forming = time.perf_counter() - start
    start = time.perf_counter()
    cost = float(ot.emd2([], [], costs, numItermax=10**9))
    emd = time.perf_counter() - start
    return {
        "emd alone": emd, "emd's costs": forming, "emd's cost": cost, "speed-up over emd alone": emd / seconds,
        "speed-up with both costs": (emd + forming) / seconds, "speed-up with certificate": (emd + forming) / whole,
    }  # fmt: skip


def in_own_process(function: str, *arguments: Any) -> Record:
    """Run one measurement in a fresh process and read its record."""
    command = [sys.executable, __file__, "--cell", json.dumps([function, *arguments])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"failed": done.stderr.strip().splitlines()[-1:]}
    record: Record = json.loads(done.stdout.strip().splitlines()[-1])
    print(
        function,
        arguments,
        {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in record.items()},
        flush=True,
    )
    return record


def exponent(sizes: list[int], values: list[float]) -> float:
    """Slope of a line through the logarithms."""
    # Memory below a few MiB drowns in what the interpreter holds already.
    seen = [(n, value) for n, value in zip(sizes, values, strict=True) if value > 0.01]
    if len(seen) < 2:
        return float("nan")
    return float(np.polyfit(*np.log(np.array(seen)).T, 1)[0])


def compare(sizes: list[int], d: int) -> Record:
    rows = []
    for n in sizes:
        ours, pot = in_own_process("measure_certified", n, d), in_own_process("measure_pot", n, d)
        rows.append({"n": n, "ours": ours, "pot": pot, "speed-up": pot["seconds"] / ours["seconds"]})
    result: Record = {"d": d, "rows": rows}
    if len(sizes) > 1:
        for who in ("ours", "pot"):
            for what in ("seconds", "extra"):
                result[f"{who} {what} exponent"] = exponent(sizes, [row[who][what] for row in rows])
    return result


def versions() -> Record:
    found: Record = {"python": platform.python_version(), "cores": len(os.sched_getaffinity(0))}
    for name in ("driftfit", "POT", "numpy", "scipy", "numba", "torch"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def plot(comparison: Record, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.5))
    sizes = [row["n"] for row in comparison["rows"]]
    for axis, what, label in zip(axes, ("seconds", "extra"), ("seconds", "GiB beyond the samples"), strict=True):
        for who in ("ours", "pot"):
            axis.loglog(sizes, [row[who][what] for row in comparison["rows"]], "o-", label=who)
        axis.set_xlabel("samples in each cloud")
        axis.set_ylabel(label)
        axis.legend()
    figure.tight_layout()
    figure.savefig(path)


def show(results: Record) -> None:
    """The comparison as a table with its exponents, the other parts a line each."""
    if "cpu" in results:
        print(
            f"{'n':>8}{'driftfit s':>11}{'proven s':>10}{'ot.emd s':>10}{'ratio':>7}{'GiB':>7}{'emd GiB':>9}{'gap':>9}"
        )
        for row in results["cpu"]["rows"]:
            ours, pot = row["ours"], row["pot"]
            print(
                f"{row['n']:>8,}{ours['seconds']:>11.2f}{ours['with certificate']:>10.2f}{pot['seconds']:>10.2f}"
                f"{row['speed-up']:>6.1f}x{ours['peak']:>7.2f}{pot['peak']:>9.2f}{ours['gap']:>9.0e}"
            )
        for name, value in results["cpu"].items():
            if name.endswith("exponent"):
                print(f"{name}: n^{value:.2f}")
    for part, found in results.items():
        if part not in ("cpu", "versions"):
            for record in found if isinstance(found, list) else [found]:
                print(f"{part}: " + ", ".join(f"{key} {value}" for key, value in record.items()))
    print(json.dumps(results["versions"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = [*_OTHERS, "cpu", "conv", "large", "refined", "million", "gpu", "gpu-unequal", "gpu-million"]
    parser.add_argument("--part", action="append", choices=parts)
    parser.add_argument("--sizes", default="1000,2000,5000,10000", help="sizes of the comparison with POT")
    parser.add_argument("--out", type=Path, default=Path("benchmark-transport"))
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        name, *arguments = json.loads(options.cell)
        print(json.dumps(globals()[name](*arguments)))
        return
    parts = options.part or [*_OTHERS, "cpu", "conv", "large", "refined", "million"]
    options.out.mkdir(parents=True, exist_ok=True)
    for name, arguments in _OTHERS.items():
        if name in parts:
            script = Path(__file__).with_name(f"transport_{name}.py")
            subprocess.run([sys.executable, script, *arguments, "--out", options.out], check=True)
    if not set(parts) - set(_OTHERS):
        return
    results: Record = {"versions": versions()}
    sizes = [int(size) for size in options.sizes.split(",")]
    if "cpu" in parts:
        results["cpu"] = compare(sizes, 256)
        plot(results["cpu"], options.out / "transport.png")
    if "conv" in parts:
        results["conv"] = in_own_process("measure_conv", 10_000)
    if "large" in parts:
        results["large"] = [in_own_process("measure_certified", n, d) for n, d in ((50_000, 256), (200_000, 32))]
    if "million" in parts:
        results["million"] = in_own_process("measure_million", 1_000_000, 32, 50_000)
    if "refined" in parts:
        results["refined"] = [in_own_process("measure_refined", 100_000, 32, gap, "cpu") for gap in (0.05, 0.01)]
    if "gpu" in parts:
        results["gpu"] = measure_gpu([10_000, 50_000])
    if "gpu-unequal" in parts:
        results["gpu unequal"] = measure_gpu_unequal([(10_000, 8_000), (20_000, 16_000), (50_000, 40_000)])
    if "gpu-million" in parts:
        results["gpu million"] = in_own_process("measure_refined", 1_000_000, 32, 0.01, "cuda")
    (options.out / "transport.json").write_text(json.dumps(results, indent=1))
    show(results)


if __name__ == "__main__":
    main()
