"""Overlap of two domains, and estimates that are refused where there is none."""

import numpy as np
import pytest

from driftfit.datasets.toy import moving_gaussians
from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.selection import (
    overlap,
    rows_to_label,
)


def clouds(shift, n=400, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(n, d)) + shift


@pytest.mark.parametrize(("shift", "estimable"), [(0.0, True), (0.2, True), (1.0, True), (2.5, False), (9.0, False)])
def test_auc_of_moved_clouds(shift, estimable):
    found = overlap(*clouds(shift))
    assert found.estimable == estimable
    assert found.low <= found.auc <= found.high
    assert ("label 97 rows" in found.sentence) != estimable


def test_the_interval_holds_one_half_for_two_samples_of_one_law():
    found = [overlap(*clouds(0.0, n=150, seed=seed), seed=seed) for seed in range(20)]
    assert sum(each.low <= 0.5 <= each.high for each in found) >= 18
    assert np.mean([each.auc for each in found]) == pytest.approx(0.5, abs=0.03)


def test_a_single_value_in_a_hundred_columns_is_found():
    # What severe drift looks like in a table: one column, a code or a counter, tells the windows apart.
    rng = np.random.default_rng(0)
    before, after = rng.normal(size=(300, 100)), rng.normal(size=(300, 100))
    before[:, 17], after[:, 17] = rng.integers(0, 3, 300), rng.integers(3, 6, 300)
    assert overlap(before, after).auc > 0.98


def test_rows_without_weight_are_not_there():
    before, after = clouds(0.0)
    after[200:] += 9.0
    assert overlap(before, after).auc > 0.7
    assert overlap(before, after, weights=(None, np.repeat([1.0, 0.0], 200))).auc < 0.6


def test_at_most_so_many_rows_and_the_same_answer_twice():
    pair = clouds(0.5, n=3_000)
    assert overlap(*pair).n_rows == 2_000
    assert overlap(*pair, max_samples=100).n_rows == 200
    assert overlap(*pair, seed=3) == overlap(*pair, seed=3)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (np.zeros((9, 2)), np.zeros((9, 3)), "same columns, got 2 and 3"),
        (np.zeros((9, 2)), np.zeros((3, 2)), "at least 5 rows of each domain, got 9 and 3"),
        ([["a"], ["b"]], np.zeros((9, 1)), "source must be rows of numbers"),
        (np.zeros((9, 1)), np.full((9, 1), np.nan), "target must be a finite matrix"),
    ],
)
def test_bad_input(before, after, message):
    with pytest.raises(InputError, match=message):
        overlap(before, after)


def test_rows_to_label():
    # A proportion of one half is known to within ten points: 1.96 sqrt(0.25 / 97) = 0.0995.
    assert 1.96 * np.sqrt(0.25 / rows_to_label(0.1)) <= 0.1 < 1.96 * np.sqrt(0.25 / (rows_to_label(0.1) - 1))
    with pytest.raises(InputError, match="half_width must lie between 0 and 1, got 0"):
        rows_to_label(0)


# Estimates ------------------------------------------------------------------------------------------


def jump(size=20.0):
    """The classes stay three apart, and everything moves far away in a direction that says nothing about them."""
    path = moving_gaussians((0, 0))
    return DomainSequence([path[0], Domain(path[1].samples + np.array([0.0, size]), labels=path[1].labels, name="far")])


def test_check_marks_what_is_not_reliable():
    pd = pytest.importorskip("pandas")
    from driftfit.app import Column, History, Settings, check_frame, check_summary
    from driftfit.cli.text import accuracy_line, answer_text, check_text

    def shown(path, assume):
        X, y, year = path.as_samples()
        table = pd.DataFrame(X, columns=["u", "v"]).assign(kind=y, year=year)
        settings = Settings("kind", order=Column("year"), assume=assume, history=History.FIRST)
        found = check_summary(check_frame(table, settings))
        parts = (answer_text(found["answer"]), check_text(found), accuracy_line("old model", found["accuracy"]))
        return "\n".join(parts)

    assert "not known" in shown(jump(), "path")
    text = shown(jump(), ())
    assert "How good it is today cannot be known without labels." in text
    assert "old model: accuracy not known" in text
    assert "label 97 rows" in text
    # Where nothing moved, what was declared is all that an estimate rests on.
    quiet = shown(jump(0.0), "path")
    assert "not reliable)" not in quiet
    assert "not known" not in quiet
    assert "If labels mean what they did, expect" in quiet


def test_the_predictions_file_holds_no_number_without_overlap(tmp_path):
    pd = pytest.importorskip("pandas")
    from driftfit.app import Column, History, Settings, adapt_frame, save_run, summarise
    from driftfit.app.report.page import build_page

    X, y, year = jump().as_samples()
    table = pd.DataFrame(X, columns=["u", "v"]).assign(kind=y, year=year)
    result = adapt_frame(table, Settings(label="kind", order=Column("year"), n_generated=1, history=History.FIRST))
    assert not result.decision.estimate.estimable
    save_run(result, summarise(result), tmp_path / "RUN")
    written = pd.read_parquet(tmp_path / "RUN" / "predictions.parquet")
    assert written["estimated_accuracy"].isna().all()
    assert not written["estimated_accuracy_reliable"].any()
    unknown = "How good it is today cannot be known without labels."
    assert unknown in (tmp_path / "RUN" / "MODEL_CARD.md").read_text()
    page = build_page([summarise(result)])
    assert unknown in page
    assert "Label 97 rows to know it" in page


def test_rows_too_heavy_to_be_judged_count_as_told_apart(rng):
    """A few rows that stand for a third of a domain are in every tree's sample: nothing shows that they fit."""
    source, target = rng.normal(size=(400, 3)), rng.normal(size=(400, 3))
    heavy = np.where(np.arange(400) < 8, 25.0, 1.0)
    assert overlap(source, target).auc < 0.56
    assert overlap(source, target, weights=(heavy / heavy.sum(), None)).auc > 0.6
    # As many rows of the same weight, each light enough, can be judged.
    light = np.where(np.arange(400) < 200, 1.0, 0.5)
    assert overlap(source, target, weights=(light / light.sum(), None)).auc < 0.56
