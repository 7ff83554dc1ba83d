"""Which remedy is best? Asked of a few labelled rows: those that `driftfit label` chooses against random ones.

    DRIFTFIT_DATA=... python benchmarks/few_labels.py [--budget 50] [--seeds 0 1] [--json results/few_labels.json]

The old model and every remedy predict the held-out rows of the last window (`benchmarks/real_tables.py`). A budget of
them is labelled, the candidate with the highest (weighted) accuracy on these is taken, and what it loses to the best
one on all held-out rows is its regret. 200 draws each.
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from real_tables import MODELS, TABLES, source_model, split
from records import write_record

from driftfit.app.labelled_rows import rows_to_ask
from driftfit.errors import InputError
from driftfit.selection import table_methods

N_DRAWS = 200


def regrets(right: np.ndarray, votes: dict[str, np.ndarray], budget: int) -> tuple[float, float, float, float]:
    """Mean regret by chosen and by random rows, in points, and the share of draws in which the best one is found."""
    accuracy = right.mean(axis=0)
    best = accuracy.max()
    lost = np.empty((N_DRAWS, 2))
    for seed in range(N_DRAWS):
        rows, weights = rows_to_ask(votes, budget, seed)
        random = np.random.default_rng([seed, 1]).choice(len(right), budget, replace=False)
        lost[seed, 0] = best - accuracy[int(np.argmax(weights @ right[rows]))]
        lost[seed, 1] = best - accuracy[int(np.argmax(right[random].mean(axis=0)))]
    found = (lost < 1e-9).mean(axis=0)
    values = (*lost.mean(axis=0), *found)
    return float(100 * values[0]), float(100 * values[1]), float(100 * values[2]), float(100 * values[3])


def asked(name: str, seed: int, word: str, budget: int) -> dict[str, Any]:
    """The old model and every remedy on one split of a table, and what few labels say of them."""
    found = split(name, seed)
    learner = source_model(word, found.sequence, seed)
    models = {"old": learner}
    for remedy, method in table_methods(seed=seed).items():
        with suppress(InputError):  # one that does not fit has no say
            models[remedy] = method.adapt(learner, found.sequence).learner
    votes = {key: model.logits(found.held).argmax(axis=1) for key, model in models.items()}
    names = learner.classes.astype(str)
    right = np.column_stack([names[own] == found.truth for own in votes.values()]).astype(float)
    columns = ("regret", "regret of random", "found", "found by random")
    values = dict(zip(columns, (round(value, 3) for value in regrets(right, votes, budget)), strict=True))
    return {"table": name, "seed": seed, "model": word, "candidates": len(models), **values}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--budget", type=int, default=50)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["logistic"])
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--json", type=Path, dest="target", help="write every split to this file")
    chosen = parser.parse_args()
    rows = []
    for name in chosen.tables:
        for seed in chosen.seeds:
            for word in chosen.models:
                rows.append(asked(name, seed, word, chosen.budget))
                print(rows[-1], flush=True)
    if chosen.target is not None:
        write_record(chosen.target, rows, chosen.seeds, budget=chosen.budget, draws=N_DRAWS)


if __name__ == "__main__":
    main()
