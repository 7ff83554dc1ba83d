"""The two bounds side by side."""

import numpy as np
import pytest

from driftfit.errors import InputError
from driftfit.theory import (
    ComparedModels,
    FixedLength,
    FixedShift,
    Kind,
    LinearModels,
    NetworkConstants,
    compare_bounds,
    kumar_exponential,
    network_bound,
)


def test_numbers_are_those_of_the_bounds():
    models = ComparedModels(linear=LinearModels(0.9), n_layers=2)
    table = compare_bounds(0.02, FixedLength(2.0), 5_000, models, largest_n_steps=6)
    assert table.n_steps.tolist() == [1, 2, 3, 4, 5, 6]
    np.testing.assert_allclose(table.shifts, 2.0 / table.n_steps)
    # R * Delta < 1 needs at least two steps here: 0.9 * 2 / 1 > 1.
    assert np.isinf(table.curves["exponential"][0])
    for t, shift, exponential, linear in zip(
        table.n_steps, table.shifts, table.curves["exponential"], table.curves["linear"], strict=True
    ):
        if t > 1:
            assert exponential == kumar_exponential(0.02, shift, int(t), 5_000, models.linear).total
        assert linear == network_bound(0.02, shift, int(t), 5_000, 2).total


def test_exponential_against_linear():
    table = compare_bounds(0.02, FixedShift(0.1), 10**6, largest_n_steps=40)
    exponential, linear = table.curves["exponential"], table.curves["linear"]
    growth = exponential[1:] / exponential[:-1]
    assert (growth > 2 / (1 - 0.1)).all()
    assert np.diff(linear).max() < 0.2
    assert (table.curves["multiplicative"] <= exponential).all()
    assert table.crossing() == 1
    assert table.optimum("exponential") == 1


def test_optimum_inside_when_the_sample_term_weighs_enough():
    models = ComparedModels(network=NetworkConstants(complexity=40.0))
    table = compare_bounds(0.02, FixedLength(0.5), 1_000, models, largest_n_steps=60)
    best = table.optimum("linear")
    assert 1 < best < 60
    assert table.curves["linear"][best - 1] == table.curves["linear"].min()


def test_nothing_to_compare_when_steps_are_too_large():
    table = compare_bounds(0.02, FixedShift(2.0), 1_000, largest_n_steps=3)
    assert table.optimum("exponential") is None
    assert table.crossing() == 1


def test_standings_and_the_smallest_bound_are_shown():
    models = ComparedModels(linear=LinearModels(0.9))
    table = compare_bounds(0.02, FixedLength(1.0), 10**6, models, largest_n_steps=12)
    kinds = {name: standing.kind.value for name, standing in table.standings.items()}
    assert kinds == {
        "exponential": "guarantee",
        "multiplicative": "guarantee",
        "naive": "guarantee",
        "derived": "guarantee",
        "linear": "order",
        "simplified": "order",
    }
    # With many steps the doubling at each of them costs more than the whole path does.
    best = table.smallest()
    assert best[0] == "multiplicative"
    assert best[-1] == "naive"
    assert "derived" not in best
    assert set(table.smallest(Kind.ORDER)) <= {"linear", "simplified"}
    assert table.smallest(None)[-1] == "simplified"
    text = str(table).splitlines()
    assert text[1].endswith("multiplicative")
    assert "linear: order, not a guarantee" in str(table)


@pytest.mark.parametrize("path", [FixedLength(0.0), FixedShift(-1.0)])
def test_paths_must_move(path):
    with pytest.raises(InputError, match="must be a finite number > 0"):
        compare_bounds(0.1, path, 100)
