"""Exact transport beside `ot.emd2` on kinds of problem that were made after the algorithms were fixed.

    OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python benchmarks/transport_unseen.py --size 4000 --out results

Races are those of `transport_corpus`; on a busy machine the ratio of processor time is the one to read.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import transport_corpus
from transport_corpus import Case, mixtures, race, warm_up

from transport import versions


def roll(rng: np.random.Generator, n: int, power: float) -> np.ndarray:
    t = rng.random(n) ** power * 9 + 4
    return np.stack([t * np.cos(t), rng.random(n) * 10, t * np.sin(t)], 1)


def waves(t: np.ndarray, d: int) -> np.ndarray:
    phases = np.outer(t, np.arange(1, d // 2 + 1))
    return np.concatenate([np.cos(phases), np.sin(phases)], 1)


def ball(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    x = rng.standard_normal((n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def made(rng: np.random.Generator, n: int) -> dict[str, Case]:
    """Twenty problems; the second set has fewer samples in some of them."""
    from driftfit.transport import PowerMetric

    turn = np.linalg.qr(rng.standard_normal((50, 3)))[0].T
    angles, m = 2 * np.pi * rng.random((4, n)), int(0.8 * n)
    spectrum, patterns = 1.0 / np.arange(1, 65), rng.random((10, 784)) > 0.8
    board = rng.random((4 * n, 2)) * 8
    dark = board[(board.astype(int).sum(axis=1) % 2) == 0][:n]
    spiral = np.linspace(0.5, 12, n)[:, None] * np.stack(
        [np.cos(np.linspace(0, 20, n)), np.sin(np.linspace(0, 20, n))], 1
    )
    torus = [np.stack([(3 + np.cos(a)) * np.cos(b), (3 + np.cos(a)) * np.sin(b), np.sin(a)], 1)
             for a, b in (angles[:2], angles[2:])]  # fmt: skip
    hours = [np.column_stack([np.cos(a), np.sin(a), rng.standard_normal(n)]) for a in angles[:2]]
    plain = (None, None, None)
    return {
        "swiss rolls": (roll(rng, n, 1.0), roll(rng, n, 1.5), *plain),
        "swiss rolls in 50 dimensions": (roll(rng, n, 1.0) @ turn, roll(rng, n, 1.5) @ turn + 0.3, *plain),
        "spheres of two sizes": (ball(rng, n, 3), 1.5 * ball(rng, n, 3), *plain),
        "torus against torus": (torus[0], torus[1] + 0.1, *plain),
        "spiral against a disc": (spiral, 12 * ball(rng, n, 2) * np.sqrt(rng.random((n, 1))), *plain),
        "checkerboard against a square": (dark, 8 * rng.random((len(dark), 2)), *plain),
        "heavy tails d=4": (rng.standard_t(2, (n, 4)), rng.standard_t(2, (n, 4)) + 0.5, *plain),
        "lognormal d=5, unequal": (np.exp(rng.standard_normal((n, 5))), np.exp(1.2 * rng.standard_normal((m, 5))),
                                   *plain),
        "patterns of 784 pixels": (rng.standard_normal((n, 784)) * 0.3,
                                   patterns[rng.integers(10, size=n)] * rng.random((n, 1)), *plain),
        "counts d=10": (rng.poisson(2.0, (n, 10)).astype(float), rng.poisson(2.5, (n, 10)).astype(float), *plain),
        "binary d=40": ((rng.random((n, 40)) < 0.3).astype(float), (rng.random((n, 40)) < 0.4).astype(float), *plain),
        "a curve in 32 dimensions": (waves(6 * rng.random(n), 32), 1.5 * waves(6 * rng.random(n) ** 1.2, 32), *plain),
        "two clusters, shares 9:1 and 1:9": (rng.standard_normal((n, 6)) + 8.0 * (rng.random((n, 1)) < 0.1),
                                             rng.standard_normal((n, 6)) + 8.0 * (rng.random((n, 1)) < 0.9), *plain),
        "distance in a square": (rng.random((n, 2)), rng.random((n, 2)), None, None, PowerMetric()),
        "L1 distance d=10": (*mixtures(rng, n, n, 10), None, None, PowerMetric("cityblock")),
        "cosine d=50, unequal": (*mixtures(rng, n, m, 50), None, None, PowerMetric("cosine")),
        "falling spectrum d=64": (rng.standard_normal((n, 64)) * spectrum,
                                  rng.standard_normal((n, 64)) * spectrum + 0.1, *plain),
        "hour of the day and a number": (*hours, *plain),
        "exponential weights d=12, unequal": (*mixtures(rng, n, int(0.6 * n), 12), rng.exponential(size=n),
                                              rng.exponential(size=int(0.6 * n)), None),
        "tenths d=3": (rng.standard_normal((n, 3)).round(1), (rng.standard_normal((n, 3)) + 0.5).round(1), *plain),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=4000)
    parser.add_argument("--out", type=Path, default=Path("benchmark-transport"))
    options = parser.parse_args()
    names = list(made(np.random.default_rng(0), 10))
    transport_corpus.KINDS.update({name: lambda rng, n, k=name: made(rng, n)[k] for name in names})
    warm_up()
    rows = []
    for name in names:
        rows.append(race(name, options.size))
        print(f"{'':32s}ratio of processor time {rows[-1]['processor ratio']:.1f}", flush=True)
    ratios = [row["processor ratio"] for row in rows]
    print(f"{len(rows)} kinds, geometric mean {np.exp(np.mean(np.log(ratios))):.1f}x, least {min(ratios):.1f}x")
    options.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"rows": rows, "versions": versions()}, indent=1) + "\n"
    (options.out / "transport_unseen.json").write_text(text)


if __name__ == "__main__":
    main()
