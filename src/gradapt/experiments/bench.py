"""`Bench`: what the cells of one table and seed share, made once and kept on the device."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gradapt.datasets import dataset
from gradapt.domains import DomainSequence
from gradapt.errors import InputError
from gradapt.experiments.coupling import Coupling, couple
from gradapt.experiments.presets import Settings, settings
from gradapt.experiments.steps import Judge, load_weights, self_train
from gradapt.learners.torch_learner import split_for_features
from gradapt.learners.torch_samples import Samples, Stored, encode
from gradapt.learners.torch_training import Adam, EarlyStopping, Recipe, Trainer, seeded
from gradapt.networks import INPUT, conv_net, mlp, paper_conv_net, reference_conv_net
from gradapt.seeds import derive_seed

__all__ = ["Bench", "Encoder", "Workshop"]

# Share of the device's memory that encodings may fill before old ones are dropped.
_MEMORY_SHARE = 0.4
_CPU_BYTES = 4 * 2**30


@dataclass(eq=False)
class Workshop:
    """Trainers by name: a captured training step serves every seed and cell of a table."""

    trainers: dict[str, Trainer] = field(default_factory=dict)

    def trainer(self, name: str, module: nn.Module, recipe: Recipe) -> Trainer:
        """The trainer of a name, its module loaded with the weights of ``module``."""
        if name not in self.trainers:
            self.trainers[name] = Trainer(module, recipe)
        trainer = self.trainers[name]
        if trainer.module is not module:
            load_weights(trainer.module, module.state_dict())
        return trainer


@dataclass(frozen=True, eq=False)
class Encoder:
    """A frozen encoder and the head to start from, cut out of one trained network."""

    name: str
    front: nn.Module
    head: nn.Module


@dataclass(eq=False)
class Bench:
    """Data, source model, encodings and plans of one table, preset and seed.

    Parameters
    ----------
    table, preset : str
    seed : int
    device : torch.device
    n_samples : int, optional
        At most this many samples in each domain.
    workshop : Workshop
    settings : Settings, optional
        Other than the preset's, for trials.
    """

    table: str
    preset: str
    seed: int
    device: torch.device
    n_samples: int | None = None
    workshop: Workshop = field(default_factory=Workshop)
    own_settings: Settings | None = None
    _samples: dict[str, Tensor] = field(default_factory=dict)
    _labels: dict[str, Tensor] = field(default_factory=dict)
    _encoded: dict[tuple[str, str], Tensor] = field(default_factory=dict)
    _plans: dict[tuple[str, str, str], Coupling] = field(default_factory=dict)
    _encoders: dict[str, Encoder] = field(default_factory=dict)
    _names: dict[int, list[str]] = field(default_factory=dict)

    @cached_property
    def settings(self) -> Settings:
        return self.own_settings or settings(self.table, self.preset)

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
        source = self.names(0)[0]
        shape = self._samples[source].shape
        module = self._trained_on_source(self._network(), "source", self.samples(source))
        module.sample_shape = tuple(shape[1:])  # type: ignore[assignment]
        return module

    def encoder(self, n_given: int) -> Encoder:
        """The frozen encoder for so many given domains, with a head trained on the source."""
        name = f"given {n_given}" if self.settings.pretrain_encoder else "source"
        if name not in self._encoders:
            make = self._pretrained_encoder if self.settings.pretrain_encoder else self._source_encoder
            self._encoders[name] = make(name, n_given)
        return self._encoders[name]

    def encoded(self, encoder: Encoder, name: str) -> Tensor:
        """Features of a domain, one row per sample."""
        if self.settings.encoder == INPUT:
            return self._samples[name]
        key = (encoder.name, name)
        if key not in self._encoded:
            features = encode(encoder.front, self.samples(name))
            self._make_room(features)
            self._encoded[key] = features
        return self._encoded[key]

    def plan(self, encoder: Encoder, before: str, after: str) -> Coupling:
        """The optimal plan between two domains in the encoder's space."""
        key = (encoder.name, before, after)
        if key not in self._plans:
            self._plans[key] = couple(self.encoded(encoder, before), self.encoded(encoder, after))
        return self._plans[key]

    def same_class_mass(self, plan: Coupling, before: str, after: str) -> float:
        """Share of the plan between samples of one class: a diagnosis, in percent, that no method sees."""
        same = self.labels(before)[plan.rows] == self.labels(after)[plan.cols]
        return float((plan.mass * same).sum()) * 100

    def recipe(self, epochs: int) -> Recipe:
        chosen = self.settings
        stopping = None if chosen.patience is None else EarlyStopping(chosen.patience)
        return Recipe(epochs, chosen.batch_size, Adam(chosen.lr, chosen.weight_decay), stopping)

    def trainer(self, name: str, module: nn.Module) -> Trainer:
        """A shared trainer for self-training, loaded with a module's weights."""
        return self.workshop.trainer(
            f"{self.table} {self.preset} {name}", _copy(module), self.recipe(self.settings.self_training_epochs)
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

    def _network(self, kind: str | None = None) -> nn.Module:
        """An untrained network; ``kind`` "pretraining" has the small head that is thrown away."""
        shape = tuple(self._samples[self.names(0)[0]].shape[1:])
        n_classes = dataset(self.table).n_classes
        with seeded(derive_seed(self.seed, "weights", kind or ""), torch.device("cpu")):
            if self.settings.network == "mlp":
                module: nn.Module = mlp(shape[0], n_classes)
            elif kind == "pretraining":
                n_conv = int(self.settings.encoder.removeprefix("conv"))
                module = conv_net(shape[1], n_classes, n_conv=n_conv, hidden=(256, 256))
            elif self.settings.network == "reference-cnn":
                module = reference_conv_net(shape[1], n_classes)
            else:
                module = paper_conv_net(shape[1], n_classes)
        return module.to(self.device)

    def _trained_on_source(self, module: nn.Module, name: str, samples: Samples) -> nn.Module:
        labels = self.labels(self.names(0)[0])
        trainer = self.workshop.trainer(
            f"{self.table} {self.preset} {name}", module, self.recipe(self.settings.source_epochs)
        )
        rows = torch.arange(len(samples), device=self.device)
        trainer.train(samples, rows, labels, seed=derive_seed(self.seed, "fit", name))
        return _copy(trainer.module)

    def _source_encoder(self, name: str, n_given: int) -> Encoder:
        shape = tuple(self._samples[self.names(0)[0]].shape[1:])
        if self.settings.encoder == INPUT:
            return Encoder(name, nn.Identity(), self.source_model)
        return Encoder(name, *split_for_features(self.source_model, self.settings.encoder, shape))

    def _pretrained_encoder(self, name: str, n_given: int) -> Encoder:
        """Self-train along all given domains, keep the encoder, train a new head on the source."""
        names = self.names(n_given)
        small = self._trained_on_source(self._network("pretraining"), "pretraining source", self.samples(names[0]))
        trainer = self.trainer("pretraining", small)
        for number, domain in enumerate(names[1:]):
            seed = derive_seed(self.seed, "pretraining", n_given, number)
            self_train(trainer, self.samples(domain), self.settings, seed)
        shape = tuple(self._samples[names[0]].shape[1:])
        front, _ = split_for_features(_copy(trainer.module), self.settings.encoder, shape)
        _, head = split_for_features(self._network(), self.settings.encoder, shape)
        bare = Encoder(name, front, head)
        head = self._trained_on_source(head, "head source", Stored(self.encoded(bare, names[0])))
        return Encoder(name, front, head)

    def _make_room(self, features: Tensor) -> None:
        budget: float = _CPU_BYTES
        if self.device.type == "cuda":
            budget = _MEMORY_SHARE * torch.cuda.get_device_properties(self.device).total_memory
        total = sum(value.nbytes for value in self._encoded.values()) + features.nbytes
        for key in list(self._encoded):
            if total <= budget:
                break
            total -= self._encoded.pop(key).nbytes


def _copy(module: nn.Module) -> nn.Module:
    from copy import deepcopy

    # Gradients of a captured step belong to its graph; a copy needs none.
    for parameter in module.parameters():
        parameter.grad = None
    return deepcopy(module)
