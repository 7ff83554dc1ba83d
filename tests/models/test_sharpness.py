"""Sharpness-aware steps: the gradient by hand, nothing changed at radius 0, one look at the running statistics."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from driftfit.errors import InputError
from driftfit.models.torch.classifier import TorchClassifier
from driftfit.models.torch.files import load_classifier, save_classifier
from driftfit.models.torch.steps import Steps
from driftfit.models.torch.training import Adam, Recipe


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.5)


def steps_of(module, rho):
    return Steps(module, lambda x, y: cross_entropy(module(x), y), sgd, rho=rho)


def gradient(weights, bias, x, y):
    """Of the mean cross-entropy of a linear classifier, by hand."""
    scores = x @ weights.T + bias
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    excess = (shares - np.eye(len(bias))[y]) / len(x)
    return excess.T @ x, excess.sum(axis=0)


@pytest.mark.parametrize("rho", [0.05, 2.0])
def test_the_update_follows_the_gradient_at_the_moved_weights(rng, rho):
    x, y = rng.normal(size=(7, 3)), np.arange(7) % 4
    module = nn.Linear(3, 4).double()
    weights, bias = (p.detach().numpy().copy() for p in module.parameters())
    g, h = gradient(weights, bias, x, y)
    length = np.sqrt((g**2).sum() + (h**2).sum())
    g, h = gradient(weights + rho * g / length, bias + rho * h / length, x, y)
    steps_of(module, rho).take(torch.from_numpy(x), torch.from_numpy(y))
    np.testing.assert_allclose(module.weight.detach().numpy(), weights - 0.5 * g, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(module.bias.detach().numpy(), bias - 0.5 * h, rtol=1e-9, atol=1e-12)


def test_weights_come_back_to_the_last_bit(rng):
    module = nn.Linear(3, 4)
    before = deepcopy(module.state_dict())
    steps = Steps(module, lambda x: module(x).square().sum(), lambda p: torch.optim.SGD(p, lr=0.0), rho=0.3)
    steps.take(torch.from_numpy(rng.normal(size=(5, 3)).astype(np.float32)))
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


def test_a_gradient_of_zero_moves_nothing():
    module = nn.Linear(2, 2)
    before = deepcopy(module.state_dict())
    Steps(module, lambda x: 0.0 * module(x).sum(), sgd, rho=0.3).take(torch.ones(3, 2))
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


def test_running_statistics_see_each_batch_once():
    x, y = torch.randn(8, 3), torch.arange(8) % 2
    plain = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2))
    sharp = deepcopy(plain)
    steps_of(plain, 0.0).take(x, y)
    steps_of(sharp, 0.5).take(x, y)
    assert torch.equal(plain[0].running_mean, sharp[0].running_mean)
    assert torch.equal(plain[0].running_var, sharp[0].running_var)
    assert sharp[0].momentum == plain[0].momentum
    assert not torch.equal(plain[1].weight, sharp[1].weight)


def classifier(**options):
    return TorchClassifier(epochs=3, optimiser=Adam(1e-2, 0.0), random_state=0, device="cpu", **options)


def test_radius_zero_is_plain_training_and_a_radius_is_not(rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    plain, none, some = (classifier(**o).fit(X, y).predict_proba(X) for o in ({}, {"rho": 0.0}, {"rho": 0.5}))
    np.testing.assert_array_equal(plain, none)
    assert not np.allclose(plain, some)


def test_students_and_baselines_are_trained_with_it(rng):
    from driftfit.datasets.toy import moving_gaussians
    from driftfit.methods import GradualSelfTraining
    from driftfit.methods.baselines import BaselineMethod, DeepCoral

    path = moving_gaussians((0, 1), n_samples=40)
    for method in (GradualSelfTraining(), BaselineMethod(DeepCoral())):
        answers = []
        for rho in (0.0, 0.5):
            learner = classifier().make_learner(np.array([0, 1])).fit(path.source.samples, path.source.labels)
            students = classifier(rho=rho).make_learner(np.array([0, 1]))
            learner = deepcopy(learner)
            object.__setattr__(learner, "refit_recipe", students.refit_recipe)
            answers.append(method.adapt(learner, path).learner.logits(path.target.samples))
        assert not np.allclose(*answers)


def test_it_is_saved(tmp_path, rng):
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 3
    save_classifier(classifier(rho=0.25).fit(X, y), tmp_path / "model")
    assert load_classifier(tmp_path / "model").rho == 0.25


@pytest.mark.parametrize("rho", [-0.1, float("nan"), float("inf")])
def test_other_radii_are_refused(rho):
    with pytest.raises(InputError, match="rho"):
        Recipe(rho=rho)
