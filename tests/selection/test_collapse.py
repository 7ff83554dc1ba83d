"""A model that collapsed to one class must not be certified by labels that collapsed with it."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from driftfit.datasets.toy import moving_gaussians
from driftfit.models import as_learner
from driftfit.selection import CarriedAgreement, CarriedOrAgreement, Gate, PathView


@dataclass(frozen=True)
class Draining(CarriedAgreement):
    """Carried labels whose votes lose one class from the second step on, as overlapping classes make them do."""

    def prepare(self, view):
        prepared = super().prepare(view)
        prepared.labels[2:] = [np.zeros_like(labels) for labels in prepared.labels[2:]]
        return prepared


@pytest.fixture
def sequence():
    return moving_gaussians((0, 0.3, 0.6, 0.9))


def test_a_drained_class_is_noticed_where_it_happens(sequence):
    view = PathView.of(sequence, LogisticRegression())
    honest, drained = CarriedAgreement().prepare(view), Draining().prepare(view)
    assert [honest.reliable_at(number) for number in range(4)] == [True] * 4
    assert [drained.reliable_at(number) for number in range(4)] == [True, True, False, False]


def test_estimates_fall_back_behind_the_collapse_alone(sequence):
    view = PathView.of(sequence, LogisticRegression())
    prepared = CarriedOrAgreement(carried=Draining()).prepare(view)
    assert prepared.estimate(view.learner, 1, adapted=False).method == "carried labels"
    behind = prepared.estimate(view.learner, 3, adapted=False)
    assert behind.method != "carried labels"
    assert not behind.reliable


def test_the_gate_keeps_the_source_model_instead_of_a_collapsed_one(sequence):
    source = as_learner(LogisticRegression(), np.array([0, 1])).fit(sequence.source.samples, sequence.source.labels)
    nearly_constant = np.zeros(len(sequence.target), dtype=int)
    nearly_constant[0] = 1
    collapsed = source.fit(sequence.target.samples, nearly_constant)
    assert (collapsed.logits(sequence.target.samples).argmax(axis=1) == 0).mean() > 0.99
    # By the drained labels the collapsed model would be right everywhere.
    fooled = Draining().prepare(PathView.of(sequence, source)).estimate(collapsed, 3, adapted=True)
    assert fooled.value > 0.99
    gate = Gate(CarriedOrAgreement(carried=Draining()))
    assert gate.decide(sequence, source, collapsed).keep_source
