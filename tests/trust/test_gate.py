"""The gate inside the classifier."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from gradapt import GOATClassifier
from gradapt.datasets.toy import moving_gaussians


class Spoiler:
    """A method that leads every model astray: it learns the opposite of what its teacher says."""

    def adapt(self, learner, path, on_step=None):
        from gradapt.methods import Adaptation

        target = path.steps[-1].domain.samples
        return Adaptation(learner.fit(target, 1 - learner.logits(target).argmax(axis=1)), ())


def test_gate_keeps_the_source_model_and_says_so():
    path = moving_gaussians((0, 0.5, 1.0))
    classifier = GOATClassifier(LogisticRegression(), method=Spoiler(), keep_if_worse=True)
    with pytest.warns(UserWarning, match="the source model is kept"):
        classifier.fit_path(path)
    assert classifier.gate_.keep_source
    x = path.target.samples
    np.testing.assert_array_equal(classifier.predict(x), classifier.source_estimator_.predict(x))


def test_gate_lets_a_good_adaptation_through():
    path = moving_gaussians((0, 0.5, 1.0, 1.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier = GOATClassifier(LogisticRegression(), keep_if_worse=True).fit_path(path)
    assert not classifier.gate_.keep_source
    plain = GOATClassifier(LogisticRegression()).fit_path(path)
    x = path.target.samples
    np.testing.assert_array_equal(classifier.predict(x), plain.predict(x))
    assert plain.gate_ is None


def test_gate_through_fit_with_sample_domain():
    path = moving_gaussians((0, 0.5))
    X = np.concatenate([domain.samples for domain in path])
    y = np.concatenate([domain.labels for domain in path])
    classifier = GOATClassifier(keep_if_worse=True).fit(X, y, sample_domain=np.repeat([1, 2], 400))
    assert classifier.gate_.before.method == "carried labels"
