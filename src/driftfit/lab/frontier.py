"""Beyond the paper: very different methods on each benchmark, and a choice among them without target labels."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from driftfit.domains import DomainSequence
from driftfit.lab.cells import Cell, Settings
from driftfit.lab.configurations import method_of
from driftfit.lab.statistics import plan_measures
from driftfit.methods import Adaptation, CarriedLabels, Method, OnStep, Relabelling, Taught, Transport, Workspace
from driftfit.models import Learner
from driftfit.selection import Candidate, Choice, Chosen, Committee
from driftfit.selection.candidates import MIXUP
from driftfit.selection.runs import ends_isometry
from driftfit.transport import Exact, GromovWasserstein, Isometry, Mapped, Orthogonal, SameScale

# Rows of a table that are coupled, at most, and by structure; exact steps of that before a map takes over.
_ROWS, _STRUCTURED_ROWS, _STEPS = 5_000, 1_500, 10


def frontier_candidates(cell: Cell, chosen: Settings, known: dict[str, Any]) -> dict[str, Method | Candidate]:
    """What is chosen among, by name; the source model is added by the choice.

    ``known`` keeps what does not depend on the given domains. Where there are many images only the coupling by
    structure stands beside it.
    """
    structure = Mapped(Orthogonal(), start=GromovWasserstein(starts=1, steps=_STEPS, bounded=False))
    most, structured = (_ROWS, _STRUCTURED_ROWS) if chosen.of_a_table else (None, None)
    carried = _carried(Transport(structure, certified=False, max_samples=structured), direct=True)
    direct = Candidate(_Once("structure", carried, known), partial(_isometry, known))
    if cell.variant == "many":
        return {"structure": direct}
    others = {"gst": 0, "goat": 4, "covi": 0}
    candidates: dict[str, Method | Candidate] = {
        name: method_of(_of(cell, name, generated), chosen) for name, generated in others.items()
    }
    # It sees source and target only, for as many passes as gradual self-training with two given domains.
    coral = method_of(replace(_of(cell, "deep-coral", 0), n_given=2), chosen)
    candidates["deep-coral"] = _Once("deep-coral", coral, known)
    if chosen.of_a_table:
        # Columns have units of their own. A chain of plans adds the errors of each, and the source still teaches.
        scaled = Transport(Mapped(SameScale()), certified=False, max_samples=most)
        candidates["carried"] = CarriedLabels(scaled, feature_space=False, direct=True, joint=True, mixup=MIXUP)
        candidates["taught"] = _Once("taught", Taught(mixup=MIXUP), known)
    else:
        candidates["carried"] = _carried(Transport(Exact(), certified=False), direct=False)
    return {**candidates, "structure": direct}


def _isometry(known: dict[str, Any], sequence: DomainSequence) -> Isometry:
    if "isometry" not in known:
        known["isometry"] = ends_isometry(sequence)
    found: Isometry = known["isometry"]
    return found


def _of(cell: Cell, method: str, n_generated: int) -> Cell:
    return Cell(cell.table, cell.preset, cell.seed, cell.n_given, method, n_generated, cell.n_samples)


def _carried(transport: Transport, *, direct: bool) -> CarriedLabels:
    return CarriedLabels(transport, feature_space=False, direct=direct, mixup=MIXUP, relabelling=Relabelling(share=0.9))


@dataclass(frozen=True, eq=False)
class _Once(Method):
    """A method that looks at source and target only: its result is the same whatever is given between them."""

    name: str
    method: Method
    known: dict[str, Any]

    def adapt(
        self, learner: Learner, sequence: DomainSequence, on_step: OnStep = None, workspace: Workspace | None = None
    ) -> Adaptation:
        if self.name not in self.known:
            self.known[self.name] = self.method.adapt(learner, sequence, None, workspace)
        adaptation: Adaptation = self.known[self.name]
        return adaptation


@dataclass(eq=False)
class FrontierRun:
    """The numbers of all candidates and of the choice.

    ``measure``: from a model to its accuracies, ``transductive`` and ``heldout``; sees labels that no candidate sees.
    ``labels``: True labels of source, given domains and target, for the share of a plan's mass that stays within a
    class. ``known``: what does not depend on the given domains, from run to run.
    """

    measure: Callable[[Learner], dict[str, float | None]]
    labels: tuple[Any, ...]
    known: dict[str, Any]
    found: dict[str, Any] = field(default_factory=dict)

    def run(self, cell: Cell, chosen: Settings, learner: Learner, sequence: Any, workspace: Any) -> dict[str, Any]:
        """Run the candidates, choose, and write down what each is worth."""
        since = [time.perf_counter()]

        def note(name: str, adaptation: Adaptation) -> None:
            # What was made before took the time that it took then.
            own = self.known if name in self.known else {}
            self.found[f"seconds_{name}"] = own.setdefault(f"seconds_{name}", time.perf_counter() - since[0])
            self._note(name, adaptation)
            since[0] = time.perf_counter()

        candidates = frontier_candidates(cell, chosen, self.known)
        method = Chosen(candidates, committee=Committee(mixup=MIXUP), run_all=True, on_candidate=note)
        adaptation = method.adapt(learner, sequence, None, workspace)
        choice: Choice = adaptation.choice
        self.found["seconds_chosen"] = time.perf_counter() - since[0]
        for side, value in self.measure(adaptation.learner).items():
            self.found[f"{side}_chosen"] = self.found[f"{side}_last"] = value
        self.found |= {f"score_{name}": score for name, score in choice.scores.items()}
        return self.found | {
            "choice": str(choice.best),
            "members": {str(name): weight for name, weight in choice.members.items()},
            "sentence": choice.sentence,
            "isometry": str(self.known.get("isometry", "")),
            "struck": {str(name): why for name, why in choice.struck.items()},
            "failed": {str(name): why for name, why in choice.failed.items()},
        }

    def supervised(self, learner: Learner, samples: Any, labels: Any) -> None:
        """What the same model reaches when it is trained on the target with its true labels: no method, a ceiling."""
        if "supervised" not in self.known:
            self.known["supervised"] = learner.fit(samples, np.searchsorted(learner.classes, labels))
        for side, value in self.measure(self.known["supervised"]).items():
            self.found[f"{side}_supervised"] = value

    def _note(self, name: str, adaptation: Adaptation) -> None:
        for side, value in self.measure(adaptation.learner).items():
            self.found[f"{side}_{name}"] = value
        plans = adaptation.plans
        labels = self.labels if len(plans) == len(self.labels) - 1 else (self.labels[0], self.labels[-1])
        sizes = [(len(before), len(after)) for before, after in pairwise(labels)]
        # Plans between samples of the domains number other rows.
        if plans and [plan.shape for plan in plans] == sizes:
            self.found[f"same_class_{name}"] = plan_measures(plans, labels)["same_class_mass"]
