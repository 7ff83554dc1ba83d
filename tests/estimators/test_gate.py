"""Every classifier has the gate, and it sees no label of the target."""

import warnings

import numpy as np
import pytest

from driftfit import DirectSelfTrainingClassifier, GOATClassifier, GradualSelfTrainingClassifier
from driftfit.datasets.toy import moving_gaussians
from driftfit.errors import AdaptationWarning
from driftfit.selection import Gate


@pytest.mark.parametrize("method", [DirectSelfTrainingClassifier, GradualSelfTrainingClassifier, GOATClassifier])
def test_every_method_has_the_gate(method):
    sequence = moving_gaussians((0, 0.4, 0.8))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdaptationWarning)
        clf = method(gate=Gate()).fit_path(sequence)
    kept = clf.source_estimator_ if clf.decision_.keep_source else clf.estimator_
    assert (clf.predict(sequence.target.samples) == kept.predict(sequence.target.samples)).all()


def test_the_decision_never_sees_target_labels():
    honest = moving_gaussians((0, 0.4, 0.8))
    X, y, domain = honest.as_samples()
    decisions = []
    for labels in (y, np.where(domain == 0, y, 1 - y)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AdaptationWarning)
            decisions.append(GOATClassifier(gate=Gate()).fit(X, labels, sample_domain=domain).decision_)
    assert decisions[0] == decisions[1]
