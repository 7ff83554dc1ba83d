"""Global maps, a coupling and a map made for each other, and evidence of isometry."""

import numpy as np
import pytest
from scipy.stats import ortho_group

from driftfit.errors import InputError
from driftfit.transport import (
    Exact,
    GromovWasserstein,
    Isometry,
    Mapped,
    Orthogonal,
    Problem,
    SameScale,
    Sinkhorn,
    Solution,
    isometry,
    transport,
)


def clusters(n, rng, turn=None):
    """Unequal clusters in five dimensions, with labels; perhaps turned."""
    which = rng.permutation(np.repeat(np.arange(4), [4 * n // 10, 3 * n // 10, 2 * n // 10, n // 10]))
    centres = np.array([[6, 0, 0, 0, 0], [0, 4, 0, 0, 0], [0, 0, 9, 0, 0], [-5, -5, 0, 3, 0]], float)
    x = centres[which] + rng.normal(size=(n, 5))
    return (x if turn is None else x @ turn + 3.0), which


def test_structure_and_a_turn_join_the_same_clusters_where_costs_do_not():
    rng = np.random.default_rng(0)
    turn = ortho_group.rvs(5, random_state=3)
    (x0, y0), (x1, y1) = clusters(300, rng), clusters(300, rng, turn)
    plain = transport(x0, x1, solver=Exact())
    mapped = transport(x0, x1, solver=Mapped(Orthogonal(), start=GromovWasserstein()))
    same = [float(plan.mass @ (y0[plan.rows] == y1[plan.cols])) for plan in (plain, mapped)]
    assert same[0] < 0.6
    assert same[1] > 0.9
    assert mapped.distortion.lower <= mapped.distortion.value
    assert mapped.cost >= plain.cost


def test_a_turn_is_recovered_from_its_pairs_in_any_dimension():
    rng = np.random.default_rng(2)
    for n, d in ((50, 3), (10, 30)):
        x0 = rng.normal(size=(n, d))
        each = Solution(np.arange(n), np.arange(n), np.full(n, 1 / n))
        y0, y1 = Orthogonal().bring(Problem.of(x0, x0 @ ortho_group.rvs(d, random_state=1) + 7.0), each)
        assert np.allclose(y0, y1, atol=1e-6)


def test_own_scale_sees_no_units():
    rng = np.random.default_rng(3)
    x0 = rng.normal(size=(60, 3)) * [1.0, 10.0, 100.0]
    x1 = x0[rng.permutation(60)] * [5.0, 0.1, 2.0] + [100.0, 0.0, -7.0]
    plan = transport(x0, x1, solver=Mapped(SameScale()))
    y0, y1 = SameScale().bring(Problem.of(x0, x1), None)
    assert np.allclose(y0[plan.rows], y1[plan.cols])
    constant = SameScale().bring(Problem.of(np.ones((3, 1)), np.zeros((2, 1))), None)
    assert (constant[0] == 0).all()
    assert (constant[1] == 0).all()
    weighted = SameScale().bring(Problem.of([[0.0], [4.0]], [[0.0], [1.0]], [3, 1]), None)[0]
    assert weighted.ravel() == pytest.approx([-1 / np.sqrt(3), np.sqrt(3)])


def test_tensors_give_what_arrays_give():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(4)
    problem = Problem.of(rng.normal(size=(20, 4)), rng.normal(size=(20, 4)))
    tensors = problem.to_device(torch.device("cpu"))
    coupling = Exact().solve(problem)
    for kind in (Orthogonal(3), SameScale()):
        for host, device in zip(kind.bring(problem, coupling), kind.bring(tensors, coupling), strict=True):
            # Principal axes may point either way.
            assert np.allclose(np.abs(host), np.abs(device.numpy()), atol=1e-8)


def test_any_solver_can_work_under_a_map_and_wrong_use_is_refused():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(30, 2))
    plan = transport(x, 3.0 * x, solver=Mapped(SameScale(), solver=Sinkhorn(epsilon=0.01)))
    assert plan.certificate.marginal_error < 1e-12
    with pytest.raises(InputError, match="rounds must be at least 1, got 0"):
        Mapped(rounds=0)
    with pytest.raises(InputError, match="components must be at least 1"):
        Orthogonal(0)
    with pytest.raises(InputError, match="fitted to a coupling"):
        Orthogonal().bring(Problem.of(x, x), None)


@pytest.mark.parametrize("seed", range(3))
def test_isometry_holds_for_turned_clusters_and_not_for_others(seed):
    rng = np.random.default_rng(seed)
    turn = ortho_group.rvs(5, random_state=seed)
    x0, turned = clusters(600, rng)[0], clusters(300, rng, turn)[0]
    assert isometry(x0, turned, max_samples=150).plausible
    assert not isometry(x0, 1.5 * turned, max_samples=150).plausible
    assert not isometry(x0, rng.normal(size=(300, 5)) * 4.0, max_samples=150).plausible


def test_isometry_does_not_depend_on_order_and_says_what_it_found():
    rng = np.random.default_rng(7)
    x0, x1 = clusters(200, rng)[0], clusters(100, rng)[0]
    one, two = isometry(x0, x1, seed=3), isometry(x0, x1, seed=3)
    assert (one.ratios == two.ratios).all()
    assert len(one.ratios) == 4
    assert "times as much as between halves" in str(one)
    assert one.lower <= one.ratio <= one.upper
    assert "is not shown" in str(Isometry(9.0, 8.0, 10.0, np.array([9.0])))
    same = np.ones((20, 2))
    assert isometry(same, same + 1.0).ratio == 1.0
    assert not isometry(same, x1[:, :2]).plausible


def test_isometry_refuses_what_it_cannot_split():
    with pytest.raises(InputError, match="4 and 2 are the least"):
        isometry(np.zeros((3, 1)), np.zeros((5, 1)))
    with pytest.raises(InputError, match="splits must be at least 2"):
        isometry(np.zeros((9, 1)), np.zeros((5, 1)), splits=1)
    with pytest.raises(InputError, match="does not look at distances"):
        isometry(np.eye(8), np.eye(8), solver=Exact())
