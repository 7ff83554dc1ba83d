"""Verdicts and estimates on real tables, judged with the labels that none of them sees.

    DRIFTFIT_DATA=... python benchmarks/verdicts_on_tables.py [--seeds 0 1] [--tables elec2 ...] [--json FILE]

The tables and splits of `benchmarks/real_tables.py`: the first window is labelled, the last one is the target, and half
of its rows are held out; their labels are used here and nowhere else. What the verdict advises is compared with what
plain gradual self-training and GOAT with four generated domains do to the accuracy of the old model.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

from real_tables import TABLES, source_model, split

from driftfit.methods import GOAT, GradualSelfTraining, Transport
from driftfit.selection import Gate, assess

# A difference of less than this, in points, is called none.
_POINT = 1.0


def judged(name: str, seed: int, word: str = "logistic") -> dict[str, Any]:
    """What is said of one split of one table, and what is true."""
    found = split(name, seed)
    learner = source_model(word, found.sequence, seed)
    gate = Gate(seed=seed, max_samples=1_000)
    started = time.perf_counter()
    view = gate.view(found.sequence, learner)
    before = assess(view, learner, gate=gate)
    seconds = time.perf_counter() - started
    plans = Transport(max_samples=1_000, seed=seed)
    methods = {"self-training": GradualSelfTraining(measure_shift=False), "GOAT": GOAT(4, transport=plans)}
    adapted = {key: method.adapt(learner, found.sequence).learner for key, method in methods.items()}
    after = assess(view, learner, adapted["self-training"], gate=gate)
    truth = {"old": found.accuracy(learner), **{key: found.accuracy(one) for key, one in adapted.items()}}
    return {
        "table": name,
        "seed": seed,
        "advice": before.verdict.advice.value,
        "reason": before.verdict.reasons[0],
        "estimate": [before.before.value, before.before.low, before.before.high],
        "method": before.before.method,
        "reliable": before.before.reliable,
        "estimable": before.before.estimable,
        "remark": before.before.remark,
        "kept": after.kept,
        "seconds": round(seconds, 1),
        **{f"true {key}": round(100 * value, 1) for key, value in truth.items()},
    }


def right(row: dict[str, Any]) -> bool:
    """Whether following the advice does not lose, and disregarding it would not have won, more than a point."""
    gain = row["true self-training"] - row["true old"]
    generated = row["true GOAT"] - row["true old"]
    if row["advice"] == "adapt":
        return bool(gain > -_POINT)
    if row["advice"].startswith("generate"):
        return bool(generated > -_POINT)
    return bool(max(gain, generated) < _POINT)


def text(rows: list[dict[str, Any]]) -> str:
    """The table in Markdown, one line for each split."""
    lines = [
        "| table | seed | advice | old model | self-training | GOAT | estimate of the old model | kept | right |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        value, low, high = (100 * part for part in row["estimate"])
        doubt = "" if row["reliable"] else " not reliable"
        said = f"{value:.1f} ({low:.1f} - {high:.1f}){doubt}" if row["estimable"] else "refused"
        lines.append(
            f"| {row['table']} | {row['seed']} | {row['advice']} | {row['true old']} | {row['true self-training']} | "
            f"{row['true GOAT']} | {said} | {row['kept']} | {'yes' if row['right'] else 'no'} |"
        )
    sure = [row for row in rows if row["reliable"]]
    held = sum(row["estimate"][1] <= row["true old"] / 100 <= row["estimate"][2] for row in sure)
    lines += [
        "",
        f"{sum(row['right'] for row in rows)} of {len(rows)} verdicts are right. {len(sure)} estimates call themselves "
        f"reliable, {held} of these hold the truth; {sum(not row['estimable'] for row in rows)} are refused.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--json", type=Path, dest="target", help="write every split to this file")
    chosen = parser.parse_args()
    if "DRIFTFIT_DATA" not in os.environ:
        raise SystemExit("DRIFTFIT_DATA must name the folder that holds covtype/, elec2/ and tables/")
    warnings.simplefilter("ignore")
    rows = []
    for name in chosen.tables:
        for seed in chosen.seeds:
            row = judged(name, seed)
            rows.append(row | {"right": right(row)})
            print(json.dumps(rows[-1]), flush=True)
            if chosen.target is not None:
                chosen.target.write_text(json.dumps(rows, indent=2) + "\n")
    print(text(rows))


if __name__ == "__main__":
    main()
