"""What a fitted classifier keeps, asks for and refuses."""

import pickle

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from driftfit import AdaptedClassifier, DomainSequence, GOATClassifier, GradualSelfTrainingClassifier
from driftfit.datasets.toy import moving_gaussians
from driftfit.errors import AdaptationWarning, InputError
from driftfit.methods import GOAT, GradualSelfTraining, SourceOnly
from driftfit.selection import Gate

PATH = moving_gaussians((0, 0.5, 1.0), n_samples=400, n_features=20)


def test_a_saved_model_holds_no_rows_of_the_user():
    clf = GOATClassifier(n_generated=2).fit_path(PATH)
    data = sum(domain.samples.nbytes for domain in PATH)
    assert clf.adaptation_.path is None
    assert len(pickle.dumps(clf)) < data / 4


def test_a_saved_network_holds_neither_rows_nor_trainers():
    torch_classifier = pytest.importorskip("driftfit.models.torch.classifier")
    network = torch_classifier.TorchClassifier(epochs=1, device="cpu", random_state=0)
    clf = GOATClassifier(network, n_generated=1).fit_path(PATH)
    assert len(pickle.dumps(clf)) < 6 * len(pickle.dumps(clf.estimator_)) + 100_000
    again = pickle.loads(pickle.dumps(clf))
    assert np.array_equal(again.predict_proba(PATH.target.samples), clf.predict_proba(PATH.target.samples))


def test_the_number_of_domains_is_that_of_the_fit():
    clf = GOATClassifier(n_generated=2).fit_path(PATH)
    assert clf.n_generated_ == 2
    clf.set_params(n_generated="auto")
    assert clf.n_generated_ == 2


@pytest.mark.parametrize("classifier", [GOATClassifier, GradualSelfTrainingClassifier])
def test_missing_values_go_through_an_encoder_that_imputes(classifier):
    X, y, domain = PATH.as_samples()
    X = X.copy()
    X[::7, 1] = np.nan
    model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression())
    clf = classifier(model).fit(X, y, sample_domain=domain)
    assert clf.predict(X).shape == (len(X),)
    with pytest.raises(InputError, match="SimpleImputer"):
        classifier(LogisticRegression()).fit(X, y, sample_domain=domain)


def test_what_a_gate_cannot_check_is_refused_before_the_work():
    target = PATH.target.take(np.arange(8))
    seen = []
    clf = GOATClassifier(gate=Gate(), on_step=lambda record, learner: seen.append(record))
    with pytest.raises(InputError, match="8 samples"):
        clf.fit_path(DomainSequence([PATH.source, target]))
    assert seen == []


def test_a_gate_says_the_same_of_nothing_as_the_command_line():
    with pytest.warns(AdaptationWarning, match="no adaptation was asked for"):
        clf = AdaptedClassifier(method=SourceOnly(), gate=Gate()).fit_path(PATH)
    assert clf.decision_.keep_source


def test_questions_do_not_advance_a_generator():
    rng = np.random.RandomState(0)
    clf = GOATClassifier(LogisticRegression(), random_state=rng)
    assert hasattr(clf, "predict_proba")
    assert rng.randint(2**31) == np.random.RandomState(0).randint(2**31)


def test_tensors_reach_scikit_learn_as_arrays():
    torch = pytest.importorskip("torch")
    tensors = DomainSequence([d.with_samples(torch.from_numpy(d.samples)) for d in PATH])
    plain, through = (GOATClassifier(n_generated=1).fit_path(path) for path in (PATH, tensors))
    assert np.allclose(plain.estimator_.coef_, through.estimator_.coef_)


def test_options_that_exclude_each_other_are_refused():
    with pytest.raises(InputError, match="freeze_encoder"):
        GOAT(1, GradualSelfTraining(freeze_encoder=True), feature_space=False)


def test_a_pipeline_keeps_its_options():
    model = make_pipeline(StandardScaler(), LogisticRegression(), verbose=True)
    assert GOATClassifier(model, n_generated=1).fit_path(PATH).estimator_.verbose
