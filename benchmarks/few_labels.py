"""Which remedy is best? Asked of a few labelled rows: those that `gradapt label` chooses against random ones.

    GRADAPT_DATA=... python benchmarks/few_labels.py [--budget 50] [--seeds 0 1] [--models logistic]

The old model and every remedy predict the held-out rows of the last window (`benchmarks/remedies.py`). A budget of them
is labelled, the candidate with the highest (weighted) accuracy on these is taken, and what it loses to the best one on
all held-out rows is its regret. 200 draws each.
"""

from __future__ import annotations

import argparse
from contextlib import suppress

import numpy as np
import pandas as pd
from remedies import MODELS, TABLES, source_model, split

from gradapt.errors import InputError
from gradapt.estimators.remedies import table_remedies
from gradapt.tables.labelled_rows import rows_to_ask

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
    return 100 * lost[:, 0].mean(), 100 * lost[:, 1].mean(), 100 * found[0], 100 * found[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--budget", type=int, default=50)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["logistic"])
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    chosen = parser.parse_args()
    rows = []
    for name in chosen.tables:
        for seed in chosen.seeds:
            found = split(name, seed)
            for word in chosen.models:
                learner = source_model(word, found.sequence, seed)
                models = {"old": learner}
                for remedy, method in table_remedies(seed=seed).items():
                    with suppress(InputError):  # one that does not fit has no say
                        models[remedy] = method.adapt(learner, found.sequence).learner
                votes = {key: model.logits(found.held).argmax(axis=1) for key, model in models.items()}
                names = learner.classes.astype(str)
                right = np.column_stack([names[own] == found.truth for own in votes.values()]).astype(float)
                asked, random, hit, luck = regrets(right, votes, chosen.budget)
                rows.append({"table": name, "regret": asked, "random": random, "found": hit, "found by random": luck})
    mean = pd.DataFrame(rows).groupby("table", sort=False).mean()
    mean.loc["mean"] = mean.mean()
    print(f"| table | regret of {chosen.budget} chosen | of random | best found | by random |\n" + "|---" * 5 + "|")
    for table, row in mean.round(2).iterrows():
        cells = f"{row.iloc[0]:.2f} | {row.iloc[1]:.2f} | {row.iloc[2]:.0f} % | {row.iloc[3]:.0f} %"
        print(f"| {table} | {cells} |")


if __name__ == "__main__":
    main()
