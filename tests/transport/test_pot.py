"""The entry points that carry POT's names give what POT gives, for arrays, tensors and sparse matrices."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import ot
import pytest
import scipy.sparse as sp

from driftfit.errors import InputError
from driftfit.transport import pot

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("name", [name for name in pot.__all__ if name != "Result"])
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
        b[2::3] = 0.0
    a, b = mass * a / a.sum(), mass * b / b.sum()
    plan, log = pot.emd(a, b, costs, log=True)
    reference = ot.emd2(a, b, costs)
    assert (plan * costs).sum() == pytest.approx(reference, rel=1e-10)
    assert log["cost"] == pytest.approx(reference, rel=1e-12)
    assert plan.sum(axis=1) == pytest.approx(a, abs=1e-12)
    assert plan.sum(axis=0) == pytest.approx(b, abs=1e-12)
    assert (costs - log["u"][:, None] - log["v"]).min() > -1e-12
    assert a @ log["u"] + b @ log["v"] == pytest.approx(reference, rel=1e-9)
    assert a @ log["u"] == pytest.approx(b @ log["v"], rel=1e-9)
    assert (log["warning"], log["result_code"]) == (None, 1)
    assert pot.emd2(a, b, costs) == pytest.approx(reference, rel=1e-12)


def test_potentials_of_huge_costs_are_finite(rng):
    costs, mass = rng.random((5, 5)) * 1e307, rng.random(5) * 1000
    _, found = pot.emd(mass, mass[::-1].copy(), costs, log=True)
    assert np.isfinite(found["u"]).all()
    assert (found["u"][:, None] + found["v"] <= costs + 1e295).all()


def test_empty_histograms_several_targets_and_types(rng):
    costs = rng.random((6, 5))
    assert pot.emd2([], [], costs) == pytest.approx(ot.emd2([], [], costs), rel=1e-12)
    targets = rng.random((5, 3)) + 0.1
    targets /= targets.sum(axis=0)
    assert pot.emd2([], targets, costs) == pytest.approx(ot.emd2([], targets, costs), rel=1e-12)
    cost, log = pot.emd2([], [], costs, return_matrix=True)
    assert (log["G"] * costs).sum() == pytest.approx(cost)
    assert pot.emd(np.full(6, 1 / 6, np.float32), [], costs).dtype == np.float32
    assert pot.emd([], [], torch.tensor(costs, dtype=torch.float32)).dtype == torch.float32
    assert pot.emd([0.5, 0.5], [], np.array([[0, 1], [1, 0]])).tolist() == [[0.5, 0.0], [0.0, 0.5]]
    with pytest.warns(UserWarning, match="integer"):
        assert pot.emd(np.array([1, 2]), np.array([2, 1]), rng.random((2, 2))).dtype == np.int64


def test_gradients_are_pots(rng):
    a, b = (torch.tensor(side / side.sum()) for side in (rng.random(9) + 0.1, rng.random(12) + 0.1))
    costs, grads = torch.tensor(rng.random((9, 12))), []
    for module in (pot, ot):
        given = [x.clone().requires_grad_() for x in (a, b, costs)]
        (3.0 * module.emd2(*given)).backward()
        grads.append([x.grad.numpy() for x in given])
    for ours, theirs in zip(*grads, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-12)


METRICS = ["sqeuclidean", "euclidean", "cityblock", "cosine"]


def test_gradients_by_weights_and_costs_are_derivatives(rng):
    a, b, costs = (torch.tensor(rng.normal(size=shape), requires_grad=True) for shape in (5, 6, (5, 6)))
    check = torch.autograd.gradcheck
    # Softmax: only weights of one sum have a plan.
    assert check(lambda a, b, costs: pot.emd2(a.softmax(0), b.softmax(0), costs), (a, b, costs))
    others = torch.tensor(rng.normal(size=(5, 6)), requires_grad=True)
    assert check(lambda *both: pot.solve_batch(torch.stack(both)).value, (costs, others))


@pytest.mark.parametrize("metric", METRICS)
def test_gradients_by_samples_are_derivatives(rng, metric):
    a, b, x, y = (torch.tensor(rng.normal(size=shape), requires_grad=True) for shape in (5, 6, (5, 2), (6, 2)))

    def value(a, b, x, y):
        return pot.solve_sample(x, y, a.softmax(0), b.softmax(0), metric=metric).value

    assert torch.autograd.gradcheck(value, (a, b, x, y))
    # The plan stays where the samples move a little, so the second derivative is that of its own costs.
    assert torch.autograd.gradgradcheck(lambda x, y: value(a.detach(), b.detach(), x, y), (x, y))
    if metric == "sqeuclidean":
        assert torch.autograd.gradcheck(lambda a, x: pot.wasserstein_1d(x, y[:5], a.softmax(0), p=2).sum(), (a, x))


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_pairs_without_a_cost_are_forbidden(rng, library):
    warnings.filterwarnings("ignore", "Sparse invariant checks", UserWarning)  # POT's own
    mask = rng.random((20, 25)) < 0.4
    mask[:, 0] = mask[0] = True
    costs, a = np.where(mask, rng.random((20, 25)), 0.0), rng.random(20)
    a[3] = 0.0
    sparse = sp.coo_array(costs) if library == "numpy" else torch.tensor(costs).to_sparse()
    kind = np.asarray if library == "numpy" else torch.tensor
    ours, theirs = (module.emd2(kind(a / a.sum()), [], sparse, log=True) for module in (pot, ot))
    assert float(ours[0]) == pytest.approx(float(theirs[0]), rel=1e-12)
    u, v = (np.asarray(ours[1][name]) for name in "uv")
    assert (costs - u[:, None] - v)[mask].min() > -1e-12
    plan = pot.emd(kind(a / a.sum()), [], sparse)
    assert type(plan) is type(sparse)
    dense = np.asarray(plan.todense() if library == "numpy" else plan.to_dense())
    assert dense[~mask].max() == 0.0
    assert dense.sum(axis=0) == pytest.approx(np.full(25, 0.04), abs=1e-12)


@pytest.mark.parametrize("given", [([-0.1, 1.1], np.ones((2, 2))), ([0.5, 0.5], np.array([[np.inf, 1.0], [1.0, 2.0]]))])
def test_where_there_is_no_plan_pots_warning_says_so(given):
    with pytest.warns(UserWarning, match="infeasible"):
        plan, log = pot.emd(given[0], [0.5, 0.5], given[1], log=True)
    assert plan.sum() == log["cost"] == log["result_code"] == 0
    with pytest.warns(UserWarning, match="infeasible"):
        pot.emd([0.3, 0.7], [0.5, 0.5], sp.coo_array(np.eye(2)))


def test_parameters_without_effect_say_so(rng):
    costs = rng.random((4, 4))
    with pytest.warns(UserWarning, match="numItermax=3 has no effect"):
        pot.emd([], [], costs, numItermax=3)
    with pytest.warns(DeprecationWarning, match="numThreads"):
        pot.emd2([], [], costs, numThreads=2)


def test_potentials_to_begin_from_change_nothing(rng):
    costs, a = rng.random((300, 260)), np.append(rng.random(299), 0.0)
    cost, log = pot.emd2(a / a.sum(), [], costs, log=True)
    for start in (
        (log["u"], log["v"]),
        (rng.random(300), rng.random(260)),
        tuple(map(torch.tensor, (log["u"], log["v"]))),
    ):
        assert pot.emd2(a / a.sum(), [], costs, potentials_init=start) == pytest.approx(cost, rel=1e-13)
    x, y = rng.random((2, 50, 3))
    found = pot.solve_sample(x, y)
    assert pot.solve_sample(x, y, potentials_init=found.potentials).value == pytest.approx(found.value, rel=1e-13)
    with pytest.raises(InputError, match="300 x 260"):
        pot.emd2([], [], costs, potentials_init=(log["v"], log["u"]))


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean", "cityblock", "minkowski"])
def test_samples_on_a_line(rng, metric):
    x, y, a = rng.normal(size=9), rng.normal(size=(12, 1)), rng.random(9)
    a /= a.sum()
    for dense in (True, False):
        (ours, log), (theirs, other) = (
            module.emd_1d(x, y, a, metric=metric, p=3, dense=dense, log=True) for module in (pot, ot)
        )
        assert log["cost"] == pytest.approx(other["cost"], rel=1e-12)
        assert (ours if dense else ours.toarray()) == pytest.approx(theirs if dense else theirs.toarray(), abs=1e-14)
    tensors = [torch.tensor(side) for side in (x, y, a)]
    assert float(pot.emd2_1d(*tensors, metric=metric, p=3)) == pytest.approx(other["cost"], rel=1e-12)


@pytest.mark.parametrize("p", [1, 2, 2.5])
@pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
def test_columns_of_samples_on_lines(rng, p, kind):
    x, y, a = kind(rng.normal(size=(9, 3))), kind(rng.normal(size=(7, 3))), kind(np.full(9, 1 / 9))
    warnings.filterwarnings("ignore", "The use of `x.T`", UserWarning)  # POT's own
    ours, theirs = (module.wasserstein_1d(x, y, a, p=p, return_plans="coo_tuple") for module in (pot, ot))
    assert np.asarray(ours[0]) == pytest.approx(np.asarray(theirs[0]), rel=1e-12)
    for mine, other in zip(ours[1], theirs[1], strict=True):
        assert np.asarray(mine.data) == pytest.approx(np.asarray(other.data), abs=1e-14)
    assert type(pot.wasserstein_1d(x[:, 0], y[:, 0], p=p)) is type(ot.wasserstein_1d(x[:, 0], y[:, 0], p=p))


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean", "cityblock"])
@pytest.mark.parametrize("lazy", [False, True])
def test_samples(rng, metric, lazy):
    x0, x1, a = rng.normal(size=(30, 3)), rng.normal(size=(20, 3)), rng.random(30)
    b = np.full(20, a.sum() / 20)
    ours, theirs = (module.solve_sample(x0, x1, a, b, metric=metric, lazy=lazy) for module in (pot, ot))
    assert ours.value == pytest.approx(theirs.value, rel=1e-11)
    assert ours.plan == pytest.approx(theirs.plan, abs=1e-11)
    for name in ("potential_a", "potential_b"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=1e-9)
    assert ours.marginal_a == pytest.approx(a)
    assert ours.plan == pytest.approx(ours.sparse_plan.toarray())
    assert ours.certificate.proves_optimal()
    assert ours.status == theirs.status == "Converged"
    assert pot.solve(ot.dist(x0, x1, metric), a, b).value == pytest.approx(ours.value, rel=1e-11)


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean", "minkowski"])
def test_batches_are_exact(rng, metric):
    x0, x1, a = rng.normal(size=(4, 10, 3)), rng.normal(size=(4, 8, 3)), rng.random((4, 10))
    a /= a.sum(axis=1, keepdims=True)
    found = pot.solve_sample_batch(x0, x1, a=a, metric=metric, p=3)
    costs = ot.dist_batch(x0, x1, metric, p=3)
    assert found.value == pytest.approx([ot.emd2(w, [], c) for w, c in zip(a, costs, strict=True)], rel=1e-11)
    assert found.marginal_a == pytest.approx(a)
    assert (costs - found.potential_a[:, :, None] - found.potential_b[:, None]).min() > -1e-12


def test_what_is_not_exact_goes_to_pot(rng):
    x0, x1 = rng.normal(size=(9, 2)), rng.normal(size=(8, 2))
    for options in ({"reg": 1.0}, {"unbalanced": 1.0}, {"method": "sliced", "random_state": 0}):
        with pytest.warns(UserWarning, match="by POT"):
            ours = pot.solve_sample(x0, x1, **options)
        assert ours.value == pytest.approx(ot.solve_sample(x0, x1, **options).value)
    with pytest.warns(UserWarning, match=r"solve_batch with reg=0.5"):
        pot.solve_batch(rng.random((2, 4, 4)), reg=0.5)


def test_bad_input(rng):
    costs = rng.random((4, 4))
    for call, words in (
        (lambda: pot.emd(torch.ones(4), [], costs), "one library"),
        (lambda: pot.emd([1.0] * 4, [2.0] * 4, costs), "same sum"),
        (lambda: pot.emd([1.0] * 3, [], costs), "4 and 4"),
        (lambda: pot.emd([], [], costs, numThreads=0), "numThreads"),
        (lambda: pot.emd_1d(costs, costs), "monodimensional"),
        (lambda: pot.emd_1d([0.0], [1.0], metric="cosine"), "cosine"),
        (lambda: pot.wasserstein_1d(costs, costs, p=0.5), "p>=1"),
        (lambda: pot.solve(costs, method="cryptic"), "cryptic"),
        (lambda: pot.solve_batch(costs[None], grad="cryptic"), "cryptic"),
        (lambda: pot.solve_batch(costs[None], method="sinkhorn"), "positive reg"),
        (lambda: pot.solve_sample_batch(costs[None], costs[None], metric="cryptic"), "cryptic"),
        (
            lambda: pot.solve_sample(torch.ones(2, 2, requires_grad=True), torch.ones(2, 2), metric="chebyshev"),
            "detach",
        ),
    ):
        with pytest.raises(InputError, match=words):
            call()
    with pytest.raises(AssertionError):
        pot.emd([1.0] * 4, [2.0] * 4, costs)
    assert pot.emd2([1.0] * 4, [2.0] * 4, costs, check_marginals=False) == pytest.approx(4 * ot.emd2([], [], costs))
