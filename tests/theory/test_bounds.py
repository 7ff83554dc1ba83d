"""Every bound against cases worked by hand."""

from math import e, log, pi, sqrt

import numpy as np
import pytest

from driftfit import theory
from driftfit.errors import InputError
from driftfit.theory import Assumptions, LinearModels, PathErrors, Sampling


def test_bound_is_the_sum_of_its_terms_and_cannot_be_changed():
    bound = theory.Bound("Lemma 0", {"a": 1, "b": 2.5})
    assert bound.total == 3.5
    assert bound["b"] == 2.5
    with pytest.raises(TypeError):
        bound.terms["a"] = 0.0
    with pytest.raises(AttributeError):
        bound.statement = "other"


def test_vacuous():
    assert theory.Bound("x", {"a": 1.0}).vacuous()
    assert theory.Bound("x", {"a": float("inf")}).vacuous()
    assert not theory.Bound("x", {"a": 0.99}).vacuous()


def test_error_difference_by_hand():
    # rho = 2, R = 3/4: 2 * sqrt(9/16 + 1) = 2 * 5/4.
    bound = theory.error_difference(0.2, Assumptions(loss_lipschitz=2.0, model_lipschitz=0.75))
    assert bound.total == pytest.approx(0.5)
    assert "Lemma 1" in bound.statement
    assert dict(bound.constants) == {"rho": 2.0, "R": 0.75}


def test_stability_by_hand():
    assumptions = Assumptions(loss_lipschitz=0.5, model_lipschitz=0.0, model_complexity=2.0)
    bound = theory.self_training_stability(0.1, 400, assumptions, delta=2 * np.exp(-8))
    # shift 0.5 * 1 * 0.1; complexity 4 * 0.5 * 2 / 20; confidence sqrt(2 * 8 / 400).
    assert bound["shift"] == pytest.approx(0.05)
    assert bound["complexity"] == pytest.approx(0.2)
    assert bound["confidence"] == pytest.approx(0.2)
    assert {"complexity factor", "confidence factor", "M"} <= set(bound.constants)


def test_naive_bound_is_stability_added_up():
    assumptions = Assumptions(loss_lipschitz=0.5, model_lipschitz=2.0, model_complexity=3.0)
    shifts = [0.1, 0.0, 0.3]
    steps = [theory.self_training_stability(s, 50, assumptions, delta=0.1 / 3).total for s in shifts]
    bound = theory.naive_bound(0.2, shifts, 50, assumptions, delta=0.1)
    assert bound.total == pytest.approx(0.2 + sum(steps))
    assert bound.constants["T"] == 3
    assert bound.probability == pytest.approx(0.9)


def test_kumar_step_by_hand():
    # R * Delta = 1/2, so the factor is 4; 4 * B * R / sqrt(n) = 4 * 3 * 2 / 100.
    bound = theory.kumar_step(0.01, 0.25, 10_000, LinearModels(2.0, 3.0), delta=2 * np.exp(-2), best_error=0.005)
    assert bound["multiplied error"] == pytest.approx(0.04)
    assert bound["best error"] == 0.005
    assert bound["complexity"] == pytest.approx(0.24)
    assert bound["confidence"] == pytest.approx(0.02)


def test_kumar_path_is_the_recursion_by_hand():
    keywords = {"models": LinearModels(2.0, 0.3), "best_error": 0.002}
    error = 0.01
    for shift in (0.1, 0.25, 0.0):
        error = theory.kumar_step(error, shift, 1000, delta=0.05 / 3, **keywords).total
    assert theory.kumar_path(0.01, [0.1, 0.25, 0.0], 1000, **keywords).total == pytest.approx(error)


@pytest.mark.parametrize("n_steps", [1, 2, 5, 20])
def test_exponential_corollary_is_never_below_the_recursion(n_steps):
    keywords = {"models": LinearModels(1.5, 2.0), "delta": 0.1}
    path = theory.kumar_path(0.03, np.full(n_steps, 0.2), 500, best_error=0.03, **keywords)
    corollary = theory.kumar_exponential(0.03, 0.2, n_steps, 500, best_error=0.03, **keywords)
    assert path.total <= corollary.total
    beta = 2 / (1 - 1.5 * 0.2)
    sampling = (4 * 2.0 * 1.5 + sqrt(2 * log(2 * n_steps / 0.1))) / sqrt(500)
    assert corollary.total == pytest.approx(beta ** (n_steps + 1) * (0.03 + sampling))


