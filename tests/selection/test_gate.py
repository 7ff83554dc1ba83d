"""The gate inside the classifiers."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from driftfit import GOATClassifier
from driftfit.datasets.toy import moving_gaussians
from driftfit.errors import AdaptationWarning
from driftfit.selection import Advice, Gate, Keep


def test_the_veto_reaches_the_classifier_and_is_told():
    still = moving_gaussians((0, 0, 0))
    classifier = GOATClassifier(LogisticRegression(), gate=Gate())
    with pytest.warns(UserWarning, match="the check advises: do not adapt; the source model is kept"):
        classifier.fit_path(still)
    assert classifier.decision_.verdict.advice is Advice.DO_NOT_ADAPT
    assert classifier.estimator_ is classifier.source_estimator_


def test_a_good_adaptation_is_kept_without_a_word():
    path = moving_gaussians((0, 0.5, 1.0, 1.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier = GOATClassifier(LogisticRegression(), gate=Gate()).fit_path(path)
    assert not classifier.decision_.keep_source
    plain = GOATClassifier(LogisticRegression()).fit_path(path)
    x = path.target.samples
    np.testing.assert_array_equal(classifier.predict(x), plain.predict(x))
    assert plain.decision_ is None


def test_the_adapted_model_is_kept_where_it_is_asked_for():
    still = moving_gaussians((0, 0, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier = GOATClassifier(LogisticRegression(), gate=Gate(keep=Keep.ADAPTED)).fit_path(still)
    assert classifier.estimator_ is not classifier.source_estimator_


def test_through_fit_with_sample_domain():
    X, y, domain = moving_gaussians((0, 0.5)).as_samples()
    classifier = GOATClassifier(gate=Gate(max_samples=200)).fit(X, y, sample_domain=domain)
    assert classifier.decision_.trusted


def test_a_kept_model_says_that_no_domain_was_generated_where_the_check_asks_for_some():
    jump = moving_gaussians((0, 2.0))
    classifier = GOATClassifier(LogisticRegression(), n_generated=0, gate=Gate(keep=Keep.ADAPTED))
    with pytest.warns(AdaptationWarning, match="none was generated; the adapted model is kept"):
        classifier.fit_path(jump)


def test_the_decision_knows_how_many_domains_were_generated():
    jump = moving_gaussians((0, 2.0))
    for number in (0, 3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AdaptationWarning)
            classifier = GOATClassifier(LogisticRegression(), n_generated=number, gate=Gate()).fit_path(jump)
        assert classifier.decision_.n_generated == number
        assert classifier.decision_.verdict.advice is Advice.GENERATE
        assert classifier.decision_.trusted == (number > 0 and not classifier.decision_.keep_source)
