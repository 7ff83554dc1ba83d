"""Made-up drifts whose kind is known, and how often the diagnosis names it.

    python benchmarks/drift_worlds.py [--seeds 20] [--first 0] [--windows 2 5 20] [--json FILE]

Three measurements and a flag; two classes that overlap a little. The windows between source and target lie on the way.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from driftfit.domains import Domain, DomainSequence
from driftfit.models import as_learner
from driftfit.selection.diagnosis import Drift, diagnose_drift

N = 600
Rows = tuple[np.ndarray, np.ndarray]
World = Callable[[np.random.Generator, float], Rows]


def plain(rng: np.random.Generator, share: float = 0.5) -> Rows:
    y = (rng.random(N) < share).astype(int)
    x = rng.normal(size=(N, 3)) + 2.2 * y[:, None] * [1.0, 0.4, 0.0]
    return np.column_stack([x, rng.random(N) < 0.3]), y


def no_shift(rng: np.random.Generator, part: float) -> Rows:
    return plain(rng)


def proportions(rng: np.random.Generator, part: float) -> Rows:
    return plain(rng, 0.5 - 0.35 * part)


def scales(rng: np.random.Generator, part: float) -> Rows:
    x, y = plain(rng)
    return x * (1.0 + part * np.array([0.8, -0.4, 0.3, 0.0])) + part * np.array([2.0, -1.0, 0.5, 0.0]), y


def rotation(rng: np.random.Generator, part: float) -> Rows:
    x, y = plain(rng)
    angle = np.deg2rad(80.0) * part
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    x[:, :2] = x[:, :2] @ turn
    return x, y


def new_class(rng: np.random.Generator, part: float) -> Rows:
    x, y = plain(rng)
    new = rng.random(N) < 0.25 * part
    x[new, :3] = rng.normal(size=(int(new.sum()), 3)) * 0.5 + [0.0, 6.0, 6.0]
    return x, y


def concept(rng: np.random.Generator, part: float) -> Rows:
    """The rows stay where they are; what their labels mean does not."""
    x, y = plain(rng)
    return x, np.where(rng.random(N) < part, 1 - y, y)


WORLDS: dict[str, tuple[World, Drift]] = {
    "no shift": (no_shift, Drift.NOTHING),
    "proportions": (proportions, Drift.PROPORTIONS),
    "means and scales": (scales, Drift.SCALES),
    "rotation": (rotation, Drift.TURNED),
    "new class": (new_class, Drift.NEW_REGION),
    "concept change": (concept, Drift.NOTHING),
}


def windows(world: World, seed: int, n_windows: int = 2) -> tuple[DomainSequence, np.ndarray]:
    """The windows, labelled at the beginning, and the hidden labels of the last one."""
    rng = np.random.default_rng([seed, n_windows])
    drawn = [world(rng, number / (n_windows - 1)) for number in range(n_windows)]
    found = [Domain(x, y if number == 0 else None, name=str(number)) for number, (x, y) in enumerate(drawn)]
    return DomainSequence(found), drawn[-1][1]


def diagnosed(world: World, seed: int, n_windows: int = 2):
    sequence, _ = windows(world, seed, n_windows)
    source = sequence.source
    learner = as_learner(LogisticRegression(), source.classes).fit(source.samples, source.codes())
    return diagnose_drift(learner, sequence, seed=seed)


def named(name: str, n_windows: int, seeds: range) -> dict[str, Any]:
    """How often the diagnosis names the kind of drift of a world, and what it says."""
    world, truth = WORLDS[name]
    kinds = [diagnosed(world, seed, n_windows).kind for seed in seeds]
    called = ", ".join(f"{word} {n}" for word, n in Counter(kind.value for kind in kinds).most_common())
    return {"drift": name, "windows": n_windows, "right": kinds.count(truth), "of": len(kinds), "called": called}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--windows", type=int, nargs="+", default=[2, 5, 20])
    parser.add_argument("--json", type=Path, dest="target", help="write the table to this file")
    chosen = parser.parse_args()
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    rows = []
    for name in WORLDS:
        for n_windows in chosen.windows:
            rows.append(named(name, n_windows, seeds))
            print(rows[-1], flush=True)
    if chosen.target is not None:
        write_record = run_path(str(Path(__file__).with_name("records.py")))["write_record"]
        write_record(chosen.target, rows, seeds)


if __name__ == "__main__":
    main()
