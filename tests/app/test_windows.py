"""Order columns of every kind, cut into windows."""

import numpy as np
import pandas as pd
import pytest

from driftfit.app.windows import ByCalendar, cut_windows
from driftfit.domains import ByEdges, ByQuantile, ByValue
from driftfit.errors import InputError


def sizes(order, rule):
    windows, said = cut_windows(pd.Series(order), rule, "order column 'when'")
    return [(window.name, len(window.rows)) for window in windows], said


def test_quantiles_of_numbers():
    assert sizes(np.arange(30), ByQuantile(3)) == ([("0..9", 10), ("10..19", 10), ("20..29", 10)], [])


def test_missing_values_are_left_out_and_said():
    windows, said = sizes([1.0, None] * 10 + [2.0, None] * 10, ByValue())
    assert windows == [("1", 10), ("2", 10)]
    assert said == ["20 rows without a value of order column 'when' were left out"]


def test_mixed_time_zones_become_utc():
    early = ["2024-01-31T23:30:00-05:00"] * 6  # the first of February in UTC
    late = ["2024-02-28T12:00:00+01:00"] * 6 + ["2024-03-01T00:30:00Z"] * 6
    windows, _ = sizes(early + late, ByCalendar("month"))
    assert windows == [("2024-02", 12), ("2024-03", 6)]


def test_text_is_put_in_alphabetical_order():
    assert sizes(["b"] * 6 + ["a"] * 7, ByValue())[0] == [("a", 7), ("b", 6)]


def test_text_that_holds_numbers_is_ordered_as_numbers():
    assert sizes(["10"] * 6 + ["9"] * 7, ByValue())[0] == [("9", 7), ("10", 6)]


def test_given_values_begin_windows():
    assert [n for _, n in sizes(np.arange(100), ByEdges((20.0, 50.0)))[0]] == [20, 30, 50]
    dates = pd.date_range("2024-01-01", periods=100)
    assert [n for _, n in sizes(dates, ByEdges(("2024-02-01",)))[0]] == [31, 69]


def test_small_windows_join_a_neighbour():
    windows, said = sizes([1] * 10 + [2] * 2 + [3] * 10, ByValue())
    assert [n for _, n in windows] == [12, 10]
    assert said == ["1 windows with fewer than 5 rows joined a neighbour"]


@pytest.mark.parametrize(
    ("order", "rule", "words"),
    [
        ([1.0] * 20, ByQuantile(3), "is constant"),
        ([None] * 20, ByQuantile(3), "has no values"),
        ([1, 2, 3], ByValue(), "do not fill two windows"),
        (list(range(20)), ByCalendar("month"), "need an order column of dates"),
        (list(range(20)), ByEdges(("soon",)), "holds numbers"),
        ([float("inf"), 1.0] * 10, ByValue(), "holds infinity"),
        (list(range(2000)), ByValue(), "more than 100"),
    ],
)
def test_what_cannot_be_cut_says_why(order, rule, words):
    with pytest.raises(InputError, match=words):
        sizes(order, rule)


def test_an_unknown_period_is_refused():
    with pytest.raises(InputError, match="fortnight"):
        ByCalendar("fortnight")
