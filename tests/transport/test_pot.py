"""The entry points that carry POT's names give what POT gives."""

from __future__ import annotations

import inspect

import numpy as np
import ot
import pytest
import scipy.sparse as sp

from driftfit.errors import InputError
from driftfit.transport import pot


@pytest.mark.parametrize("name", ["emd", "emd2"])
def test_signatures_are_pots(name: str) -> None:
    ours, theirs = (inspect.signature(getattr(module, name)).parameters for module in (pot, ot))
    # A newer version may know one parameter more than an older one.
    assert list(theirs) == list(ours)[: len(theirs)]
    assert {key: value.default for key, value in theirs.items()} == {key: ours[key].default for key in theirs}


@pytest.mark.parametrize(("n", "m"), [(1, 1), (7, 7), (30, 20)])
@pytest.mark.parametrize("mass", [1.0, 3.0])
@pytest.mark.parametrize("zeros", [False, True])
def test_plan_cost_and_potentials(rng, n, m, mass, zeros):
    a, b, costs = rng.random(n) + 0.1, rng.random(m) + 0.1, rng.random((n, m))
    if zeros:
        a[1::3] = 0.0
    a, b = mass * a / a.sum(), mass * b / b.sum()
    plan, log = pot.emd(a, b, costs, log=True)
    reference = ot.emd2(a, b, costs)
    assert (plan * costs).sum() == pytest.approx(reference, rel=1e-10)
    assert log["cost"] == pytest.approx(reference, rel=1e-10)
    assert plan.sum(axis=1) == pytest.approx(a, abs=1e-12)
    assert plan.sum(axis=0) == pytest.approx(b, abs=1e-12)
    assert (costs - log["u"][:, None] - log["v"]).min() > -1e-12
    assert a @ log["u"] + b @ log["v"] == pytest.approx(reference, rel=1e-9)
    assert a @ log["u"] == pytest.approx(b @ log["v"], rel=1e-9)
    assert pot.emd2(a, b, costs) == pytest.approx(reference, rel=1e-10)


def test_potentials_are_feasible_where_both_sides_have_samples_without_weight(rng):
    for _ in range(60):
        n, m = rng.integers(2, 12, 2)
        a, b = (rng.random(k) * (rng.random(k) > 0.4) for k in (n, m))
        a[0] = b[0] = 1.0
        a, b, costs = a / a.sum(), b / b.sum(), rng.random((n, m))
        cost, log = pot.emd2(a, b, costs, log=True)
        assert (costs - log["u"][:, None] - log["v"]).min() > -1e-12
        assert a @ log["u"] + b @ log["v"] == pytest.approx(cost, rel=1e-9)


def test_potentials_of_huge_costs_are_finite(rng):
    costs, mass = rng.random((5, 5)) * 1e307, rng.random(5) * 1000
    _, found = pot.emd(mass, mass[::-1].copy(), costs, log=True)
    assert np.isfinite(found["u"]).all()
    assert (found["u"][:, None] + found["v"] <= costs + 1e295).all()


def test_mass_of_samples_is_that_which_is_given(rng):
    x0, x1 = rng.normal(size=(4, 2)), rng.normal(size=(4, 2))
    found, theirs = (module.solve_sample(x0, x1, np.full(4, 2.0), np.full(4, 2.0)) for module in (pot, ot))
    assert found.value == pytest.approx(theirs.value)
    assert found.plan == pytest.approx(theirs.plan)
    assert found.sparse_plan.sum() == pytest.approx(8.0)
    with pytest.raises(InputError, match="one total mass"):
        pot.solve_sample(x0, x1, np.ones(4), np.full(4, 2.0))
    with pytest.raises(InputError, match="one total mass"):
        pot.solve_sample(x0, x1, np.ones(4))


def test_empty_histograms_several_targets_and_types(rng):
    costs = rng.random((6, 5))
    assert pot.emd2([], [], costs) == pytest.approx(ot.emd2([], [], costs), rel=1e-10)
    targets = rng.random((5, 3)) + 0.1
    targets /= targets.sum(axis=0)
    assert pot.emd2([], targets, costs) == pytest.approx(ot.emd2([], targets, costs), rel=1e-9)
    cost, log = pot.emd2([], [], costs, return_matrix=True)
    assert (log["G"] * costs).sum() == pytest.approx(cost)
    assert pot.emd(np.full(6, 1 / 6, np.float32), [], costs).dtype == np.float32


def test_samples(rng):
    x0, x1, a = rng.normal(size=(30, 3)), rng.normal(size=(20, 3)), rng.random(30)
    a /= a.sum()
    for metric in ("sqeuclidean", "euclidean", "cityblock"):
        ours, theirs = (
            pot.solve_sample(x0, x1, a, metric=metric, n_threads=2),
            ot.solve_sample(x0, x1, a, metric=metric),
        )
        assert ours.value == pytest.approx(theirs.value, rel=1e-9)
        assert ours.value_linear == ours.value
        assert ours.plan == pytest.approx(ours.sparse_plan.toarray())
        assert ours.status == "Optimal"


def test_what_is_not_taken_is_said(rng):
    costs = rng.random((4, 4))
    torch = pytest.importorskip("torch")
    for call, words in (
        (lambda: pot.emd(torch.ones(4), [], costs), "tensors"),
        (lambda: pot.emd([], [], sp.csr_array(costs)), "sparse costs"),
        (lambda: pot.emd([1.0] * 4, [2.0] * 4, costs), "one total mass"),
        (lambda: pot.emd([1.0] * 3, [], costs), "4 entries"),
        (lambda: pot.emd([], [], np.ones(4)), "a matrix"),
        (lambda: pot.solve_sample(costs, costs, reg=0.1), "reg"),
        (lambda: pot.solve_sample(costs, costs, unbalanced=1.0), "unbalanced"),
    ):
        with pytest.raises(InputError, match=words):
            call()
    assert pot.emd2([1.0] * 4, [2.0] * 4, costs, check_marginals=False) == pytest.approx(4 * ot.emd2([], [], costs))
