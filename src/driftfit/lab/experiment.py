"""`Experiment`: what the cells of one table and seed share, made once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from driftfit.datasets import dataset
from driftfit.domains import Domain, DomainSequence, LabelledDomain
from driftfit.errors import InputError
from driftfit.estimators.adapted import AdaptedClassifier
from driftfit.lab.cells import FRONTIER, Cell, Settings, settings
from driftfit.lab.configurations import estimator_of, is_network, method_of
from driftfit.lab.frontier import FrontierRun
from driftfit.lab.statistics import Measured, accuracy, plan_measures
from driftfit.methods import Adaptation, Method, OnStep, Workspace
from driftfit.methods.pretrained_encoder import PretrainedEncoder
from driftfit.models import Learner
from driftfit.models.torch.learner import TorchLearner
from driftfit.selection import ChosenGOAT

# Share of a GPU's memory, and bytes elsewhere, that encodings of all processes may fill before old ones are dropped.
_MEMORY_SHARE = 0.5
_CPU_BYTES = 4 * 2**30


@dataclass(eq=False)
class Experiment:
    """Data, source models, encodings and plans of one benchmark, preset and seed.

    ``n_samples``: at most this many samples in each domain. ``study``: ablation, whose settings differ from the
    tables'. ``jobs``: processes that share the device.
    """

    table: str
    preset: str
    seed: int
    device: torch.device
    n_samples: int | None = None
    study: str = ""
    jobs: int = 1
    _domains: dict[str, Domain] = field(default_factory=dict)
    _labels: dict[str, NDArray[Any]] = field(default_factory=dict)
    _sequences: dict[int, DomainSequence] = field(default_factory=dict)
    _networks: dict[Any, TorchLearner] = field(default_factory=dict)
    _known: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def settings(self) -> Settings:
        return settings(self.table, self.preset, self.study)

    @cached_property
    def workspace(self) -> Workspace:
        budget: float = _CPU_BYTES
        if self.device.type == "cuda":
            budget = _MEMORY_SHARE * torch.cuda.get_device_properties(self.device).total_memory
        return Workspace(int(budget / self.jobs))

    def prepare(self, cells: Iterable[Cell]) -> None:
        """Make what several cells share: data, source models, and features of encoders that stay as they are.

        What is sent to another process takes this along, so that it is made once for all of them.
        """
        for cell in cells:
            sequence = self.sequence(cell.n_given)
            if cell.study == FRONTIER or not is_network(cell):
                continue
            learner, method = self.start(cell)
            if method.keeps_encoder:
                self.workspace.encoded(learner, sequence)
        _ = self.heldout

    def sequence(self, n_given: int) -> DomainSequence:
        """The domains on the device, no label but the source's among them."""
        if n_given not in self._sequences:
            self._sequences[n_given] = DomainSequence(self._keep(self._load(n_given, "adapt")))
        return self._sequences[n_given]

    def labels(self, name: str) -> NDArray[Any]:
        """True labels of a domain, for measuring only."""
        return self._labels[name]

    @cached_property
    def heldout(self) -> LabelledDomain | None:
        """Fresh samples of the target, with labels; None where the data have none."""
        try:
            target = self._load(0, "heldout").target
        except InputError:
            return None
        return LabelledDomain(self._on_device(target), np.asarray(target.labels), name="held-out target")

    def target(self, n_given: int) -> LabelledDomain:
        """The target with its true labels, for measuring only."""
        target = self.sequence(n_given).target
        return LabelledDomain(target.samples, self.labels(target.name), name=target.name)

    def run(self, cell: Cell) -> dict[str, Any]:
        """The numbers of one cell."""
        if cell.study == FRONTIER:
            return self._frontier(cell)
        sequence = self.sequence(cell.n_given)
        learner, method = self.start(cell)
        measured = Measured(self.target(cell.n_given), self.heldout, self._scores(learner, sequence, method))
        measured.add(learner)
        candidates: dict[int, dict[str, float | None]] = {}
        if isinstance(method, ChosenGOAT):
            method = replace(
                method, on_candidate=lambda number, run: candidates.update({number: measured.of(run.learner)})
            )
        adaptation = self.adapt(cell, learner, method, lambda record, student: measured.add(student, record))
        if adaptation.carried is not None:
            return self._carried(cell, learner, adaptation.carried)
        names = [domain.name for domain in sequence]
        result = measured.result()
        if adaptation.plans and adaptation.choice is None:
            result |= plan_measures(adaptation.plans, [self.labels(name) for name in names])
        return result if adaptation.choice is None else _with_candidates(result, adaptation, candidates)

    def _frontier(self, cell: Cell) -> dict[str, Any]:
        """All candidates of the frontier, and the choice among them."""
        sequence, target = self.sequence(cell.n_given), self.target(cell.n_given)
        learner = self._source_network(
            estimator_of(replace(cell, method="source-only"), self.settings, str(self.device))
        )
        measured = Measured(target, self.heldout, lambda model, domain: model.logits(domain.samples))
        run = FrontierRun(measured.of, tuple(self.labels(domain.name) for domain in sequence), self._known)
        run.supervised(learner, target.samples, target.labels)
        return run.run(cell, self.settings, learner, sequence, self.workspace)

    def start(self, cell: Cell) -> tuple[Learner, Method]:
        """The source model of a cell, trained once for all that share it, and the method that goes on from it."""
        estimator = estimator_of(cell, self.settings, str(self.device))
        sequence = self.sequence(cell.n_given)
        if not is_network(cell):
            return estimator.fit_source(_on_host(sequence)), method_of(cell, self.settings)
        network = self._source_network(estimator)
        method = method_of(cell, self.settings)
        if not isinstance(method, PretrainedEncoder):
            return network, method
        key = ("pretrained", cell.n_given)
        if key not in self._networks:
            self._networks[key] = method.prepare(network, sequence)
        return self._networks[key], method.method

    def adapt(self, cell: Cell, learner: Learner, method: Method, on_step: OnStep = None) -> Adaptation:
        """Run the method of a cell on what the cells share."""
        sequence = self.sequence(cell.n_given)
        if not is_network(cell):
            return method.adapt(learner, _on_host(sequence), on_step)
        return method.adapt(learner, sequence, on_step, self.workspace)

    def _source_network(self, estimator: AdaptedClassifier) -> TorchLearner:
        """The network of an estimator, fitted on the source as `fit_path` would; trained once, whatever its encoder."""
        source = self.sequence(0).source
        layer = estimator.estimator.encoder
        if not self._networks:
            template: TorchLearner = estimator.estimator.make_learner(source.classes)
            template = replace(template, seed=self.seed)
            self._networks[layer] = template.fit(source.samples, source.codes(), source.uneven_weights)
        if layer not in self._networks:
            # Always the same object for a layer, so that its encodings are found again.
            self._networks[layer] = replace(next(iter(self._networks.values())), encoder_layer=layer)
        return self._networks[layer]

    def _scores(self, learner: Learner, sequence: DomainSequence, method: Method) -> Any:
        """Scores of a model: from its head on features that are at hand, where the encoder is frozen."""
        by_name = {domain.name: domain for domain in sequence}

        def from_features(model: Learner, domain: LabelledDomain) -> NDArray[np.float64]:
            features = self.workspace.encoded_domain(learner, by_name.get(domain.name, domain))
            return model.head().logits(features.samples)

        def from_samples(model: Learner, domain: LabelledDomain) -> NDArray[np.float64]:
            on_device = isinstance(learner, TorchLearner)
            return model.logits(domain.samples if on_device else domain.samples.cpu().numpy())

        return from_features if method.keeps_encoder else from_samples

    def _carried(self, cell: Cell, learner: Learner, shares: NDArray[np.float64]) -> dict[str, Any]:
        """Source labels carried along the plans; without a model there is nothing to say about other samples."""
        arrived = shares.sum(axis=1) > 0
        guesses = learner.classes[shares.argmax(axis=1)]
        # Where nothing arrives there is no label, and so no right one.
        right = accuracy(arrived & (guesses == self.target(cell.n_given).labels), np.ones(len(guesses), dtype=bool))
        names = ("last", "selected", "label_selected")
        result: dict[str, Any] = {f"transductive_{name}": right for name in names}
        result |= {f"heldout_{name}": None for name in names}
        return result | {"labelled_share": float(arrived.mean()) * 100}

    def _load(self, n_given: int, split: str) -> DomainSequence:
        load = dataset(self.table).load
        chosen = {"preset": self.preset, "seed": self.seed, "split": split, "n_samples": self.n_samples}
        if self.study != FRONTIER:
            return load(n_given, **chosen)
        domains = list(load(n_given, distinct=True, **chosen))
        # A given domain of the same name has other samples where another number is given.
        between = [Domain(own.samples, own.labels, name=f"{own.name}, {n_given} given") for own in domains[1:-1]]
        return DomainSequence([domains[0], *between, domains[-1]])

    def _keep(self, domains: Iterable[Domain]) -> list[Domain]:
        """The domains on the device, each once; their labels aside, but for the source's."""
        kept = []
        for number, domain in enumerate(domains):
            # Domains of one name are the same in every row of the table.
            if domain.name not in self._domains:
                tensor, labels = self._on_device(domain), np.asarray(domain.labels)
                self._labels[domain.name] = labels
                self._domains[domain.name] = (
                    Domain(tensor, name=domain.name) if number else LabelledDomain(tensor, labels, name=domain.name)
                )
            kept.append(self._domains[domain.name])
        return kept

    def _on_device(self, domain: Domain) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(domain.samples)).to(self.device)


def _with_candidates(
    result: dict[str, Any], adaptation: Adaptation, candidates: dict[int, dict[str, float | None]]
) -> dict[str, Any]:
    """The result of a choice beside the best and the worst one, which are found with target labels."""
    ranked = sorted(candidates, key=lambda number: float(candidates[number]["transductive"] or 0.0))
    found = {key: value for key, value in result.items() if key != "steps"}
    for name, number in (("best", ranked[-1]), ("worst", ranked[0])):
        for side in ("transductive", "heldout"):
            found[f"{side}_{name}"] = candidates[number][side]
    accuracies = {str(number): measures["transductive"] for number, measures in candidates.items()}
    scores = {str(number): value for number, value in adaptation.choice.scores.items()}
    return found | {"chosen": adaptation.choice.n_generated, "accuracies": accuracies, "scores": scores}


def _on_host(sequence: DomainSequence) -> DomainSequence:
    return sequence.each(lambda domain: domain.with_samples(domain.samples.cpu().numpy()))
