import numpy as np
import pytest
import scipy.sparse as sp

from driftfit.checks import check_fraction, check_points, check_position, check_weights
from driftfit.errors import InputError


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([[1.0, np.nan]], "1 NaN"),
        ([[1.0, np.inf]], "1 infinite"),
        (sp.csr_array([[np.nan, 1.0]]), "1 NaN"),
        ([["a", "b"]], "ColumnTransformer"),
        (np.zeros(3), "reshape"),
        (np.zeros((0, 2)), "empty"),
        (np.zeros((2, 0)), "no features"),
        ([[1e200, 0.0]], "StandardScaler"),
    ],
)
def test_bad_points_are_named_with_a_remedy(points, words):
    with pytest.raises(InputError, match=words):
        check_points(points)


def test_good_points_keep_their_kind():
    assert check_points(np.ones((2, 2), dtype=np.float32)).dtype == np.float32
    assert check_points([[True], [False]]).dtype == np.float64
    assert sp.issparse(check_points(sp.coo_array([[1.0]])))
    assert check_points([[1e30]]).item() == 1e30


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0, -0.5], "negative"),
        ([0.0, 0.0], "sum to zero"),
        ([1.0], "one entry per sample"),
        ([np.nan, 1.0], "NaN"),
        (["a", "b"], "numbers"),
    ],
)
def test_bad_weights(weights, words):
    with pytest.raises(InputError, match=words):
        check_weights(weights, 2)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_weights_of_any_scale_sum_to_one(scale):
    assert check_weights(np.array([1.0, 3.0]) * scale, 2) == pytest.approx([0.25, 0.75])


@pytest.mark.parametrize("position", [-0.01, 1.01, np.nan, "half", None])
def test_bad_positions(position):
    with pytest.raises(InputError, match=r"\[0, 1\]"):
        check_position(position)


@pytest.mark.parametrize("value", [-0.1, 1.0, np.nan, "x"])
def test_bad_fractions(value):
    with pytest.raises(InputError, match="drop_fraction"):
        check_fraction(value, "drop_fraction")
