"""The baselines as scikit-learn classifiers."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import driftfit
from driftfit import CoViClassifier, DANNClassifier, DeepCoralClassifier, DeepJDOTClassifier, TorchClassifier
from driftfit.datasets.toy import moving_gaussians
from driftfit.errors import AdaptationWarning, InputError
from driftfit.methods.baselines import DANN, BaselineMethod, CoVi, DeepCoral, DeepJDOT
from driftfit.models.networks import conv_net, mlp
from driftfit.selection import Gate

BASELINES = [DANNClassifier, DeepCoralClassifier, DeepJDOTClassifier, CoViClassifier]


def quick(**options):
    return TorchClassifier(epochs=3, device="cpu", **options)


def table(shifts=(0, 1, 2), n=40):
    return moving_gaussians(shifts, n_samples=n).as_samples()


@pytest.mark.parametrize("baseline", BASELINES)
class TestAll:
    def test_fitted_attributes(self, baseline):
        X, y, domain = table()
        seen = []
        clf = baseline(quick(), keep_steps=True, on_step=lambda r, m: seen.append(r), random_state=0)
        assert clf.fit(X, y, sample_domain=domain) is clf
        n_trainings = 2 if baseline is CoViClassifier else 1
        assert len(clf.path_) == len(seen) == n_trainings
        assert len(clf.step_estimators_) == n_trainings + 1
        assert isinstance(clf.estimator_, TorchClassifier)
        assert clf.plans_ == []
        assert clf.decision_ is None
        assert clf.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(len(X)))
        assert not np.allclose(clf.predict_proba(X), clf.source_estimator_.predict_proba(X))

    def test_a_seed_decides_everything(self, baseline):
        X, y, domain = table()
        first, second, other = (baseline(quick(), random_state=s).fit(X, y, sample_domain=domain) for s in (0, 0, 1))
        assert np.array_equal(first.decision_function(X), second.decision_function(X))
        assert not np.array_equal(first.decision_function(X), other.decision_function(X))

    def test_labels_of_the_target_are_masked(self, baseline):
        X, y, domain = table()
        hidden = np.where(domain == 0, y, None)
        first, second = (
            baseline(quick(), random_state=0).fit(X, labels, sample_domain=domain) for labels in (y, hidden)
        )
        assert np.array_equal(first.decision_function(X), second.decision_function(X))

    def test_frames_and_words_as_labels(self, baseline):
        X, y, domain = table()
        frame = pd.DataFrame(X, columns=["a", "b"])
        clf = baseline(quick(), random_state=0).fit(frame, np.where(y == 1, "yes", "no"), sample_domain=domain)
        assert set(clf.predict(frame)) <= {"yes", "no"}
        assert clf.feature_names_in_.tolist() == ["a", "b"]

    def test_images(self, baseline):
        rng = np.random.default_rng(0)
        X, y, domain = rng.normal(size=(40, 1, 5, 5)), np.arange(40) % 2, np.repeat([0, 1], 20)
        module = conv_net(5, 2, n_conv=1, hidden=(4,))
        clf = baseline(quick(module=module, encoder="conv1"), random_state=0).fit(X, y, sample_domain=domain)
        assert clf.predict(X).shape == (40,)

    def test_other_estimators_are_refused(self, baseline):
        X, y, domain = table()
        for estimator in (LogisticRegression(), make_pipeline(StandardScaler(), quick())):
            with pytest.raises(InputError, match="needs a TorchClassifier"):
                baseline(estimator).fit(X, y, sample_domain=domain)
            with pytest.raises(InputError, match="needs a TorchClassifier"):
                baseline(estimator).fit(X, y)

    def test_without_domains_nothing_is_adapted(self, baseline):
        X, y, _ = table((0, 0))
        clf = baseline(quick(random_state=0)).fit(X, y.astype(int))
        assert clf.path_ == []
        assert np.array_equal(
            clf.decision_function(X), quick(random_state=0).fit(X, y.astype(int)).decision_function(X)
        )

    def test_epochs_are_those_of_the_adaptation(self, baseline):
        X, y, domain = table()
        method = baseline()._method()
        short, same, long = (
            baseline(quick(), method=replace(method, epochs=epochs), random_state=0)
            .fit(X, y, sample_domain=domain)
            .decision_function(X)
            for epochs in (None, 3, 6)
        )
        assert np.array_equal(short, same)
        assert not np.array_equal(short, long)
        with pytest.raises(InputError, match="epochs"):
            replace(method, epochs=0)

    def test_weights_are_not_dropped_in_silence(self, baseline):
        X, y, domain = table()
        with pytest.raises(InputError, match="no sample weights"):
            baseline(quick()).fit(X, y, sample_domain=domain, sample_weight=np.arange(1, len(X) + 1))

    def test_parameters_clone(self, baseline):
        clf = baseline(quick(), random_state=3)
        assert clone(clf).get_params(deep=False).keys() == clf.get_params(deep=False).keys()


@pytest.mark.parametrize("baseline", BASELINES)
def test_defaults_are_those_of_the_baselines(baseline):
    kind = {DANNClassifier: DANN, DeepCoralClassifier: DeepCoral, DeepJDOTClassifier: DeepJDOT, CoViClassifier: CoVi}
    assert baseline()._method().baseline == kind[baseline]()
    assert baseline()._method().sequential == (baseline is CoViClassifier)


def test_given_domains_join_the_unlabelled_side():
    X, y, domain = table()
    clf = DANNClassifier(quick(), method=BaselineMethod(DANN(), with_given=True), random_state=0).fit(
        X, y, sample_domain=domain
    )
    assert [(record.name, record.n_samples) for record in clf.path_] == [("1+2", 80)]


def test_the_layer_is_the_encoder_of_the_estimator_unless_named():
    X, y, domain = table()
    module = mlp(2, 2, hidden=(8, 8), dropout=0.0, batch_norm=False).double()
    models = [
        DANNClassifier(
            quick(module=module, encoder=encoder), method=BaselineMethod(DANN(), layer=layer), random_state=0
        )
        .fit(X, y, sample_domain=domain)
        .decision_function(X)
        for encoder, layer in (("fc1", None), ("input", "fc1"), ("input", None), ("input", "fc2"))
    ]
    assert np.array_equal(models[0], models[1])
    # By default what is aligned is what the last layer sees.
    assert np.array_equal(models[2], models[3])
    assert not np.array_equal(models[0], models[2])


def test_the_decision_keeps_a_better_source_model():
    # Nothing moved, but a huge reversed gradient ruins the features.
    X, y, domain = moving_gaussians((0, 0), n_samples=100).as_samples()
    source = TorchClassifier(epochs=20, device="cpu", random_state=0)
    clf = DANNClassifier(source, method=BaselineMethod(DANN(strength=100.0), epochs=40), gate=Gate())
    with pytest.warns(AdaptationWarning):
        clf.fit(X, y, sample_domain=domain)
    assert clf.decision_.keep_source
    assert np.array_equal(clf.predict(X), clf.source_estimator_.predict(X))


WITHOUT_TORCH = """
import driftfit, driftfit.methods, driftfit.estimators
driftfit.GOATClassifier().fit([[0.0], [1.0], [0.2], [1.2]], [0, 1, 0, 1], [0, 0, 1, 1])
for home in (driftfit, driftfit.estimators):
    try:
        home.DANNClassifier
    except ImportError as error:
        print(error)
"""


def test_the_package_needs_no_torch_until_a_baseline_is_asked_for(run_without):
    lines = run_without(["torch"], WITHOUT_TORCH).stdout.splitlines()
    assert lines == ["DANNClassifier needs torch, which is not installed: pip install 'driftfit[torch]'"] * 2
    assert {baseline.__name__ for baseline in BASELINES} <= set(dir(driftfit))
