"""What every solver owes: mass 1, honest marginals, a certificate that bounds the optimum."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from driftfit.errors import InputError
from driftfit.transport import (
    Exact,
    IndependentCoupling,
    OracleCoupling,
    PowerMetric,
    RandomCoupling,
    Sinkhorn,
    Sliced,
    UniformCoupling,
    transport,
)

COUPLE = [Exact(), Sinkhorn(0.02), Sliced(), IndependentCoupling()]
IGNORE_MARGINALS = [RandomCoupling(n_entries=20), UniformCoupling(n_entries=20)]


@pytest.mark.parametrize("solver", COUPLE, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize(("n", "m"), [(30, 30), (30, 18), (11, 30)])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_coupling_with_a_valid_certificate(rng, solver, n, m, weighted):
    x0, x1 = rng.normal(size=(n, 3)), rng.normal(size=(m, 3)) + 1
    w0, w1 = (rng.random(n), rng.random(m)) if weighted else (None, None)
    if weighted:
        w0[: n // 4] = 0.0  # samples without weight
    plan = transport(x0, x1, w0, w1, solver)
    optimum = transport(x0, x1, w0, w1, Exact()).cost
    certificate = plan.certificate
    assert plan.mass.min() > 0
    assert plan.mass.sum() == pytest.approx(1.0, abs=1e-12)
    assert certificate.marginal_error < 1e-10
    assert certificate.dual <= optimum * (1 + 1e-9)
    assert certificate.primal >= optimum * (1 - 1e-9)
    assert certificate.primal == pytest.approx(plan.cost)
    assert certificate.gap == pytest.approx((certificate.primal - certificate.dual) / certificate.primal)
    if weighted:
        assert plan.row_mass()[: n // 4].max() == 0.0


@pytest.mark.parametrize("solver", IGNORE_MARGINALS, ids=lambda s: type(s).__name__)
def test_ablation_couplings_say_that_they_do_not_couple(rng, solver):
    plan = transport(rng.normal(size=(30, 2)), rng.normal(size=(25, 2)), solver=solver)
    assert len(plan) == 20
    assert plan.mass.sum() == pytest.approx(1.0)
    assert plan.certificate.marginal_error > 0.1
    assert len(set(zip(plan.rows.tolist(), plan.cols.tolist(), strict=True))) == 20
    if isinstance(solver, UniformCoupling):
        assert np.ptp(plan.mass) == 0


def test_seeds_decide_the_random_couplings(rng):
    x = rng.normal(size=(20, 2))
    plans = [transport(x, x, solver=RandomCoupling(seed=seed)) for seed in (0, 0, 1)]
    assert (plans[0].rows == plans[1].rows).all()
    assert (plans[0].mass == plans[1].mass).all()
    assert not np.array_equal(plans[0].rows, plans[2].rows)


def test_oracle_pairing_by_row_and_by_name(rng):
    x = rng.normal(size=(6, 2))
    assert transport(x, x + 1, solver=OracleCoupling()).cols.tolist() == [0, 1, 2, 3, 4, 5]
    by_name = transport(x, x[:4] + 1, solver=OracleCoupling(list("abcdef"), list("fabx")))
    assert sorted(zip(by_name.rows.tolist(), by_name.cols.tolist(), strict=True)) == [(0, 1), (1, 2), (5, 0)]


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ((None, None), "row by row"),
        ((["a"] * 6, ["a"] * 4), "repeat"),
        ((list("abcdef"), list("wxyz")), "no value in common"),
        ((list("abc"), list("abcd")), "lengths"),
        ((list("abcdef"), None), "both"),
    ],
)
def test_bad_oracles(rng, ids, words):
    with pytest.raises(InputError, match=words):
        transport(rng.normal(size=(6, 2)), rng.normal(size=(4, 2)), solver=OracleCoupling(*ids))


@pytest.mark.parametrize("epsilon", [1e-4, 1e-2, 1.0, 100.0])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_sinkhorn_never_gives_nan(rng, epsilon, scale):
    x0, x1 = scale * rng.normal(size=(15, 2)), scale * (rng.normal(size=(12, 2)) + 50)
    x1[0] = scale * 1e4  # an outlier whose kernel row underflows
    plan = transport(x0, x1, solver=Sinkhorn(epsilon=epsilon, max_iterations=500))
    assert np.isfinite(plan.mass).all()
    assert plan.certificate.marginal_error < 1e-9
    assert np.isfinite(plan.certificate.dual)


def test_sinkhorn_tends_to_the_optimum_and_to_independence(rng):
    x0, x1 = rng.normal(size=(25, 2)), rng.normal(size=(25, 2)) + 1
    exact = transport(x0, x1).cost
    costs = [transport(x0, x1, solver=Sinkhorn(epsilon)).cost for epsilon in (1e-3, 1e-2, 1e-1, 1e3)]
    assert costs == sorted(costs)
    assert costs[0] == pytest.approx(exact, rel=1e-2)
    assert costs[-1] == pytest.approx(transport(x0, x1, solver=IndependentCoupling()).cost, rel=1e-2)


def test_sliced_is_exact_on_a_line_and_for_translations(rng):
    x, y = rng.normal(size=(40, 1)), rng.normal(size=(31, 1))
    assert transport(x, y, solver=Sliced()).cost == pytest.approx(transport(x, y).cost, rel=1e-9)
    x = rng.normal(size=(40, 5))
    assert transport(x, x + 2.0, solver=Sliced()).cost == pytest.approx(20.0, rel=1e-9)


@pytest.mark.parametrize("solver", COUPLE, ids=lambda s: type(s).__name__)
def test_degenerate_clouds(solver):
    ones = np.ones((6, 2))
    assert transport(ones, ones, solver=solver).cost == pytest.approx(0.0, abs=1e-12)
    assert transport(ones, ones[:4] + 3, solver=solver).cost == pytest.approx(18.0)
    duplicated = np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0)
    assert transport(duplicated, duplicated, solver=solver).certificate.marginal_error < 1e-9
    assert len(transport([[1.0]], [[2.0]], solver=solver)) == 1


@pytest.mark.parametrize("solver", [Exact(), Sinkhorn(), Sliced()], ids=lambda s: type(s).__name__)
def test_sparse_input_gives_the_same_cost(rng, solver):
    x0, x1 = rng.random((12, 6)), rng.random((9, 6))
    x0[x0 < 0.5] = 0
    x1[x1 < 0.5] = 0
    dense = transport(x0, x1, solver=solver)
    assert transport(sp.csr_array(x0), sp.csr_matrix(x1), solver=solver).cost == pytest.approx(dense.cost, rel=1e-6)


@given(st.integers(0, 1000), st.sampled_from([1e-12, 1e-6, 1e6, 1e12, 1e30]))
@settings(max_examples=40)
def test_exact_at_any_scale(seed, scale):
    rng = np.random.default_rng(seed)
    x0, x1 = rng.normal(size=(8, 2)), rng.normal(size=(6, 2))
    plan = transport(scale * x0, scale * x1)
    assert plan.cost == pytest.approx(scale**2 * transport(x0, x1).cost, rel=1e-9)
    assert plan.certificate.proves_optimal()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Sinkhorn(epsilon=0.0), "positive"),
        (lambda: Sliced(n_directions=0), "at least 1"),
        (lambda: PowerMetric("euclidean", 0.5), ">= 1"),
        (lambda: transport([[0.0]], [[0.0, 1.0]]), "1 features but x1 has 2"),
        (lambda: transport([[0.0]], [[1.0]], solver="exact"), "Exact"),
        (lambda: transport([[0.0]], [[1.0]], cost="euclidean"), "SquaredEuclidean"),
        (lambda: transport([[0.0]], [[1.0]], cost=PowerMetric("nonsense")), "nonsense"),
        (lambda: transport([[0.0]], [[1.0]], cost=lambda a, b: np.zeros(3)), "shape"),
        (lambda: transport([[0.0]], [[1.0]], cost=lambda a, b: np.full((1, 1), np.nan)), "NaN"),
        (lambda: transport([[1e140]], [[-1e140]], cost=PowerMetric("euclidean", 3)), "overflowed"),
        (lambda: transport([[0.0]], [[1.0]], solver=RandomCoupling(n_entries=5)), "between 1 and 1"),
    ],
)
def test_bad_values(call, words):
    with pytest.raises(InputError, match=words):
        call()
