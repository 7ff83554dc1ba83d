"""A simpler classifier teaches the learner in the target."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.methods import Method, SourceOnly, Taught
from driftfit.models import as_learner
from driftfit.selection import Candidate, Chosen, standard_candidates


def stretched(seed=0, n=400, labels=True):
    """Two classes apart in one column of five; in the target that column is shifted and stretched."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    x = rng.normal(size=(n, 5))
    x[:, 0] += 4.0 * y
    moved = x * [3.0, 1.0, 1.0, 1.0, 1.0] + [10.0, 0.0, 0.0, 0.0, 0.0]
    return DomainSequence([Domain(x, labels=y), Domain(moved, labels=y if labels else None)])


def forest_of(path):
    learner = as_learner(RandomForestClassifier(30, random_state=0), np.array([0, 1]))
    return learner.fit(path.source.samples, path.source.labels)


def accuracy(learner, domain):
    return float((learner.logits(domain.samples).argmax(axis=1) == domain.labels).mean())


def test_a_linear_teacher_in_own_scale_brings_a_forest_over():
    path = stretched()
    learner = forest_of(path)
    student = Taught().adapt(learner, path).learner
    assert accuracy(learner, path.target) < 0.6
    assert accuracy(student, path.target) > 0.9
    assert accuracy(student, path.source) > 0.95
    assert isinstance(student.estimator, RandomForestClassifier)


def test_labels_of_the_target_change_nothing():
    learner = forest_of(stretched())
    told, untold = (Taught().adapt(learner, stretched(labels=labels)).learner for labels in (True, False))
    target = stretched().target.samples
    np.testing.assert_array_equal(told.logits(target), untold.logits(target))


def test_teacher_and_method_of_ones_own():
    path = stretched()
    learner = forest_of(path)
    # Without its own scale the teacher is lost, and so is who learns from it.
    student = Taught(LogisticRegression(), SourceOnly()).adapt(learner, stretched(1)).learner
    assert accuracy(student, path.target) < 0.8


def test_weights_reach_the_teacher():
    path = stretched()
    x, y = path.source.samples, path.source.labels
    noisy = np.concatenate([x, x]), np.concatenate([y, 1 - y])
    heavy = np.concatenate([np.ones(len(y)), np.full(len(y), 1e-9)])
    weighed = DomainSequence([Domain(noisy[0], noisy[1], heavy), Domain(path.target.samples)])
    student = Taught(LogisticRegression()).adapt(forest_of(path), weighed).learner
    assert accuracy(student, path.target) > 0.9


def test_a_teacher_that_sees_one_class_is_refused():
    path = stretched()
    far = DomainSequence([path.source, Domain(path.target.samples[:, :] + 1e3)])
    with pytest.raises(InputError, match="single class"):
        Taught(method=SourceOnly()).adapt(forest_of(path), far)


def test_tensors_of_a_network():
    torch = pytest.importorskip("torch")
    from driftfit import TorchClassifier

    path = stretched()
    samples = path.each(lambda domain: domain.with_samples(torch.as_tensor(domain.samples, dtype=torch.float32)))
    learner = TorchClassifier(epochs=50, batch_size=16, random_state=0, device="cpu").make_learner(np.array([0, 1]))
    learner = learner.fit(samples.source.samples, path.source.labels)
    student = Taught().adapt(learner, samples).learner
    assert accuracy(learner, samples.target) < 0.6
    assert accuracy(student, samples.target) > 0.85


@dataclass(frozen=True)
class _Recorder(Method):
    seen: list

    def adapt(self, learner, sequence, on_step=None, workspace=None):
        self.seen.append(sequence)
        return SourceOnly().adapt(learner, sequence)


@pytest.mark.parametrize(("shape", "runs"), [((40, 6), 1), ((40, 2, 3), 0)])
def test_a_candidate_for_tables_is_left_out_for_images(shape, runs):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=shape), np.arange(40) % 2
    path = DomainSequence([Domain(x, y), Domain(x + 0.1)])

    class Flat(LogisticRegression):
        def fit(self, X, y):
            return super().fit(np.reshape(X, (len(X), -1)), y)

        def predict_proba(self, X):
            return super().predict_proba(np.reshape(X, (len(X), -1)))

    learner = as_learner(Flat(), np.array([0, 1])).fit(x, y)
    seen = []
    choice = Chosen({"table": Candidate(_Recorder(seen), for_tables=True)}).adapt(learner, path).choice
    assert len(seen) == runs
    assert ("table" in choice.scores) is bool(runs)
    assert "table" not in choice.failed
    assert choice.sentence.startswith(f"source is chosen of {1 + runs} candidates")


def test_it_is_among_the_standard_candidates():
    assert standard_candidates()["taught by a linear model"].for_tables
