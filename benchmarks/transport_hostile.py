"""Hostile transport problems: no false proof, exact marginals, none much slower than others of its size.

    python benchmarks/transport_hostile.py --count 5000

Small problems have whole weights, or uneven ones of all sizes; their optimum is found in rational arithmetic, and every
lower bound and every proof is held against it. Larger ones are timed. Scales run from 1e-300 to 1e150; samples
are dense or sparse, offset, duplicated, collinear, nearly equal, or of mixed scales. A third kind goes through the
entry points of POT: costs that are given, from subnormal to huge, weights of zero on either side, and a mass that is
not 1; potentials must be feasible for every pair. Goes on from its file when started again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

KINDS = ["plain", "offset", "duplicated", "collinear", "whole numbers", "mixed scales", "nearly equal", "far sample"]
# Units of mass in a small problem, at most; samples of each cloud in a timed one.
_UNITS, _TIMED = 7, 200
# The smallest number that is not 0.
_FAINTEST = Fraction(5e-324)
# A bound holds for the weights as they are once they sum to 1: they are rounded then.
_WEIGHTS = 1e-15
# Every so many problems one is timed.
_EVERY = 5


def clouds(kind: str, rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    x0, x1 = rng.standard_normal((n, 3)), rng.standard_normal((m, 3))
    if kind == "offset":
        far = 10.0 ** rng.integers(1, 7)
        x0, x1 = x0 + far, x1 + far
    elif kind == "duplicated":
        x0, x1 = x0[rng.integers(0, min(n, max(2, n // 3)), n)], x1[rng.integers(0, min(m, max(2, m // 3)), m)]
    elif kind == "collinear":
        x0, x1 = x0[:, :1] * [1.0, 2.0, -3.0], x1[:, :1] * [1.0, 2.0, -3.0]
    elif kind == "whole numbers":
        x0, x1 = np.round(2 * x0), np.round(2 * x1)
    elif kind == "mixed scales":
        x0, x1 = (x * 10.0 ** rng.uniform(-8, 8, (len(x), 1)) for x in (x0, x1))
    elif kind == "nearly equal":
        x1 = np.resize(x0[::-1], (m, 3)) + 1e-12 * x1
    elif kind == "far sample":
        x0[0], x1[-1] = 1e6, -1e7
    scale = 10.0 ** float(rng.integers(-300, 141))
    return scale * x0, scale * x1


def optimum(costs: list[list[Fraction]], weights0: list[Any], weights1: list[Any]) -> Fraction:
    """Least cost of a mass of 1 in rational arithmetic: mass goes along cheapest paths until all has arrived."""
    left, wanted = ([Fraction(w) / sum(map(Fraction, own)) for w in own] for own in (weights0, weights1))
    n, m = len(left), len(wanted)
    sent: dict[tuple[int, int], Fraction] = {}
    while any(left):
        # Bellman and Ford: what it costs to bring mass to a column, and from which row; back along what is sent.
        rows: list[Any] = [(Fraction(0), -1) if own else None for own in left]
        columns: list[Any] = [None] * m
        changed = True
        while changed:
            changed = False
            for i, j in ((i, j) for i in range(n) for j in range(m)):
                if rows[i] is not None:
                    price = rows[i][0] + costs[i][j]
                    if columns[j] is None or price < columns[j][0]:
                        columns[j], changed = (price, i), True
                if columns[j] is not None and sent.get((i, j)):
                    price = columns[j][0] - costs[i][j]
                    if rows[i] is None or price < rows[i][0]:
                        rows[i], changed = (price, j), True
        last = min((j for j in range(m) if wanted[j]), key=lambda j: columns[j][0])
        path, j = [], last
        while True:
            i = columns[j][1]
            path.append((i, j, 1))
            if rows[i][1] < 0:
                break
            j = rows[i][1]
            path.append((i, j, -1))
        amount = min([left[i], wanted[last], *(sent[i, j] for i, j, way in path if way < 0)])
        for i, j, way in path:
            sent[i, j] = sent.get((i, j), Fraction(0)) + way * amount
        left[path[-1][0]] -= amount
        wanted[last] -= amount
    return sum((mass * costs[i][j] for (i, j), mass in sent.items()), Fraction(0))


def shares(rng: np.random.Generator, size: int, units: int) -> list[int]:
    """Whole weights of so many samples, all positive, of one sum."""
    cuts = np.sort(rng.choice(np.arange(1, units), size - 1, replace=False)) if size > 1 else np.zeros(0, int)
    return [int(w) for w in np.diff(np.concatenate([[0], cuts, [units]]))]


def uneven(rng: np.random.Generator, size: int) -> list[Any]:
    """Weights from a millionth of a millionth to one."""
    return [float(w) for w in 10.0 ** rng.uniform(-12, 0, size)]


def examine(number: int) -> dict[str, Any]:
    """One small problem against rational arithmetic."""
    from driftfit.transport import Exact, Problem, solve
    from driftfit.transport.certificate import certify

    rng = np.random.default_rng([number, 1])
    kind = KINDS[number % len(KINDS)]
    units = int(rng.integers(2, _UNITS + 1))
    n, m = (int(rng.integers(1, units + 1)) for _ in range(2))
    x0, x1 = clouds(kind, rng, n, m)
    units0, units1 = shares(rng, n, units), shares(rng, m, units)
    if number % 4 == 0:
        units0, units1 = uneven(rng, n), uneven(rng, m)
    sparse = number % 3 == 0
    problem = Problem.of(*((sp.csr_array(x) if sparse else x) for x in (x0, x1)), units0, units1)
    plan = solve(problem, Exact(device="cpu"))
    scale = Fraction(2) ** problem.exponent
    a, b = ([[Fraction(float(value)) / scale for value in row] for row in x] for x in (x0, x1))
    costs = [[sum(((p - q) ** 2 for p, q in zip(r, s, strict=True)), Fraction(0)) for s in b] for r in a]
    least = optimum(costs, units0, units1)
    # In the problem's own unit, where nothing is out of range.
    plain = Problem(*(getattr(problem, name) for name in ("x0", "x1", "weights0", "weights1", "cost", "uniform")))
    inner = certify(plain, Exact(device="cpu").solve(problem), 0.0)
    entries = zip(plan.rows.tolist(), plan.cols.tolist(), plan.mass.tolist(), strict=True)
    paid = sum((Fraction(mass) * costs[i][j] for i, j, mass in entries), Fraction(0))
    limit = least * (1 + Fraction(2, 10**9))
    off = max(
        float(np.abs(mass / (np.array(w) / sum(w)) - 1.0).max())
        for mass, w in ((plan.row_mass(), units0), (plan.column_mass(), units1))
    )
    return {
        "number": number,
        "kind": kind,
        "sparse": sparse,
        "false bound": bool(Fraction(inner.dual) > least * (1 + Fraction(_WEIGHTS))),
        "false proof": bool(plan.certificate.proves_optimal() and paid > limit),
        "proven": plan.certificate.proves_optimal(),
        "marginal": off,
    }


def given_costs(rng: np.random.Generator, n: int, m: int) -> tuple[str, np.ndarray]:
    """Costs as somebody may give them."""
    plain = rng.standard_normal((n, m)) ** 2
    kinds = {
        "plain": plain,
        "subnormal": np.round(plain * 1e4) * 5e-324,
        "near the end": plain * 1e-307,
        "huge": plain * 1e306,
        "of all scales": plain * 10.0 ** rng.uniform(-320, 300, (n, m)),
        "negative": rng.standard_normal((n, m)),
        "ties": rng.integers(0, 3, (n, m)).astype(float),
        "all equal": np.full((n, m), float(rng.integers(0, 2)) * 1e-310),
        "a forbidden pair": np.where(rng.random((n, m)) < 0.3, 1e300, plain),
    }
    word = str(rng.choice(list(kinds)))
    return word, kinds[word]


def dropped_in(number: int) -> dict[str, Any]:
    """One problem through `emd` and `solve_sample`: feasible potentials, true bounds, the mass that was given."""
    from driftfit.transport import Exact, Problem, solve
    from driftfit.transport.pot import emd, solve_sample

    rng = np.random.default_rng([number, 3])
    units = int(rng.integers(2, _UNITS + 1))
    sides = []
    for _ in range(2):
        size = int(rng.integers(1, units + 1))
        weights = uneven(rng, size) if number % 8 in (5, 7) else shares(rng, size, units)
        # Samples without weight, anywhere among the others.
        for place in rng.integers(0, len(weights) + 1, rng.integers(0, 3)):
            weights.insert(int(place), 0)
        sides.append(weights)
    mass = 10.0 ** rng.integers(-3, 4) if number % 4 == 1 else 1.0
    a, b = (mass * np.array(own, dtype=float) / sum(own) for own in sides)
    kind, costs = given_costs(rng, len(a), len(b))
    exact = [[Fraction(float(value)) for value in row] for row in costs]
    least = optimum(exact, a.tolist(), b.tolist())
    plan, log = emd(a, b, costs, log=True)
    u, v = ([Fraction(float(value)) for value in log[name]] for name in "uv")
    # What float64 can hold of a potential.
    size = max(10**12 * _FAINTEST, *(abs(own) for own in [*u, *v, *(c for row in exact for c in row)]))
    over = max(p + q - cost for p, row in zip(u, exact, strict=True) for q, cost in zip(v, row, strict=True))
    proven = solve(Problem.from_costs(costs, a, b), Exact())
    off = max(float(np.abs(plan.sum(axis) - own).max()) for axis, own in ((1, a), (0, b))) / a.sum()
    x0, x1 = clouds(KINDS[number % len(KINDS)], rng, len(a), len(b))
    found = solve_sample(x0, x1, a, b)
    off = max(off, abs(float(found.plan.sum()) / a.sum() - 1.0))
    entries = zip(proven.rows.tolist(), proven.cols.tolist(), proven.mass.tolist(), strict=True)
    paid = [Fraction(share) * exact[i][j] for i, j, share in entries]
    # What sums over the plan can tell, and no more than that.
    limit = least + abs(least) / 10**9 + Fraction(2, 10**15) * sum(map(abs, paid)) + 2 * _FAINTEST
    return {
        "number": number,
        "kind": f"given, {kind}",
        "infeasible": bool(over > size * Fraction(1, 10**12)),
        "false bound": bool(Fraction(proven.certificate.dual) > least + abs(least) * Fraction(_WEIGHTS)),
        "false proof": bool(proven.certificate.proves_optimal() and sum(paid, Fraction(0)) > limit),
        "proven": proven.certificate.proves_optimal(),
        "marginal": off,
    }


def clocked(number: int) -> dict[str, Any]:
    """The time of one larger problem; of two runs where the first may have been disturbed."""
    from driftfit.transport import Exact, Problem, solve

    rng = np.random.default_rng([number, 2])
    kind = KINDS[number % len(KINDS)]
    x0, x1 = clouds(kind, rng, _TIMED, _TIMED)
    weights = rng.random(_TIMED) + 1e-3 if number % 2 else None
    times = []
    for _ in range(2):
        start = time.process_time()
        plan = solve(Problem.of(x0, x1, weights), Exact(device="cpu"))
        times.append(time.process_time() - start)
    target = np.full(_TIMED, 1.0 / _TIMED) if weights is None else weights / weights.sum()
    off = float(np.abs(plan.row_mass() / target - 1.0).max())
    off = max(off, float(np.abs(plan.column_mass() * _TIMED - 1.0).max()))
    return {
        "number": number,
        "kind": kind,
        "seconds": min(times),
        "proven": plan.certificate.proves_optimal(),
        "marginal": off,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="stop after this time; start again to go on"
    )
    parser.add_argument("--out", type=Path, default=Path("benchmark-transport"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "transport_hostile.json"
    records: list[dict[str, Any]] = json.loads(path.read_text())["records"] if path.exists() else []
    start = time.perf_counter()
    for number in range(len(records), options.count):
        examined = clocked if number % _EVERY == _EVERY - 1 else (dropped_in if number % 2 else examine)
        records.append(examined(number))
        if time.perf_counter() - start > options.seconds:
            break
    times = np.array([r["seconds"] for r in records if "seconds" in r])
    result = {
        "problems": len(records),
        "infeasible potentials": sum(r.get("infeasible", False) for r in records),
        "false bounds": sum(r.get("false bound", False) for r in records),
        "false proofs": sum(r.get("false proof", False) for r in records),
        "proven": sum(r["proven"] for r in records),
        "not proven": dict(
            Counter(f"{r['kind']}{', sparse' if r.get('sparse') else ''}" for r in records if not r["proven"])
        ),
        "largest relative marginal error": max(r["marginal"] for r in records),
        "slowest / median of its size": float(times.max() / np.median(times)) if len(times) else None,
    }
    print(json.dumps(result, indent=1))
    path.write_text(json.dumps({**result, "records": records}))


if __name__ == "__main__":
    main()
