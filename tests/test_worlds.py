"""The made-up worlds have the truth that they state, and the harness that judges on them counts right."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

FOLDER = Path(__file__).parents[1] / "benchmarks"


def benchmark(name: str) -> ModuleType:
    """A script of the benchmarks, which are no package."""
    sys.path.insert(0, str(FOLDER))
    try:
        return __import__(name)
    finally:
        sys.path.remove(str(FOLDER))


worlds = benchmark("worlds")
WORLDS = worlds.WORLDS
MANY = 20_000
EACH = pytest.mark.parametrize("name", list(WORLDS))


def numbers(rows: pd.DataFrame) -> np.ndarray:
    """Columns of numbers, what is missing as a flag and a zero."""
    columns = rows.filter(regex=r"^c\d+$")
    gaps = columns.isna().to_numpy()
    return np.column_stack([columns.fillna(0.0), gaps[:, gaps.any(axis=0)]])


def ends(name: str, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Many rows with the law of the first window, and of the last."""
    world = WORLDS[name]
    rng = np.random.default_rng([seed, 1])
    first, last = (world.draw(rng, part, MANY, np.random.default_rng(seed)) for part in (0.0, 1.0))
    return first, last


def same_labels_law(first: pd.DataFrame, last: pd.DataFrame) -> float:
    """How much worse the law of the first window describes labels of the last than their own does, per row.

    Both models are polynomials of the columns, so that neither is bound to be right.
    """
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    model = make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression(max_iter=2_000))
    half = len(last) // 2
    truth = last["label"].iloc[half:]
    losses = []
    for part in (first.iloc[:half], last.iloc[:half]):
        fitted = model.fit(numbers(part), part["label"])
        losses.append(log_loss(truth, fitted.predict_proba(numbers(last.iloc[half:])), labels=fitted.classes_))
    return losses[0] - losses[1]


@EACH
def test_windows_are_as_stated(name: str) -> None:
    world = WORLDS[name]
    frame = world.frame(3)
    assert frame["window"].value_counts(sort=False).tolist() == [world.n_rows] * world.n_windows
    assert frame["window"].is_monotonic_increasing
    assert frame["label"].notna().all()
    assert frame.equals(world.frame(3))
    features = frame.drop(columns=["label", "window"])
    assert not features.equals(world.frame(4).drop(columns=["label", "window"]))
    first = frame.loc[frame["window"] == 0, "label"]
    assert first.value_counts().min() >= 3
    assert world.fresh(3, 50).columns.tolist() == frame.columns.tolist()
    assert len(world.fresh(3, 50)) == 50


@EACH
def test_assumptions_are_stated_consistently(name: str) -> None:
    world = WORLDS[name]
    assert set(world.holds) <= set(worlds.WORDS)
    assert not set(world.holds) & set(world.refutable)
    assert "covariates" not in world.refutable, "no row without a label speaks against it"
    assert world.declared is None or world.declared in world.holds
    assert (world.still and world.holds == worlds.WORDS) or world.declared is not None or not world.holds


@pytest.mark.parametrize("name", [name for name, world in WORLDS.items() if world.declared == "covariates"])
def test_labels_keep_their_law_where_covariates_holds(name: str) -> None:
    assert same_labels_law(*ends(name)) < 0.02


@pytest.mark.parametrize(
    "name", ["concept", "concept-and-rows", "prices-relative", "offset-along", "proportions-50-10"]
)
def test_labels_change_their_law_elsewhere(name: str) -> None:
    assert same_labels_law(*ends(name)) > 0.05


@pytest.mark.parametrize("name", ["proportions-50-10", "proportions-5-60"])
def test_only_proportions_change(name: str) -> None:
    world, (first, last) = WORLDS[name], ends(name)
    old, new = (float(part) / 100 for part in name.split("-")[1:])
    assert (first["label"] == "b").mean() == pytest.approx(old, abs=0.015)
    assert (last["label"] == "b").mean() == pytest.approx(new, abs=0.015)
    assert world.declared == "proportions"
    for word in ("a", "b"):
        here, there = (part.loc[part["label"] == word, "c0"] for part in (first, last))
        assert ks_2samp(here, there).pvalue > 0.001


@pytest.mark.parametrize("name", [name for name, world in WORLDS.items() if "proportions" not in world.holds])
def test_some_class_changes_where_proportions_does_not_hold(name: str) -> None:
    first, last = ends(name)
    if name == "category-renamed":
        assert not set(last["colour"]) <= set(first["colour"])
        return
    chances = [
        ks_2samp(part.fillna(99.0), last.loc[last["label"] == word, str(part.name)].fillna(99.0)).pvalue
        for word, own in first.groupby("label")
        for _, part in own.filter(regex=r"^c\d+$").items()
    ]
    # The new class itself is what is new: the others stay as they were.
    assert name == "new-class" or min(chances) < 1e-4


@pytest.mark.parametrize("name", [name for name, world in WORLDS.items() if world.still])
def test_still_worlds_draw_all_windows_alike(name: str) -> None:
    world = WORLDS[name]
    one, other = (world.draw(np.random.default_rng(5), part, 300, np.random.default_rng(6)) for part in (0.0, 1.0))
    assert one.equals(other)


@pytest.mark.parametrize("name", ["rescaled", "prices-relative"])
def test_columns_are_the_same_in_their_own_scale(name: str) -> None:
    first, last = (numbers(part) for part in ends(name))
    if name == "prices-relative":
        first, last = (np.column_stack([np.log(part[:, 0]), part[:, 1:]]) for part in (first, last))
    own = [(part - part.mean(axis=0)) / part.std(axis=0) for part in (first, last)]
    assert all(ks_2samp(here, there).pvalue > 0.001 for here, there in zip(own[0].T, own[1].T, strict=True))
    moved = [ks_2samp(here, there).pvalue < 1e-6 for here, there in zip(first.T, last.T, strict=True)]
    assert any(moved)