def test_kumar_condition_is_checked():
    with pytest.raises(InputError, match=r"R \* Delta < 1, got 2.0 \* 0.5 = 1"):
        theory.kumar_step(0.1, 0.5, 10, LinearModels(2.0))
    with pytest.raises(InputError, match=r"best_error <= source_error, got 0.2 > 0.1"):
        theory.kumar_exponential(0.1, 0.1, 2, 10, best_error=0.2)


def test_discrepancy_bound_by_hand():
    # Distances to the last domain: 0.6, 0.5, 0.3, 0.
    assert theory.distance_to_last([0.1, 0.2, 0.3]).tolist() == pytest.approx([0.6, 0.5, 0.3, 0.0])
    bound = theory.discrepancy_bound([0.1, 0.2, 0.3], [0.5, 0.25, 0.25, 0.0], Assumptions(model_lipschitz=0.0))
    assert bound.total == pytest.approx(0.5)
    # Equal steps, uniform weights, t domains: (t - 1) / 2 * Delta, within the paper's t / 2 * Delta.
    assert theory.discrepancy_bound(
        np.full(9, 0.1), assumptions=Assumptions(model_lipschitz=0.0)
    ).total == pytest.approx(0.45)


def test_generalisation_bound_by_hand():
    path = PathErrors([0.1, 0.3], [0.2], weights=[0.6, 0.4])
    assumptions = Assumptions(model_lipschitz=0.0, loss_bound=0.5)
    bound = theory.generalisation_bound(path, 100, 0.01, assumptions, delta=np.exp(-2))
    norm = sqrt(0.36 + 0.16) / 10
    assert bound["path error"] == pytest.approx(0.18)
    assert bound["weight norm"] == pytest.approx(norm)
    assert bound["confidence"] == pytest.approx(0.5 * norm * 4)
    assert bound["discrepancy"] == pytest.approx(0.12)
    assert bound["complexity"] == pytest.approx(6 * 0.5 * sqrt(4 * pi * log(100)) * 0.01)


def test_factors_and_the_largest_loss_scale_their_terms():
    path, plain = PathErrors([0.1, 0.3], [0.2]), Assumptions()
    sampling, tall = Sampling(2.0, 3.0), Assumptions(loss_bound=5.0)
    for bound, ratio in (
        (lambda a, s: theory.generalisation_bound(path, 100, 0.01, a, sampling=s), 1.0),
        (lambda a, s: theory.self_training_stability(0.1, 100, a, sampling=s), 0.2),
    ):
        one, other = bound(plain, Sampling(1.0, 1.0)), bound(tall, sampling)
        assert other["confidence"] == pytest.approx(15.0 * one["confidence"])
        # The largest loss is in the complexity term of the theorem and not in that of the proposition.
        assert other["complexity"] == pytest.approx(10.0 * ratio * one["complexity"])
        assert other.constants["complexity factor"] == 2.0
        assert other.constants["M"] == 5.0


def test_derived_constants_by_hand():
    assumptions = Assumptions(loss_lipschitz=0.5, model_lipschitz=0.75, model_complexity=3.0, loss_bound=2.0)
    derived = theory.NetworkConstants.derived(assumptions, sequential=7.0)
    assert vars(derived) == pytest.approx(
        {
            "shift": 2 * 0.5 * 1.25,
            "estimation": 4 * 0.5 * 3,
            "step_confidence": 2 * sqrt(2),
            "weight_norm": 1.0,
            "complexity": 6 * sqrt(4 * pi) * 2 * 0.5 * 0.75 * 7,
            "confidence": 2 * sqrt(8),
            "proven": True,
        }
    )


def test_network_bound_by_hand():
    constants = theory.NetworkConstants(shift=2, estimation=3, step_confidence=5, weight_norm=7, complexity=11)
    bound = theory.network_bound(0.1, 0.01, 4, 100, 2, delta=np.exp(-4), constants=constants)
    assert list(bound.terms.values()) == pytest.approx(
        [0.1, 0.08, 1.2, 5 * 4 * 0.2, 7 / 20, 11 * sqrt(log(400) ** 4 / 400), 2 / 20]
    )
    assert bound.constants["complexity"] == 11
    assert bound.total == pytest.approx(sum(bound.terms.values()))


