"""Sinkhorn in blocks gives the plan that Sinkhorn on the whole matrix gives."""

from __future__ import annotations

import numpy as np
import pytest

from gradapt.transport import Problem, Sinkhorn, entropic, solve
from gradapt.transport import problem as problem_module
from gradapt.transport.blockwise import blockwise_sinkhorn


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problem_module, "_BLOCK_ENTRIES", 2000)


@pytest.fixture
def problem() -> Problem:
    rng = np.random.default_rng(0)
    return Problem.of(rng.standard_normal((90, 3)), rng.standard_normal((70, 3)) + 1, rng.random(90) + 0.1)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("tensors", [False, True])
def test_same_cost_as_with_the_whole_matrix(problem: Problem, tensors: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = solve(problem, Sinkhorn(epsilon=0.02))
    monkeypatch.setattr(entropic, "_DENSE_PAIRS", 0)
    if tensors:
        pytest.importorskip("torch")
        problem = problem.to_device("cpu")
    blocks = solve(problem, Sinkhorn(epsilon=0.02))
    assert blocks.cost == pytest.approx(whole.cost, rel=0.02)
    assert blocks.certificate.marginal_error < 1e-12
    assert blocks.certificate.gap == pytest.approx(whole.certificate.gap, abs=0.02)


def test_potentials_bound_the_cost(problem: Problem) -> None:
    solution = blockwise_sinkhorn(problem, 0.05, 1e-6, 100)
    assert solution.potential0 is not None
    assert (solution.mass > 0).all()
    assert len(solution.mass) <= 32 * 90 + 160