def test_a_turn_keeps_distances_and_changes_columns() -> None:
    first, last = ends("turned")
    here, there = (np.cov(numbers(part).T) for part in (first, last))
    values = [np.linalg.eigvalsh(own) for own in (here, there)]
    np.testing.assert_allclose(values[0], values[1], rtol=0.06)
    assert np.abs(here - there).max() > 0.3


def test_steps_of_the_path_are_small_and_its_ends_are_far() -> None:
    frame = WORLDS["path"].frame(0)
    right = {}
    for number in range(4):
        here, there = (frame[frame["window"] == own] for own in (number, number + 1))
        right[number] = LogisticRegression().fit(numbers(here), here["label"]).score(numbers(there), there["label"])
    first, last = frame[frame["window"] == 0], frame[frame["window"] == 4]
    assert min(right.values()) > 0.8
    assert LogisticRegression().fit(numbers(first), first["label"]).score(numbers(last), last["label"]) < 0.3


def test_twins_have_the_same_rows_and_other_labels() -> None:
    one, other = (WORLDS[name].frame(1) for name in ("prices-as-they-are", "prices-relative"))
    assert one.drop(columns="label").equals(other.drop(columns="label"))
    assert (one["label"] != other["label"]).any()


def test_customers_belong_to_one_window_and_have_ten_rows() -> None:
    frame = WORLDS["nothing-customers"].frame(0)
    sizes = frame.groupby("customer")["window"].agg(["size", "nunique"])
    assert (sizes["size"] == 10).all()
    assert (sizes["nunique"] == 1).all()


def test_a_new_class_is_absent_at_first() -> None:
    first, last = ends("new-class")
    assert set(first["label"]) == {"a", "b"}
    assert (last["label"] == "c").mean() == pytest.approx(0.25, abs=0.02)


def test_the_rare_class_is_rare_in_every_window() -> None:
    frame = WORLDS["nothing-rare-class"].frame(2)
    assert frame.groupby("window")["label"].apply(lambda own: (own == "b").sum()).tolist() == [8] * 5


# The harness.


def row(**more: Any) -> dict[str, Any]:
    plain = {"table": "rescaled", "model": "logistic", "seed": 0, "arm": "frame:scale", "code": "x", "plain": 0.7}
    judged = {
        "reference": 0.7,
        "answer": 0.8,
        "upper": 0.9,
        "same": False,
        "moved": True,
        "refused": {},
        "used": "scale",
    }
    return plain | judged | {"value": 0.8, "low": 0.75, "high": 0.85, "reliable": True, "holds": True} | more


@pytest.fixture(scope="module")
def harm() -> ModuleType:
    pytest.importorskip("torch")
    return benchmark("harm")


def test_figures_of_a_few_runs(harm: ModuleType) -> None:
    rows = [
        row(),
        row(seed=1, answer=0.65, used=None, refused={"scale": "no"}, reliable=False, holds=False),
        row(seed=2, answer=0.695, holds=False),
        row(seed=3, error="InputError: no", reliable=None, answer=None, reference=None),
    ]
    (found,) = harm.summary(rows)
    assert found["runs"] == 4
    assert found["failed"] == 1
    assert found["lost a point"] == pytest.approx(1 / 3)
    assert found["mean loss"] == pytest.approx((0.05 + 0.005) / 3)
    assert found["worst"] == pytest.approx(-0.05)
    assert found["share of the possible"] == pytest.approx((0.1 - 0.05 - 0.005) / 0.6)
    assert found["refused"] == pytest.approx(1 / 3)
    assert found["coverage"] == pytest.approx(0.5)
    assert found["truth"] == "holds"
    assert "| rescaled | frame:scale | holds | 4 | 1 | 33 % |" in harm.markdown([found], 1)
    assert "2 states" in harm.markdown([found], 2)


def test_a_line_that_was_cut_off_is_left_out(harm: ModuleType, tmp_path: Path) -> None:
    store = tmp_path / "runs.jsonl"
    store.write_text(json.dumps(row()) + "\n" + json.dumps(row(answer=0.9)) + "\n" + '{"table": "resc')
    (kept,) = harm.stored(store)
    assert kept["answer"] == 0.9
    done = {harm.key_of(kept)}
    left = harm.tasks(
        ["rescaled"], ["logistic"], range(2), ["frame", "auto"], done | {("rescaled", "logistic", 0, "frame")}, False
    )
    assert [(task.seed, task.arms) for task in left] == [(0, ("auto",)), (1, ("frame", "auto"))]
    harm.work([], store, 1)
    assert store.read_text().endswith("\n")
    assert list(harm.finished(left, 1, minutes=0.0)) == []


def test_labels_after_the_first_window_are_hidden(harm: ModuleType) -> None:
    case = harm.world_case("new-class", 0)
    hidden = case.hidden
    assert hidden.loc[case.windows == 0, "label"].notna().all()
    assert hidden.loc[case.windows > 0, "label"].isna().all()
    assert len(case.truth) == 400


def test_a_run_where_nothing_moves(harm: ModuleType) -> None:
    (found,) = harm.Task("nothing-small-windows", "logistic", 0, ("frame",), False).rows()
    assert "error" not in found
    assert found["same"] is True
    assert found["answer"] == found["reference"]
    assert json.loads(json.dumps(found))["table"] == "nothing-small-windows"
