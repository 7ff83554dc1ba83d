"""The gate: the old model stays where adaptation is estimated to hurt."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from driftfit import DirectSelfTrainingClassifier, GOATClassifier, GradualSelfTrainingClassifier
from driftfit.datasets.toy import moving_gaussians
from driftfit.errors import AdaptationWarning
from driftfit.methods import Adaptation
from driftfit.selection import Gate


class Spoil:
    """A gradual method that learns the opposite of what its teacher says."""

    def along(self, learner, path, on_step=None):
        samples = path.steps[-1].domain.samples
        return Adaptation(learner.fit(samples, 1 - learner.logits(samples).argmax(axis=1)), (), path.plans)


def test_a_spoilt_model_is_not_kept_and_this_is_said():
    sequence = moving_gaussians((0, 0.4))
    clf = GOATClassifier(LogisticRegression(), method=Spoil(), gate=Gate())
    with pytest.warns(AdaptationWarning, match="the source model is kept"):
        clf.fit_path(sequence)
    assert clf.decision_.keep_source
    assert clf.estimator_ is clf.source_estimator_
    assert clf.score(sequence.target.samples, sequence.target.labels) > 0.9
    ungated = GOATClassifier(LogisticRegression(), method=Spoil()).fit_path(sequence)
    assert ungated.decision_ is None
    assert ungated.score(sequence.target.samples, sequence.target.labels) < 0.1


@pytest.mark.parametrize("method", [DirectSelfTrainingClassifier, GradualSelfTrainingClassifier, GOATClassifier])
def test_every_method_has_the_gate(method):
    sequence = moving_gaussians((0, 0.4, 0.8))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdaptationWarning)
        clf = method(gate=Gate()).fit_path(sequence)
    kept = clf.source_estimator_ if clf.decision_.keep_source else clf.estimator_
    assert (clf.predict(sequence.target.samples) == kept.predict(sequence.target.samples)).all()
    assert 0 <= clf.decision_.before.value <= 1


def test_the_decision_never_sees_target_labels():
    honest = moving_gaussians((0, 0.4, 0.8))
    X, y, domain = honest.as_samples()
    decisions = []
    for labels in (y, np.where(domain == 0, y, 1 - y)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AdaptationWarning)
            decisions.append(GOATClassifier(gate=Gate()).fit(X, labels, sample_domain=domain).decision_)
    assert decisions[0] == decisions[1]
