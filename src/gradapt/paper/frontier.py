"""Beyond the paper: very different methods on each benchmark, and a choice among them without target labels."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradapt.choice import Candidate, Choice, Chosen
from gradapt.learners import Learner
from gradapt.methods import Adaptation, CarriedLabels, Method, Relabelling
from gradapt.paper.cells import Cell
from gradapt.paper.configurations import method_of
from gradapt.paper.measures import plan_measures
from gradapt.paper.presets import Settings
from gradapt.paths import Transport
from gradapt.transport import Exact, GromovWasserstein, Mapped, Orthogonal, OwnScale

__all__ = ["FrontierRun", "frontier_candidates"]

# Names in records that are no candidates.
CHOSEN, SUPERVISED = "chosen", "supervised"
# Parameter of the mixtures that a model learns from carried labels with.
_MIXUP = 0.5


def frontier_candidates(cell: Cell, chosen: Settings) -> dict[str, Method | Candidate]:
    """What is chosen among, by name; the source model is added by the choice."""
    others = {"gst": 0, "goat": 4, "covi": 0, "deep-coral": 0}
    candidates: dict[str, Method | Candidate] = {
        name: method_of(_of(cell, name, generated), chosen) for name, generated in others.items()
    }
    # Columns of a table have units of their own; pixels do not.
    costs = Mapped(OwnScale()) if chosen.network == "mlp" else Exact()
    candidates["carried"] = _carried(Transport(costs, certified=False), direct=False)
    structure = Mapped(Orthogonal(), start=GromovWasserstein(starts=1))
    candidates["structure"] = Candidate.structural(_carried(Transport(structure, certified=False), direct=True))
    return candidates


def _of(cell: Cell, method: str, n_generated: int) -> Cell:
    return Cell(cell.table, cell.preset, cell.seed, cell.n_given, method, n_generated, cell.n_samples)


def _carried(transport: Transport, *, direct: bool) -> CarriedLabels:
    return CarriedLabels(
        transport, feature_space=False, direct=direct, mixup=_MIXUP, relabelling=Relabelling(share=0.9)
    )


@dataclass(eq=False)
class FrontierRun:
    """The numbers of all candidates and of the choice.

    Attributes
    ----------
    measure : callable
        From a model to its accuracies, ``transductive`` and ``heldout``; sees labels that no candidate sees.
    labels : tuple of arrays
        True labels of source, given domains and target, for the share of a plan's mass that stays within a class.
    """

    measure: Callable[[Learner], dict[str, float | None]]
    labels: tuple[Any, ...]
    found: dict[str, Any] = field(default_factory=dict)

    def run(self, cell: Cell, chosen: Settings, learner: Learner, sequence: Any, workspace: Any) -> dict[str, Any]:
        """Run the candidates, choose, and write down what each is worth."""
        since = [time.perf_counter()]

        def note(name: str, adaptation: Adaptation) -> None:
            self.found[f"seconds_{name}"] = time.perf_counter() - since[0]
            self._note(name, adaptation)
            since[0] = time.perf_counter()

        method = Chosen(frontier_candidates(cell, chosen), on_candidate=note)
        choice: Choice = method.adapt(learner, sequence, None, workspace).choice
        self.found[f"seconds_{CHOSEN}"] = time.perf_counter() - since[0]
        for side in ("transductive", "heldout"):
            self.found[f"{side}_{CHOSEN}"] = self.found[f"{side}_last"] = self.found[f"{side}_{choice.best}"]
        self.found |= {f"score_{name}": score for name, score in choice.scores.items()}
        return self.found | {
            "choice": str(choice.best),
            "sentence": choice.sentence,
            "struck": {str(name): why for name, why in choice.struck.items()},
            "failed": {str(name): why for name, why in choice.failed.items()},
        }

    def supervised(self, learner: Learner, samples: Any, labels: Any) -> None:
        """What the same model reaches when it is trained on the target with its true labels: no method, a ceiling."""
        codes = np.searchsorted(learner.classes, labels)
        for side, value in self.measure(learner.fit(samples, codes)).items():
            self.found[f"{side}_{SUPERVISED}"] = value

    def _note(self, name: str, adaptation: Adaptation) -> None:
        for side, value in self.measure(adaptation.learner).items():
            self.found[f"{side}_{name}"] = value
        plans = adaptation.plans
        if plans:
            ends = (self.labels[0], self.labels[-1])
            labels = self.labels if len(plans) == len(self.labels) - 1 else ends
            self.found[f"same_class_{name}"] = plan_measures(plans, labels)["same_class_mass"]
