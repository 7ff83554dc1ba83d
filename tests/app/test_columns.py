"""What columns are taken for, and the features they become."""

import numpy as np
import pandas as pd
import pytest

from driftfit.app.columns import ColumnPlan, Kind, conform, plan_columns
from driftfit.app.features import as_matrix, feature_owners, make_preprocessing
from driftfit.errors import InputError

N = 200


def table(rng):
    return pd.DataFrame(
        {
            "number": rng.normal(size=N),
            "gaps": np.where(rng.random(N) < 0.2, np.nan, rng.normal(size=N)),
            "flag": rng.random(N) < 0.5,
            "yes": rng.choice(["yes", "no"], N),
            "city": rng.choice(["Köln", "東京", "x"], N),
            "shop": [f"shop {k}" for k in rng.integers(0, 60, N)],
            "id": [f"u{k}" for k in range(N)],
            "one": 7,
            "empty": None,
            "when": pd.Timestamp("2024-01-01", tz="UTC") + pd.to_timedelta(rng.integers(0, 9000, N), "h"),
            "day": [f"2024-01-{1 + k % 28:02d}" for k in range(N)],
            "text number": [str(k / 7) for k in range(N)],
            "lists": [[k] for k in range(N)],
        }
    )


def test_every_kind_is_recognised(rng):
    kinds = {plan.column: plan.kind for plan in plan_columns(table(rng))}
    assert kinds == {
        "number": Kind.NUMBER,
        "gaps": Kind.NUMBER,
        "flag": Kind.BOOLEAN,
        "yes": Kind.BOOLEAN,
        "city": Kind.CATEGORY,
        "shop": Kind.MANY_CATEGORIES,
        "id": Kind.DROPPED,
        "one": Kind.DROPPED,
        "empty": Kind.DROPPED,
        "when": Kind.DATE,
        "day": Kind.DATE,
        "text number": Kind.NUMBER,
        "lists": Kind.NUMBERS,
    }


def test_high_cardinality_and_constants_are_reported(rng):
    notes = {plan.column: plan.note for plan in plan_columns(table(rng))}
    assert "high cardinality" in notes["id"]
    assert "high cardinality" in notes["shop"]
    assert notes["one"] == "constant (7)"
    assert "values missing" in notes["gaps"]


def test_features_are_finite_and_each_has_an_owner(rng):
    frame = table(rng)
    plans = plan_columns(frame)
    conformed = conform(frame, plans)
    preprocessing = make_preprocessing(plans).fit(conformed)
    matrix = as_matrix(preprocessing, conformed)
    owners = feature_owners(preprocessing, plans)
    assert np.isfinite(matrix).all()
    assert len(owners) == matrix.shape[1]
    assert owners.count("city") == 3
    assert owners.count("shop") == 20
    assert owners.count("when") == 6


def test_new_rows_of_other_types_give_the_same_features(rng):
    frame = table(rng)
    plans = plan_columns(frame)
    preprocessing = make_preprocessing(plans).fit(conform(frame, plans))
    as_text = frame.astype(str).assign(gaps=frame["gaps"], when=frame["when"], lists=frame["lists"])
    expected = as_matrix(preprocessing, conform(frame, plans))
    np.testing.assert_allclose(as_matrix(preprocessing, conform(as_text, plans)), expected, atol=1e-9)


def test_unknown_words_and_missing_values_are_no_obstacle(rng):
    frame = table(rng)
    plans = plan_columns(frame)
    preprocessing = make_preprocessing(plans).fit(conform(frame, plans))
    empty = pd.DataFrame({name: [None, None] for name in frame.columns})
    assert np.isfinite(as_matrix(preprocessing, conform(empty, plans))).all()
    odd = pd.DataFrame({name: ["never seen"] for name in frame.columns})
    assert np.isfinite(as_matrix(preprocessing, conform(odd, plans))).all()


def test_huge_and_infinite_numbers_count_as_missing():
    frame = pd.DataFrame({"x": [1e300, np.inf, -np.inf, 1.0, 2.0]})
    (plan,) = plan_columns(frame)
    assert plan.note == "3 of 5 values missing, not numbers, or out of range"
    assert np.isnan(conform(frame, (plan,))["x"]).sum() == 3


def test_constants_are_told_by_what_is_read():
    frame = pd.DataFrame(
        {"a": [np.inf, 1.0, 1.0], "b": np.array([2**63, 2**63 + 1, 2**63 + 2], np.uint64), "x": [1, 2, 3]}
    )
    a, b, _ = plan_columns(frame)
    assert a.note.startswith("constant (1), 1 of 3")
    assert b.note == "constant (as far as float64 can tell, such as 9223372036854775808)"


def test_a_missing_column_is_named():
    with pytest.raises(InputError, match="no column 'x'"):
        conform(pd.DataFrame({"y": [1.0]}), (ColumnPlan("x", Kind.NUMBER),))


def test_a_table_without_features_is_refused():
    with pytest.raises(InputError, match="no column is left"):
        plan_columns(pd.DataFrame({"one": [1, 1, 1]}))


def test_plans_survive_json():
    plan = ColumnPlan("x", Kind.DATE, "note")
    assert ColumnPlan.from_dict(plan.to_dict()) == plan
