"""Candidates side by side: the same choice, the same models, the same words as one after the other."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from driftfit.datasets.toy import moving_gaussians
from driftfit.errors import InputError
from driftfit.methods import GOAT, CarriedLabels, GivenProportions, GradualSelfTraining, ProportionCorrection
from driftfit.models import as_learner
from driftfit.parallel import Processes, Ray, Serial
from driftfit.selection import ByEvidence, Chosen

PATH = moving_gaussians((0, 0.8, 1.5), n_samples=120)
CANDIDATES = {
    "GOAT": GOAT(2),
    "cannot": ProportionCorrection(GivenProportions((0.2, 0.3, 0.5))),
    "gradual": GradualSelfTraining(),
    "carried": CarriedLabels(),
}


def fitted():
    return as_learner(LogisticRegression(), np.array([0, 1])).fit(PATH.source.samples, PATH.source.labels)


def adapted(method, engine, on_step=None):
    seen = []
    learner = fitted()
    chosen = method(on_candidate=lambda name, adaptation: seen.append(name), engine=engine)
    return learner, chosen.adapt(learner, PATH, on_step), seen


def chosen(**options):
    return Chosen(CANDIDATES, cautious=False, **options)


def same(engine, method):
    steps = {name: [] for name in ("here", "there")}
    _, here, seen = adapted(method, Serial(), lambda record, student: steps["here"].append(record))
    learner, there, also_seen = adapted(method, engine, lambda record, student: steps["there"].append(record))
    assert seen == also_seen
    assert here.choice.scores == there.choice.scores
    assert here.choice.sentence == there.choice.sentence
    assert here.choice.failed == there.choice.failed
    assert (here.learner.logits(PATH.target.samples) == there.learner.logits(PATH.target.samples)).all()
    assert len(steps["here"]) == len(steps["there"])
    return learner, there


def test_the_same_on_processes():
    _, there = same(Processes(2), chosen)
    assert there.choice.failed["cannot"]
    assert list(there.choice.scores) == ["source", "GOAT", "gradual", "carried"]


def test_the_same_by_evidence_on_processes():
    _, found = same(Processes(2), lambda **own: ByEvidence(("structure", "path"), of_one_kind=True, **own))
    assert len(found.choice.scores) > 1


@pytest.mark.slow
def test_the_same_on_ray():
    same(Ray(1), chosen)


def test_an_unchanged_model_is_the_source_model_itself():
    learner = fitted()
    found = Chosen({"GOAT": GOAT(1)}, cautious=True, engine=Processes(1)).adapt(learner, moving_gaussians((0, 0.01)))
    assert found.choice.best == "source"
    assert found.learner is learner


def test_a_reference_that_fails_is_refused_as_ever():
    from driftfit.methods import SourceOnly

    class Refusing(SourceOnly):
        def adapt(self, learner, sequence, on_step=None, workspace=None):
            raise InputError("not with me")

    with pytest.raises(InputError, match="not with me"):
        Chosen({"mine": Refusing(), "GOAT": GOAT(1)}).adapt(fitted(), PATH)
