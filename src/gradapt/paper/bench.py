"""`Bench`: what the cells of one table and seed share, made once and kept on the device."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gradapt.datasets import dataset
from gradapt.domains import DomainSequence
from gradapt.errors import InputError
from gradapt.learners.torch_learner import split_for_features
from gradapt.learners.torch_samples import Samples, Stored, encode
from gradapt.learners.torch_training import Adam, EarlyStopping, Recipe, Trainer, seeded
from gradapt.methods.baselines import Baseline, PairedTrainer
from gradapt.networks import INPUT, conv_net, mlp, paper_conv_net, reference_conv_net
from gradapt.paper.coupling import Coupling, couple, couple_entropic, couple_without_cost
from gradapt.paper.presets import Settings, settings
from gradapt.paper.steps import Judge, self_train
from gradapt.paper.workshop import Workshop
from gradapt.seeds import derive_seed

__all__ = ["Bench", "Encoder"]

# Share of a GPU's memory, and bytes elsewhere, that encodings of all processes may fill before old ones are dropped.
_MEMORY_SHARE = 0.5
_CPU_BYTES = 4 * 2**30


@dataclass(frozen=True, eq=False)
class Encoder:
    """A frozen encoder and the head to start from, cut out of one trained network at a layer."""

    name: str
    layer: str
    front: nn.Module
    head: nn.Module


@dataclass(eq=False)
class Bench:
    """Data, source model, encodings and plans of one benchmark, preset and seed.

    Parameters
    ----------
    table, preset : str
    seed : int
    device : torch.device
    n_samples : int, optional
        At most this many samples in each domain.
    workshop : Workshop
    study : str
        Ablation, whose settings differ from the tables'.
    own_settings : Settings, optional
        Other than the preset's, for trials.
    jobs : int
        Processes that share the device.
    memory : dict
        What one method leaves for another of the same bench, such as finished candidates.
    """

    table: str
    preset: str
    seed: int
    device: torch.device
    n_samples: int | None = None
    workshop: Workshop = field(default_factory=Workshop)
    study: str = ""
    own_settings: Settings | None = None
    jobs: int = 1
    memory: dict[Any, Any] = field(default_factory=dict)
    _samples: dict[str, Tensor] = field(default_factory=dict)
    _labels: dict[str, Tensor] = field(default_factory=dict)
    _encoded: dict[tuple[str, str], Tensor] = field(default_factory=dict)
    _plans: dict[tuple[str, str, str, str], Coupling] = field(default_factory=dict)
    _encoders: dict[str, Encoder] = field(default_factory=dict)
    _names: dict[int, list[str]] = field(default_factory=dict)

    @cached_property
    def settings(self) -> Settings:
        return self.own_settings or settings(self.table, self.preset, self.study)

    def names(self, n_given: int) -> list[str]:
        """Names of the domains, source first; their samples are put on the device once."""
        if n_given not in self._names:
            self._names[n_given] = self._keep(self._load(n_given, "adapt"))
        return self._names[n_given]

    def samples(self, name: str) -> Stored:
        return Stored(self._samples[name])

    def labels(self, name: str) -> Tensor:
        """Labels of a domain, for the source model and for measuring only."""
        return self._labels[name]

    @cached_property
    def heldout(self) -> str | None:
        """Name of the held-out target; None where the data have none."""
        try:
            sequence = self._load(0, "heldout")
        except InputError:
            return None
        source, target = sequence
        return self._keep([source, type(target)(target.samples, labels=target.labels, name="held-out target")])[1]

    def judge(self, n_given: int, encoder: Encoder | None = None) -> Judge:
        """What models are measured on, in the space they work in."""
        target = self.names(n_given)[-1]

        def view(name: str) -> Samples:
            return self.samples(name) if encoder is None else Stored(self.encoded(encoder, name))

        fresh = self.heldout
        return Judge(
            view(target),
            self.labels(target),
            None if fresh is None else view(fresh),
            None if fresh is None else self.labels(fresh),
        )

    @cached_property
    def source_model(self) -> nn.Module:
        """The whole network, trained on the source."""
        module = self._trained_on_source(self._network(), "source", self.samples(self.names(0)[0]))
        module.sample_shape = self.sample_shape  # type: ignore[assignment]
        return module

    def encoder(self, n_given: int, layer: str = "") -> Encoder:
        """The frozen encoder for so many given domains, up to a layer, with a head trained on the source."""
        layer = layer or self.settings.encoder
        # Nothing in front of the input could be trained.
        pretrain = self.settings.pretrain_encoder and layer != INPUT
        name = f"{layer} given {n_given}" if pretrain else f"{layer} source"
        if name not in self._encoders:
            make = self._pretrained_encoder if pretrain else self._source_encoder
            self._encoders[name] = make(name, layer, n_given)
        return self._encoders[name]

    def encoded(self, encoder: Encoder, name: str) -> Tensor:
        """Features of a domain, one row per sample."""
        if encoder.layer == INPUT:
            return self._samples[name].flatten(1)
        key = (encoder.name, name)
        if key not in self._encoded:
            features = encode(encoder.front, self.samples(name))
            self._make_room(features)
            self._encoded[key] = features
        return self._encoded[key]

    def plan(self, encoder: Encoder, before: str, after: str, kind: str = "optimal") -> Coupling:
        """The plan between two domains: optimal in the encoder's space, or one of the ablation's."""
        key = (kind, encoder.name, before, after)
        if key not in self._plans:
            if kind == "optimal":
                make = couple if self.settings.plan == "exact" else couple_entropic
                self._plans[key] = make(self.encoded(encoder, before), self.encoded(encoder, after))
            else:
                sizes = len(self._samples[before]), len(self._samples[after])
                seed = derive_seed(self.seed, kind, before, after)
                self._plans[key] = couple_without_cost(kind, *sizes, self.device, seed)
        return self._plans[key]

    def same_class_mass(self, plan: Coupling, before: str, after: str) -> float:
        """Share of the plan between samples of one class: a diagnosis, in percent, that no method sees."""
        same = self.labels(before)[plan.rows] == self.labels(after)[plan.cols]
        return float((plan.mass * same).sum()) * 100

    def carried_labels(self, n_given: int) -> Tensor:
        """The source's labels, carried along the optimal plans: share of each class at each target sample.

        A sample that lost all its mass to a cutoff has shares of 0.
        """
        names, encoder = self.names(n_given), self.encoder(n_given)
        values = torch.nn.functional.one_hot(self.labels(names[0]), self.n_classes).double()
        for before, after in pairwise(names):
            pushed = self.plan(encoder, before, after).push(values)
            values = pushed / pushed.sum(1, keepdim=True).clamp_min(torch.finfo(pushed.dtype).tiny)
        return values

    def recipe(self, epochs: int) -> Recipe:
        chosen = self.settings
        stopping = None if chosen.patience is None else EarlyStopping(chosen.patience)
        return Recipe(epochs, chosen.batch_size, Adam(chosen.lr, chosen.weight_decay), stopping)

    def trainer(self, name: str, module: nn.Module) -> Trainer:
        """A shared trainer for self-training, loaded with a module's weights."""
        recipe = self.recipe(self.settings.self_training_epochs)
        return self.workshop.trainer(name, _copy(module), lambda own: Trainer(own, recipe))

    def paired_trainer(self, name: str, baseline: Baseline, layer: str) -> PairedTrainer:
        """A shared trainer for a baseline, loaded with the source model's weights."""
        recipe = self.recipe(self.settings.self_training_epochs)
        shape, n_classes = self.sample_shape, self.n_classes
        return self.workshop.trainer(
            name,
            _copy(self.source_model),
            lambda own: PairedTrainer(own, layer, baseline, recipe, sample_shape=shape, n_classes=n_classes),
        )

    def _load(self, n_given: int, split: str) -> DomainSequence:
        load = dataset(self.table).load
        return load(n_given, preset=self.preset, seed=self.seed, split=split, n_samples=self.n_samples)

    def _keep(self, domains: Any) -> list[str]:
        names = []
        for domain in domains:
            # Domains of one name are the same in every row of the table.
            if domain.name not in self._samples:
                self._samples[domain.name] = torch.from_numpy(np.ascontiguousarray(domain.samples)).to(self.device)
                self._labels[domain.name] = torch.tensor(domain.labels, device=self.device)
            names.append(domain.name)
        return names

    @property
    def sample_shape(self) -> tuple[int, ...]:
        return tuple(self._samples[self.names(0)[0]].shape[1:])

    @property
    def n_classes(self) -> int:
        return dataset(self.table).n_classes

    def _network(self, pretraining_layer: str = "") -> nn.Module:
        """An untrained network; with a layer, the one that ends there but for a small head that is thrown away."""
        size = self.sample_shape[-1]
        kind = "pretraining" if pretraining_layer else ""
        with seeded(derive_seed(self.seed, "weights", kind), torch.device("cpu")):
            if self.settings.network == "mlp":
                module: nn.Module = mlp(size, self.n_classes)
            elif pretraining_layer:
                n_conv = int(pretraining_layer.removeprefix("conv"))
                module = conv_net(size, self.n_classes, n_conv=n_conv, hidden=(256, 256))
            elif self.settings.network == "reference-cnn":
                module = reference_conv_net(size, self.n_classes)
            elif self.settings.network == "ablation-cnn":
                module = conv_net(size, self.n_classes, n_conv=4, hidden=(128, 128))
            else:
                module = paper_conv_net(size, self.n_classes)
        return module.to(self.device)

    def _trained_on_source(self, module: nn.Module, name: str, samples: Samples) -> nn.Module:
        labels = self.labels(self.names(0)[0])
        recipe = self.recipe(self.settings.source_epochs)
        trainer = self.workshop.trainer(name, module, lambda own: Trainer(own, recipe))
        rows = torch.arange(len(samples), device=self.device)
        trainer.train(samples, rows, labels, seed=derive_seed(self.seed, "fit", name))
        return _copy(trainer.module)

    def _source_encoder(self, name: str, layer: str, n_given: int) -> Encoder:
        if layer == INPUT and len(self.sample_shape) == 1:
            return Encoder(name, layer, nn.Identity(), self.source_model)
        return Encoder(name, layer, *split_for_features(self.source_model, layer, self.sample_shape))

    def _pretrained_encoder(self, name: str, layer: str, n_given: int) -> Encoder:
        """Self-train along all given domains, keep the encoder, train a new head on the source."""
        names = self.names(n_given)
        source = self.samples(names[0])
        small = self._trained_on_source(self._network(layer), f"pretraining source {layer}", source)
        trainer = self.trainer(f"pretraining {layer}", small)
        for number, domain in enumerate(names[1:]):
            seed = derive_seed(self.seed, "pretraining", n_given, number)
            self_train(trainer, self.samples(domain), self.settings, seed)
        front, _ = split_for_features(_copy(trainer.module), layer, self.sample_shape)
        _, head = split_for_features(self._network(), layer, self.sample_shape)
        bare = Encoder(name, layer, front, head)
        head = self._trained_on_source(head, f"head source {layer}", Stored(self.encoded(bare, names[0])))
        return Encoder(name, layer, front, head)

    def _make_room(self, features: Tensor) -> None:
        budget: float = _CPU_BYTES
        if self.device.type == "cuda":
            budget = _MEMORY_SHARE * torch.cuda.get_device_properties(self.device).total_memory
        budget /= self.jobs
        total = sum(value.nbytes for value in self._encoded.values()) + features.nbytes
        for key in list(self._encoded):
            if total <= budget:
                break
            total -= self._encoded.pop(key).nbytes


def _copy(module: nn.Module) -> nn.Module:
    # Gradients of a captured step belong to its graph; a copy needs none.
    for parameter in module.parameters():
        parameter.grad = None
    return deepcopy(module)
