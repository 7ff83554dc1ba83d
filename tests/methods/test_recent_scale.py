"""Rows in units of those before them: what the map computes, where it gains, and that order matters."""

import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.methods import RecentScale
from driftfit.methods.recent_scale import RecentMap, best_width
from driftfit.models import as_learner


def wandering(rng, n=2_000):
    """A level that wanders, and labels that say whether a row lies above it."""
    move, level = rng.normal(size=n), 10.0 * np.sin(np.arange(n) / 40.0)
    return np.column_stack([move + level, rng.normal(size=n), rng.random(n) < 0.5]), (move > 0).astype(int)


def windows(x, y, cut=1_200):
    return DomainSequence([Domain(x[:cut], y[:cut]), Domain(x[cut:])])


def learned(x, y, model=None):
    return as_learner(LogisticRegression() if model is None else model, np.array([0, 1])).fit(x, y)


def test_the_map_is_what_a_loop_over_the_rows_gives(rng):
    x, width = rng.normal(size=(60, 2)) * [1.0, 1e6] + [1e3, -5.0], 7
    found = RecentMap(width).fit(x).transform(x)
    for row in range(60):
        last = x[max(0, row - width + 1) : row + 1]
        spread = last.std(axis=0)
        expected = np.where(spread > 0, (x[row] - last.mean(axis=0)) / np.where(spread > 0, spread, 1.0), 0.0)
        np.testing.assert_allclose(found[row], np.clip(expected, -5, 5), atol=1e-6)


def test_neither_level_nor_unit_matters_and_flags_stay(rng):
    x = np.column_stack([rng.normal(size=200), rng.random(200) < 0.3, np.full(200, 4.0)])
    mapping = RecentMap(10).fit(x)
    np.testing.assert_allclose(mapping.transform(x * [50, 1, 1] + [9, 0, 0]), mapping.transform(x), atol=1e-9)
    np.testing.assert_array_equal(mapping.transform(x)[:, 1], x[:, 1])
    assert (mapping.transform(x + np.array([0, 0, 3]))[:, 2] == 0).all()
    assert mapping.transform(x[:1])[0, 0] == 0.0


def streams(seed, width):
    """Rows of several scales and offsets, with a flag, a constant and stretches that do not vary, and their map."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(120, 5)) * [1.0, 1e-3, 1e6, 1.0, 0.0] + [0.0, 1e8, -5.0, 0.0, 3.0]
    x[:, 3] = rng.random(120) < 0.5
    x[40:60, 0] = 7.7
    return x, RecentMap(width).fit(x)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    width=st.integers(2, 40),
    cut=st.integers(1, 119),
    future=st.sampled_from([1e9, -1e9, 1e200, 0.0, 1e-300]),
)
def test_no_later_row_changes_an_earlier_one(seed, width, cut, future):
    x, mapping = streams(seed, width)
    changed = x.copy()
    changed[cut:] = future
    whole = mapping.transform(x)[:cut]
    np.testing.assert_array_equal(mapping.transform(changed)[:cut], whole)
    np.testing.assert_array_equal(mapping.transform(x[:cut]), whole)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10_000), width=st.integers(2, 40), cuts=st.sets(st.integers(1, 119), max_size=12))
def test_a_stream_in_any_batches_gives_the_same_bit_for_bit(seed, width, cuts):
    x, mapping = streams(seed, width)
    edges = [0, *sorted(cuts), 120]
    for enough in (width - 1, 120):
        parts = [
            mapping.transform(x[start:stop], before=x[max(0, start - enough) : start])
            for start, stop in pairwise(edges)
        ]
        np.testing.assert_array_equal(np.concatenate(parts), mapping.transform(x))


def test_a_map_that_works_in_chunks_gives_the_same(monkeypatch):
    x, mapping = streams(0, 30)
    whole = mapping.transform(x)
    for size in (1, 50, 200):
        monkeypatch.setattr("driftfit.methods.recent_scale._CHUNK", size)
        np.testing.assert_array_equal(mapping.transform(x), whole)


def test_batches_without_what_came_before_are_not_the_same():
    x, mapping = streams(0, 10)
    assert (mapping.transform(x[60:])[:9, 0] != mapping.transform(x)[60:69, 0]).any()


def test_rows_before_must_have_the_same_columns():
    x, mapping = streams(0, 10)
    with pytest.raises(ValueError, match="3 features"):
        mapping.transform(x, before=x[:, :3])
    with pytest.raises(ValueError, match="NaN"):
        mapping.transform(x, before=np.full((2, 5), np.nan))


def test_what_does_not_vary_is_nought_and_an_offset_does_not_matter(rng):
    x = rng.integers(-1000, 1000, size=(200, 1)) * 1.0
    x[100:150] = 0.1
    mapping = RecentMap(20).fit(x)
    assert (mapping.transform(x)[120:150] == 0).all()
    # Sums of three tenths in another order: only rounding varies.
    sums = np.where(np.arange(60) % 2, 0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1)[:, None]
    assert np.ptp(sums) > 0
    assert (mapping.transform(sums) == 0).all()
    # Whole numbers keep their differences beside an offset of 2 ** 45.
    x[100:150] = 5.0
    np.testing.assert_array_equal(mapping.transform(x + 2.0**45), mapping.transform(x))


def test_many_rows_take_no_long_time(rng):
    x = rng.normal(size=(50_000, 20))
    mapping = RecentMap(96).fit(x[:1_000])
    started = time.perf_counter()
    mapping.transform(x)
    # About half a second; a loop over rows takes minutes.
    assert time.perf_counter() - started < 15


def test_a_width_that_is_none_is_named():
    with pytest.raises(InputError, match="at least 2, got 1"):
        RecentMap(1).fit(np.zeros((4, 1)))


def test_it_gains_where_labels_depend_on_the_rows_before(rng):
    x, y = wandering(rng)
    old = learned(x[:1_200], y[:1_200])
    adaptation = RecentScale().adapt(old, windows(x, y))
    gain = (adaptation.learner.logits(x[1_200:]).argmax(axis=1) == y[1_200:]).mean() - (
        old.logits(x[1_200:]).argmax(axis=1) == y[1_200:]
    ).mean()
    assert gain > 0.1


def test_too_few_rows_are_named(rng):
    with pytest.raises(InputError, match="20 labelled rows are too few"):
        best_width(rng.normal(size=(20, 1)), np.arange(20) % 2)


def test_the_width_is_found_where_none_is_given(rng):
    x, y = wandering(rng, 900)
    student = RecentScale().adapt(learned(x[:600], y[:600]), windows(x, y, 600)).learner
    assert (student.logits(x[600:]).argmax(axis=1) == y[600:]).mean() > 0.75
