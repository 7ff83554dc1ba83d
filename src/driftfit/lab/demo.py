"""The demonstration: a table whose labels stop, and four ways to follow digits or moons that turn, with an oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from driftfit.domains import DomainSequence
from driftfit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from driftfit.app.verbs import Run

# Months of the made-up table for which labels are known: until this one.
LABELLED_UNTIL = "2025-10"


@dataclass(frozen=True)
class Scene:
    """A path of domains."""

    name: str
    title: str
    make: Callable[..., DomainSequence]
    paired: bool


@dataclass(frozen=True, eq=False)
class DemoRun:
    """One method, fitted on one seed of a scene."""

    scene: Scene
    seed: int
    method: str
    accuracy: float
    seconds: float
    classifier: Any
    sequence: DomainSequence


def _digits(**options: Any) -> DomainSequence:
    from driftfit.datasets.toy import rotated_digits

    return rotated_digits((0, 20, 40, 60), **options)


def _moons(**options: Any) -> DomainSequence:
    from driftfit.datasets.toy import rotating_moons

    return rotating_moons((0, 30, 60, 90), **options)


def _kernel_machine() -> Any:
    from sklearn.svm import SVC

    return SVC()


SCENES = {
    scene.name: scene
    for scene in (
        Scene("digits", "digits turned by 60 degrees, snapshots at 20 and 40", _digits, True),
        Scene("moons", "two moons turned by 90 degrees, snapshots at 30 and 60", _moons, False),
    )
}

N_GENERATED = 4
METHODS = ("source only", "direct self-training", "gradual self-training", "GOAT", "GOAT, oracle pairing")


def count_runs(scenes: tuple[str, ...], n_seeds: int) -> int:
    """Number of results that `run_demo` yields."""
    return sum(len(METHODS) - (not scene.paired) for scene in _chosen(scenes)) * n_seeds


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


def run_demo(scenes: tuple[str, ...] = ("digits",), seeds: tuple[int, ...] = (0, 1, 2)) -> Iterator[DemoRun]:
    """Run every method on every seed of the scenes and yield the results as they come.

    Accuracy is measured on held-out samples of the target, whose labels nothing else sees.
    """
    for scene in _chosen(scenes):
        for seed in seeds:
            yield from _run_scene(scene, seed)


def _run_scene(scene: Scene, seed: int) -> Iterator[DemoRun]:
    import time

    from threadpoolctl import threadpool_limits

    from driftfit.estimators import DirectSelfTrainingClassifier, GOATClassifier, GradualSelfTrainingClassifier
    from driftfit.methods import Transport
    from driftfit.transport import OracleCoupling

    sequence = scene.make(seed=seed)
    held_out = scene.make(seed=seed, split="held_out").target
    base = _kernel_machine()
    classifiers = {
        METHODS[1]: DirectSelfTrainingClassifier(base),
        METHODS[2]: GradualSelfTrainingClassifier(base),
        METHODS[3]: GOATClassifier(base, n_generated=N_GENERATED),
    }
    if scene.paired:
        classifiers[METHODS[4]] = GOATClassifier(base, n_generated=N_GENERATED, transport=Transport(OracleCoupling()))
    first = True
    for method, classifier in classifiers.items():
        started = time.perf_counter()
        # Problems this small are slower on several threads than on one.
        with threadpool_limits(limits=1):
            classifier.fit_path(sequence)
        seconds = time.perf_counter() - started
        if first:
            before = float(np.mean(classifier.source_estimator_.predict(held_out.samples) == held_out.labels))
            yield DemoRun(scene, seed, METHODS[0], before, 0.0, classifier, sequence)
            first = False
        accuracy = float(classifier.score(held_out.samples, held_out.labels))
        yield DemoRun(scene, seed, method, accuracy, seconds, classifier, sequence)


def _chosen(scenes: tuple[str, ...]) -> list[Scene]:
    for name in scenes:
        if name not in SCENES:
            raise InputError(f"there is no demo path {name!r}; choose from {', '.join(SCENES)}")
    return [SCENES[name] for name in scenes]
