"""The demonstration: four ways to meet a drift, and the oracle, on data that scikit-learn brings along."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftfit.domains import DomainSequence
from driftfit.errors import InputError


@dataclass(frozen=True)
class Scene:
    """A path of domains and the classifier that follows it."""

    name: str
    title: str
    make: Callable[..., DomainSequence]
    make_classifier: Callable[[], Any]
    n_generated: int
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


def _gaussians(**options: Any) -> DomainSequence:
    from driftfit.datasets.toy import moving_gaussians

    return moving_gaussians((0, 1, 2, 3), **options)


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


def _kernel_machine() -> Any:
    from sklearn.svm import SVC

    return SVC()


SCENES = {
    scene.name: scene
    for scene in (
        Scene("digits", "digits turned by 60 degrees, snapshots at 20 and 40", _digits, _kernel_machine, 4, True),
        Scene("moons", "two moons turned by 90 degrees, snapshots at 30 and 60", _moons, _kernel_machine, 4, False),
        Scene("gaussians", "two Gaussians that move by 3, snapshots at 1 and 2", _gaussians, _logistic, 4, False),
    )
}

METHODS = ("source only", "direct self-training", "gradual self-training", "GOAT", "GOAT, oracle pairing")


def count_runs(scenes: tuple[str, ...], n_seeds: int) -> int:
    """Number of results that `run_demo` yields."""
    return sum(len(METHODS) - (not scene.paired) for scene in _chosen(scenes)) * n_seeds


def run_demo(scenes: tuple[str, ...] = ("digits", "moons"), seeds: tuple[int, ...] = (0, 1, 2)) -> Iterator[DemoRun]:
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
    base = scene.make_classifier()
    classifiers = {
        METHODS[1]: DirectSelfTrainingClassifier(base),
        METHODS[2]: GradualSelfTrainingClassifier(base),
        METHODS[3]: GOATClassifier(base, n_generated=scene.n_generated),
    }
    if scene.paired:
        classifiers[METHODS[4]] = GOATClassifier(
            base, n_generated=scene.n_generated, transport=Transport(OracleCoupling())
        )
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
