"""skada's own tests of its gradual estimator, run against ours.

The adapter gives `GOATClassifier` skada's constructor and its sign-coded domains; the tests are
the ones that come with skada, imported and not copied.
"""

import importlib
from typing import ClassVar

import numpy as np
import pytest

from driftfit import GOATClassifier

# Not installed beside the lowest versions: it needs later ones itself.
DAEstimator = pytest.importorskip("skada.base").DAEstimator


class SkadaGradual(DAEstimator):
    """skada's `GradualEstimator`, by `GOATClassifier`."""

    __metadata_request__fit: ClassVar = {"sample_domain": True}
    __metadata_request__predict: ClassVar = {"sample_domain": False, "allow_source": False}
    __metadata_request__predict_proba: ClassVar = {"sample_domain": False, "allow_source": False}
    __metadata_request__score: ClassVar = {"sample_domain": False, "allow_source": False}

    def __init__(
        self, alpha=1, n_steps=10, base_estimator=None, advanced_ot_plan_sampling=False, save_estimators=False
    ):
        self.alpha = alpha
        self.n_steps = n_steps
        self.base_estimator = base_estimator
        self.advanced_ot_plan_sampling = advanced_ot_plan_sampling
        self.save_estimators = save_estimators

    def _goat(self):
        if not hasattr(self, "goat_"):
            return GOATClassifier()  # unfitted: it raises what it should
        return self.goat_

    def fit(self, X, y=None, *, sample_domain=None):
        # skada marks sources with numbers >= 0 and targets with negative ones.
        goat = GOATClassifier(self.base_estimator, n_generated=self.n_steps - 1, keep_steps=self.save_estimators)
        self.goat_ = goat.fit(X, y, sample_domain=np.where(sample_domain >= 0, 0, 1))
        return self

    def predict(self, X, **ignored):
        return self._goat().predict(X)

    def predict_proba(self, X, **ignored):
        return self._goat().predict_proba(X)

    def predict_log_proba(self, X, **ignored):
        return self._goat().predict_log_proba(X)

    def score(self, X, y):
        return self._goat().score(X, y)

    def get_intermediate_estimators(self):
        return self._goat().step_estimators_


suite = importlib.import_module("skada.tests.test_gradual_da")
CASES = [mark.args[1] for mark in suite.test_gradual_estimator.pytestmark if mark.name == "parametrize"]


@pytest.mark.filterwarnings("ignore")  # skada's pipeline helpers warn about their own deprecations
@pytest.mark.parametrize(("label", "n", "m", "advanced"), CASES[0])
def test_skadas_own_test(monkeypatch, label, n, m, advanced):
    monkeypatch.setattr(suite, "GradualEstimator", SkadaGradual)
    np.random.seed(0)  # noqa: NPY002  skada's conftest seeds like this
    suite.test_gradual_estimator(label, n, m, advanced)


def test_the_suite_was_found():
    assert len(CASES) == 1
    assert len(CASES[0]) >= 6
