"""The demonstration: a table whose labels stop, and four ways to follow digits that turn, with an oracle."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from driftfit.app.verbs import Run

# Months of the made-up table for which labels are known: until this one.
LABELLED_UNTIL = "2025-10"
METHODS = ("source only", "direct self-training", "gradual self-training", "GOAT", "GOAT, oracle pairing")
_ANGLES, _GENERATED = (0, 20, 40, 60), 4


@dataclass(frozen=True, eq=False)
class TableRun:
    """The answer about a table, and how right it and a model of all labels are on the rows without one."""

    run: Run
    right: float
    plain: float


def drifting_table() -> tuple[pd.DataFrame, pd.Series]:
    """The made-up table of customers, with labels until October, and all of its labels."""
    import pandas as pd

    from driftfit.datasets.toy import drifting_events

    events = pd.DataFrame(drifting_events())
    truth = events["churned"]
    return events.assign(churned=truth.where(events["month"] <= LABELLED_UNTIL)), truth


def run_table() -> TableRun:
    """Adapt the made-up table; its labels of today are used for nothing but the two shares of right answers."""
    from driftfit.app.verbs import adapt

    events, truth = drifting_table()
    runs = [adapt(events, label="churned", order="month", method=method) for method in (None, "all-labels")]
    right, plain = (
        float(np.mean(np.asarray(run.predictions["prediction"] == np.asarray(truth[run.predictions["row"]]))))
        for run in runs
    )
    return TableRun(runs[0], right, plain)


def run_digits(seeds: tuple[int, ...] = (0, 1, 2)) -> Iterator[tuple[str, int, float, float]]:
    """Every method on digits that turn, for every seed: its name, the seed, accuracy and seconds, as they come.

    Accuracy is measured on held-out samples of the target, whose labels nothing else sees.
    """
    from sklearn.svm import SVC
    from threadpoolctl import threadpool_limits

    from driftfit.datasets.toy import rotated_digits
    from driftfit.estimators import DirectSelfTrainingClassifier, GOATClassifier, GradualSelfTrainingClassifier
    from driftfit.methods import Transport
    from driftfit.transport import OracleCoupling

    classifiers = (
        DirectSelfTrainingClassifier(SVC()),
        GradualSelfTrainingClassifier(SVC()),
        GOATClassifier(SVC(), n_generated=_GENERATED),
        GOATClassifier(SVC(), n_generated=_GENERATED, transport=Transport(OracleCoupling())),
    )
    for seed in seeds:
        sequence = rotated_digits(_ANGLES, seed=seed)
        held_out = rotated_digits(_ANGLES, seed=seed, split="held_out").target
        for number, (method, classifier) in enumerate(zip(METHODS[1:], classifiers, strict=True)):
            started = time.perf_counter()
            # Problems this small are slower on several threads than on one.
            with threadpool_limits(limits=1):
                classifier.fit_path(sequence)
            seconds = time.perf_counter() - started
            if number == 0:
                yield (
                    METHODS[0],
                    seed,
                    float(classifier.source_estimator_.score(held_out.samples, held_out.labels)),
                    0.0,
                )
            yield method, seed, float(classifier.score(held_out.samples, held_out.labels)), seconds
