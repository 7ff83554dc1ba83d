"""`GOATClassifier(n_generated="auto")`."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from driftfit import AdaptedClassifier, GOATClassifier
from driftfit.datasets.toy import moving_gaussians
from driftfit.errors import InputError
from driftfit.selection import ChosenGOAT

PATH = moving_gaussians((0, 1.0, 2.0), n_samples=120)


@parametrize_with_checks([GOATClassifier(LogisticRegression(), n_generated="auto")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_chosen_number_gives_the_same_classifier():
    auto = GOATClassifier(n_generated="auto", random_state=0).fit_path(PATH)
    asked = GOATClassifier(n_generated=auto.n_generated_, random_state=0).fit_path(PATH)
    np.testing.assert_array_equal(auto.estimator_.coef_, asked.estimator_.coef_)
    assert len(auto.path_) == len(asked.path_) == (auto.n_generated_ + 1) * 2
    assert auto.choice_.n_generated == auto.n_generated_
    assert list(auto.choice_.scores) == [0, 1, 2, 3, 4]
    assert asked.choice_ is None


def test_steps_are_those_of_the_chosen_number():
    seen, done = [], []
    auto = AdaptedClassifier(
        method=ChosenGOAT(candidates=(1, 3), on_candidate=lambda number, adaptation: done.append(number)),
        keep_steps=True,
        on_step=lambda record, student: seen.append(record),
    ).fit_path(PATH)
    assert auto.adaptation_.choice.n_generated in (1, 3)
    assert seen == auto.path_
    assert len(auto.step_estimators_) == len(auto.path_) + 1
    np.testing.assert_array_equal(auto.step_estimators_[-1].coef_, auto.estimator_.coef_)
    assert done == [1, 3]


def test_labels_of_the_target_change_nothing():
    X, y, domain = PATH.as_samples()
    first = GOATClassifier(n_generated="auto").fit(X, y, sample_domain=domain)
    poisoned = np.where(domain == 0, y, 1 - y)
    again = GOATClassifier(n_generated="auto").fit(X, poisoned, sample_domain=domain)
    assert again.choice_.scores == first.choice_.scores
    np.testing.assert_array_equal(again.predict_proba(X), first.predict_proba(X))


def test_without_domains_nothing_is_chosen():
    X, y, _ = PATH.as_samples()
    plain = GOATClassifier(n_generated="auto").fit(X, y)
    assert (plain.n_generated_, plain.choice_) == (0, None)


def test_a_failed_fit_leaves_the_old_choice_and_copies_carry_it():
    auto = GOATClassifier(n_generated="auto").fit_path(PATH)
    before = auto.choice_
    with pytest.raises(InputError, match="n_generated"):
        auto.set_params(n_generated=-1).fit_path(PATH)
    assert auto.choice_ is before
    copy = pickle.loads(pickle.dumps(auto))
    assert copy.choice_.scores == before.scores
    assert clone(auto).n_generated == -1


@pytest.mark.parametrize("word", ["many", "", "4"])
def test_other_words_are_refused(word):
    with pytest.raises(InputError, match="or 'auto'"):
        GOATClassifier(n_generated=word).fit_path(PATH)


def test_networks_choose_as_well():
    pytest.importorskip("torch")
    from driftfit import TorchClassifier
    from driftfit.models.networks import conv_net
    from driftfit.models.torch.training import Adam

    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    X = (rng.normal(size=(80, 1, 6, 6)) + 1.5 * y[:, None, None, None]).astype(np.float32)
    network = TorchClassifier(
        lambda shape, n_classes: conv_net(shape[1], n_classes, n_conv=2, width=4, hidden=(8,)),
        encoder="conv2",
        epochs=3,
        batch_size=32,
        optimiser=Adam(3e-3, 0.0),
        device="cpu",
    )
    samples, year = np.concatenate([X, X + np.float32(0.5)]), np.repeat([0, 1], 80)
    auto = AdaptedClassifier(network, method=ChosenGOAT(candidates=(0, 2)), random_state=0)
    auto.fit(samples, np.tile(y, 2), sample_domain=year)
    asked = GOATClassifier(network, n_generated=auto.adaptation_.choice.n_generated, random_state=0)
    asked.fit(samples, np.tile(y, 2), sample_domain=year)
    np.testing.assert_array_equal(auto.predict_proba(X), asked.predict_proba(X))