def test_sequential_complexities_by_hand():
    assert theory.linear_sequential_rademacher(25, LinearModels(2, 3)).total == pytest.approx(1.2)
    networks = theory.NormBoundedNetworks((2.0, 1.5), 7, data_norm=0.5)
    network = theory.network_sequential_rademacher(25, networks)
    assert dict(network.terms) == pytest.approx(
        {"rounding": 1.5 / 5, "covering": 1.5 * sqrt(2 * 7 * log(1 + 2 * 2 * 5) / 25)}
    )
    losses = theory.network_sequential_rademacher(25, networks, loss_lipschitz=0.1, loss_bound=0.2)
    assert dict(losses.terms) == pytest.approx(
        {"rounding": 0.1 * 1.5 / 5, "covering": 0.2 * sqrt(2 * 7 * log(21) / 25)}
    )
    with pytest.raises(InputError, match="one number per layer, got none"):
        theory.NormBoundedNetworks((), 7)
    loss = theory.loss_sequential_rademacher(0.1, 25, loss_lipschitz=2, constant=3)
    assert loss.total == pytest.approx(3 * 2 * log(25) ** 1.5 * 0.1)
    # The logarithm counts as at least 1.
    assert theory.loss_sequential_rademacher(0.1, 1).total == pytest.approx(0.1)
    assert log(e) == 1.0


def test_weights_between_last_and_uniform():
    shifts = [0.3, 0.1, 0.2]
    assert theory.minimising_weights(shifts).tolist() == [0, 0, 0, 1]
    np.testing.assert_allclose(theory.minimising_weights(shifts, 1e8), 0.25, atol=1e-6)
    assert theory.minimising_weights([0.0, 0.0]).tolist() == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("seed", range(20))
def test_minimising_weights_beat_every_other(seed):
    rng = np.random.default_rng(seed)
    shifts = rng.uniform(0, 1, rng.integers(1, 8))
    scale = 10.0 ** rng.uniform(-2, 2)
    prices = 1.7 * theory.distance_to_last(shifts)

    def value(q):
        return q @ prices + scale * np.linalg.norm(q, axis=-1)

    best = theory.minimising_weights(shifts, scale, constant=1.7)
    assert best.sum() == pytest.approx(1.0)
    others = rng.dirichlet(np.full(len(best), 0.5), size=4000)
    near = 0.99 * best + 0.01 * rng.dirichlet(np.full(len(best), 0.5), size=4000)
    corners = np.eye(len(best))
    uniform = np.full((1, len(best)), 1 / len(best))
    baselines = np.concatenate([others, near, corners, uniform])
    assert value(best) <= np.array([value(q) for q in baselines]).min() + 1e-12


def test_uniform_weights_do_not_minimise_the_discrepancy_bound():
    uniform = theory.discrepancy_bound([0.1, 0.1]).total
    last = theory.discrepancy_bound([0.1, 0.1], [0, 0, 1]).total
    assert last == 0.0 < uniform


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.error_difference(-1.0), "shift must be a finite number >= 0, got -1.0"),
        (lambda: theory.error_difference("far"), "shift must be a number, got 'far'"),
        (lambda: theory.self_training_stability(0.1, 0), "n_samples must be a whole number of at least 1, got 0"),
        (lambda: theory.self_training_stability(0.1, 9, delta=1.0), "delta must lie strictly between 0 and 1, got 1.0"),
        (lambda: theory.naive_bound(0.1, [], 9), r"shifts must hold one number per step, got shape \(0,\)"),
        (lambda: theory.naive_bound(0.1, [float("nan")], 9), "shifts must be finite"),
        (lambda: theory.naive_bound(0.1, ["a"], 9), "shifts must be numbers"),
        (lambda: theory.discrepancy_bound([0.1], [0.5, 0.6]), "weights must be non-negative and sum to 1"),
        (lambda: theory.discrepancy_bound([0.1], [1.0]), "weights must have 2 entries"),
        (lambda: PathErrors([0.1], [0.1]), "one finite number for each of the 2 domains"),
        (lambda: PathErrors([0.1, float("nan")], [0.1]), "one finite number for each of the 2 domains"),
        (lambda: PathErrors([0.1, 0.1], [0.1], [0.5, 0.6]), "weights must be non-negative and sum to 1"),
        (lambda: Assumptions(loss_lipschitz=-1.0), "loss_lipschitz must be a finite number >= 0, got -1.0"),
        (lambda: Assumptions(loss_bound=0.0), "loss_bound must be a finite number > 0, got 0.0"),
        (lambda: LinearModels(data_norm=float("inf")), "data_norm must be a finite number >= 0, got inf"),
        (lambda: Sampling(complexity_factor=-4.0), "complexity_factor must be a finite number >= 0, got -4.0"),
        (lambda: theory.optimal_steps(1.0, 0.0, 9), "largest_shift must be a finite number > 0, got 0.0"),
        (lambda: theory.simplified_bound(0, 0.1, 9), "n_steps must be a finite number > 0, got 0"),
        (lambda: theory.path_length_inequality([0.1], 1.0), "less than the direct distance"),
    ],
)
def test_messages_name_the_value(call, message):
    with pytest.raises(InputError, match=message):
        call()
