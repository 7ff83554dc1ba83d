"""Mixtures of samples and labels: in the batches of a network, and as weighted rows for any other classifier."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from driftfit.errors import InputError
from driftfit.models import MixingLearner, ScikitLearner
from driftfit.models.torch.classifier import TorchClassifier
from driftfit.models.torch.training import Adam, Recipe, Trainer, loss_of, mixed

CLASSES = np.arange(3)


def blobs(rng, n=90):
    y = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + 4.0 * np.array([[0, 0], [1, 0], [0, 1]])[y], y


def test_soft_and_weighted_labels_are_mixed_by_mass():
    x, y = torch.tensor([[0.0], [1.0], [2.0]]), torch.tensor([0, 1, 1])
    shares, weights = torch.tensor([1.0, 0.5, 0.25]), torch.tensor([1.0, 3.0, 0.0])
    samples, labels, mass = mixed(x, y, weights, shares, 2)
    assert samples.flatten().tolist() == [0.0, 0.5, 1.25]
    assert mass.tolist() == [1.0, 2.0, 2.25]
    assert labels.tolist() == [[1.0, 0.0], [0.25, 0.75], [0.0, 1.0]]
    soft, _, _ = mixed(x, torch.eye(2)[y], None, shares, None)
    assert torch.equal(soft, samples)


def test_the_loss_of_a_mixture_is_the_mixture_of_losses(rng):
    logits = torch.from_numpy(rng.normal(size=(5, 3)))
    y, weights = torch.arange(5) % 3, torch.from_numpy(rng.random(5) + 0.1)
    shares = torch.from_numpy(rng.random(5))
    _, labels, mass = mixed(logits, y, weights, shares, 3)
    loss = torch.nn.functional.cross_entropy
    by_hand = shares * weights * loss(logits, y, reduction="none")
    by_hand += (1 - shares) * weights.roll(1) * loss(logits, y.roll(1), reduction="none")
    assert float(loss_of(logits, labels, mass)) == pytest.approx(float(by_hand.mean()))


def test_networks_learn_from_mixtures_and_forget_the_recipe(rng):
    X, y = blobs(rng)
    learner = TorchClassifier(epochs=40, optimiser=Adam(1e-2, 0.0), random_state=0, device="cpu").make_learner(CLASSES)
    assert isinstance(learner, MixingLearner)
    one, two = learner.fit_mixed(X, y, None, 0.5), learner.fit_mixed(X, y, None, 0.5)
    assert (one.logits(X).argmax(axis=1) == y).mean() > 0.9
    np.testing.assert_array_equal(one.logits(X), two.logits(X))
    assert one.recipe == learner.recipe
    plain = learner.fit(X, y)
    assert not np.allclose(plain.logits(X), one.logits(X))
    # A model of mixtures is less sure of itself.
    assert np.abs(one.logits(X)).mean() < np.abs(plain.logits(X)).mean()


def test_any_classifier_with_weights_learns_from_mixtures(rng):
    X, y = blobs(rng)
    learner = ScikitLearner(LogisticRegression(), CLASSES)
    mixture = learner.fit_mixed(X, y, None, 0.5)
    assert (mixture.logits(X).argmax(axis=1) == y).mean() > 0.9
    sparse = learner.fit_mixed(sp.csr_array(X), y, None, 0.5)
    np.testing.assert_allclose(sparse.estimator.coef_, mixture.estimator.coef_, atol=1e-3)
    with pytest.raises(InputError, match="KNeighborsClassifier does not take"):
        ScikitLearner(KNeighborsClassifier(), CLASSES).fit_mixed(X, y, None, 0.5)


def test_rows_of_mixtures_keep_the_mass_of_the_classes(rng):
    class Remembers(DummyClassifier):
        def fit(self, X, y, sample_weight=None):
            Remembers.seen = np.asarray(X), np.asarray(y), np.asarray(sample_weight)
            return super().fit(X, y, sample_weight)

    X, y = blobs(rng, 3000)
    weights = np.where(y == 0, 2.0, 1.0)
    ScikitLearner(Remembers(), CLASSES).fit_mixed(X, y, weights, 0.5)
    samples, labels, mass = Remembers.seen
    shares = np.bincount(labels, mass) / mass.sum()
    np.testing.assert_allclose(shares, [0.5, 0.25, 0.25], atol=0.02)
    assert len(np.unique(samples, axis=0)) > 4_000  # mixtures, not the samples themselves
    assert samples.min() >= X.min()


def test_samples_without_weight_are_in_no_label(rng):
    X, y = blobs(rng, 60)
    learner = ScikitLearner(LogisticRegression(), CLASSES).fit_mixed(X, y, (y != 2).astype(float), 0.5)
    assert learner.logits(X).argmax(axis=1).max() == 1


def test_wrong_options_are_refused(rng):
    with pytest.raises(InputError, match="mixup"):
        Recipe(mixup=0.0)
    with pytest.raises(InputError, match="n_classes"):
        Trainer(torch.nn.Linear(2, 2), Recipe(mixup=0.5))
    pd = pytest.importorskip("pandas")
    X, y = blobs(rng, 30)
    with pytest.raises(InputError, match="data frame"):
        ScikitLearner(LogisticRegression(), CLASSES).fit_mixed(pd.DataFrame(X), y, None, 0.5)
