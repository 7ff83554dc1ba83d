"""
How does optimal transport help flow matching?
==============================================

Flow matching trains a velocity field on pairs of a noise sample and a data sample. Which pairs? Drawn at random, their
straight lines cross, and the field has to bend. Coupled at least cost within each minibatch they hardly cross, and few
steps are enough to follow the field. The coupling takes three lines; neither torch nor another library is needed.
"""

# %%
# Two moons are to become eight Gaussians. A sampler draws a whole epoch of minibatches and couples each of them.
import warnings
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from driftfit.transport import transport_batch, wasserstein

BATCHES, SIZE = 60, 256


def moons(count: int, seed: int) -> np.ndarray:
    return make_moons(count, noise=0.05, random_state=seed)[0] * 3.0 - [1.5, 0.75]


def gaussians(count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    angles = rng.integers(8, size=count) * np.pi / 4
    return 5.0 * np.column_stack([np.cos(angles), np.sin(angles)]) + 0.3 * rng.standard_normal((count, 2))


def coupled(x0: np.ndarray, x1: np.ndarray) -> np.ndarray:
    """The partner of each sample of ``x0``; both have shape (batches, size, features)."""
    plans = transport_batch(x0, x1)
    assert all(plan.certificate.proves_optimal() for plan in plans)
    return np.take_along_axis(x1, plans.partners[..., None], axis=1)


x0 = moons(BATCHES * SIZE, seed=0).reshape(BATCHES, SIZE, 2)
x1 = gaussians(BATCHES * SIZE, seed=1).reshape(BATCHES, SIZE, 2)
coupled(x0[:1], x1[:1])  # loads compiled code before the clock starts
start = perf_counter()
partners = coupled(x0, x1)
print(f"{BATCHES} exact couplings of {SIZE} samples, with proofs: {perf_counter() - start:.2f} s")

# %%
# The same network learns either field: the velocity at a random point of each line.


def field(first: np.ndarray, second: np.ndarray) -> MLPRegressor:
    first, second = first.reshape(-1, 2), second.reshape(-1, 2)
    t = np.random.default_rng(2).random((len(first), 1))
    network = MLPRegressor(
        hidden_layer_sizes=(64, 64), batch_size=256, max_iter=20, tol=0.0, n_iter_no_change=100, random_state=0
    )
    points = np.column_stack([(1 - t) * first + t * second, t])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so few rounds are meant
        return network.fit(points, second - first)


def follow(network: MLPRegressor, points: np.ndarray, steps: int) -> np.ndarray:
    path = [points]
    for k in range(steps):
        at = np.column_stack([path[-1], np.full(len(points), k / steps)])
        path.append(path[-1] + network.predict(at) / steps)
    return np.stack(path)


fields = {"random pairs": field(x0, x1), "coupled pairs": field(x0, partners)}
fresh, wanted = moons(500, seed=3), gaussians(500, seed=4)

# %%
# How far are generated samples from the eight Gaussians, for few steps and for many?
for name, network in fields.items():
    apart = {steps: wasserstein(follow(network, fresh, steps)[-1], wanted) for steps in (1, 2, 5, 50)}
    print(f"{name:14s}" + "".join(f"{steps:4d} steps: {value:.2f}" for steps, value in apart.items()))

# %%
# Paths of some samples in ten steps: one run, one seed.
figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.6), layout="constrained", sharex=True, sharey=True)
for axis, (name, network) in zip(axes, fields.items(), strict=True):
    path = follow(network, fresh[:120], 10)
    axis.plot(path[..., 0], path[..., 1], color="0.7", linewidth=0.6)
    axis.plot(*path[0].T, ".", markersize=3, label="two moons")
    axis.plot(*path[-1].T, ".", markersize=3, label="generated")
    axis.set(title=name, xticks=[], yticks=[])
axes[0].legend(loc="lower left", fontsize=7)
plt.show()
