"""Several trained models as one."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from gradapt.learners import Learner, as_learner
from gradapt.learners.averaged import AveragedClassifier, AveragedLearner


@pytest.fixture
def data(rng):
    labels = rng.integers(0, 3, 150)
    return rng.normal(size=(150, 2)) + 2.0 * labels[:, None], labels


def test_logits_are_those_of_the_mean_probabilities(data):
    x, y = data
    members = tuple(as_learner(model, np.arange(3)).fit(x, y) for model in (LogisticRegression(), GaussianNB()))
    both = AveragedLearner(members, (0.25, 0.75))
    assert isinstance(both, Learner)
    expected = 0.25 * softmax(members[0].logits(x), axis=1) + 0.75 * softmax(members[1].logits(x), axis=1)
    np.testing.assert_allclose(softmax(both.logits(x), axis=1), expected, rtol=1e-9)
    np.testing.assert_allclose(both.estimator.predict_proba(x), expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(both.estimator.predict(x), expected.argmax(axis=1))
    assert both.head() is both
    assert both.encode(x) is x
    assert both.estimator.n_features_in_ == 2
    # Training makes one model of it.
    np.testing.assert_array_equal(both.fit(x, y).logits(x), members[0].fit(x, y).logits(x))
    np.testing.assert_array_equal(both.refit(x, y).logits(x), members[0].refit(x, y).logits(x))


def test_a_model_that_never_saw_a_class_says_nothing_about_it(data):
    x, y = data
    some = LogisticRegression().fit(x[y != 1], y[y != 1])
    model = AveragedClassifier.of([some, LogisticRegression().fit(x, y)], [0.5, 0.5], np.arange(3))
    found = model.predict_proba(x)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(found[:, 1], 0.5 * model.estimators_[1].predict_proba(x)[:, 1])


def test_it_is_trained_like_any_classifier(data):
    x, y = data
    model = AveragedClassifier([LogisticRegression(), GaussianNB()]).fit(x, y)
    assert model.score(x, y) > 0.8
    assert model.classes_.tolist() == [0, 1, 2]


def test_networks_answer_together(data):
    torch_classifier = pytest.importorskip("gradapt.learners.torch_classifier").TorchClassifier
    networks = pytest.importorskip("gradapt.networks")
    x, y = data[0].astype(np.float32), data[1]
    small = torch_classifier(lambda shape, k: networks.mlp(shape[0], k, hidden=(8,)), epochs=3, device="cpu")
    members = tuple(clone(small).set_params(random_state=seed).make_learner(np.arange(3)).fit(x, y) for seed in (0, 1))
    both = AveragedLearner(members, (0.5, 0.5))
    expected = np.mean([softmax(member.logits(x), axis=1) for member in members], axis=0)
    np.testing.assert_allclose(softmax(both.logits(x), axis=1), expected, rtol=1e-9)
    np.testing.assert_allclose(both.estimator.predict_proba(x), expected, atol=1e-6)
