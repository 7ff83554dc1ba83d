"""Order values and labels keep what they are: the order of categories, every digit, their own type, their gaps."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from driftfit import Domain, DomainSequence, GOATClassifier
from driftfit.checks import check_points, check_weights
from driftfit.domains import ByEdges, ByQuantile, ByValue, from_table
from driftfit.domains.order import rank
from driftfit.errors import InputError
from driftfit.transport import transport

LEVELS = ["lo", "mid", "hi", "top"]
WORDS = [LEVELS[(3 * k) % 4] for k in range(24)]
X = np.arange(24.0)[:, None]
Y = np.arange(24) // 4 % 2

ORDERED = {
    "categorical": pd.Categorical(WORDS, categories=LEVELS, ordered=True),
    "with an unused category": pd.Categorical(WORDS, categories=["none", *LEVELS, "more"], ordered=True),
    "series": pd.Series(pd.Categorical(WORDS, categories=LEVELS, ordered=True)),
    "index": pd.CategoricalIndex(WORDS, categories=LEVELS, ordered=True),
    "polars": pl.Series(WORDS, dtype=pl.Enum(LEVELS)),
    "pyarrow": pa.array(pd.Categorical(WORDS, categories=LEVELS, ordered=True)),
}


def names(sequence):
    return [domain.name for domain in sequence]


class TestOrder:
    @pytest.mark.parametrize("kind", ORDERED)
    def test_ordered_categories_keep_their_order(self, kind):
        sequence = DomainSequence.from_samples(X, Y, ORDERED[kind])
        assert names(sequence) == LEVELS
        assert sequence.source.samples.ravel().tolist() == [k for k in range(24) if WORDS[k] == "lo"]

    def test_in_fit(self):
        clf = GOATClassifier(LogisticRegression(), n_generated=0).fit(X, Y, sample_domain=ORDERED["categorical"])
        assert [record.name for record in clf.path_] == LEVELS[1:]

    @pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
    @pytest.mark.parametrize("windows", [ByValue(), ByQuantile(4), ByEdges(["mid", "hi", "top"])])
    def test_in_tables(self, make, windows):
        order = ORDERED["polars"] if make is pl.DataFrame else ORDERED["categorical"]
        order = ORDERED["pyarrow"] if make is pa.table else order
        table = make({"x": X.ravel(), "y": Y, "level": order})
        assert names(from_table(table, label="y", order="level", windows=windows)) == LEVELS

    def test_categories_without_an_order_are_words(self):
        with pytest.raises(InputError, match="give the order: --order-words"):
            DomainSequence.from_samples(X, Y, pd.Categorical(WORDS))
        towns = [{"lo": "Ulm", "mid": "Bonn", "hi": "Kiel"}.get(word, "Aachen") for word in WORDS]
        assert names(DomainSequence.from_samples(X, Y, pd.Categorical(towns))) == sorted(set(towns))

    def test_arrays_of_pyarrow(self):
        sequence = DomainSequence.from_samples(X, pa.array(Y), pa.chunked_array([np.repeat([7, 8], 12)]))
        assert names(sequence) == ["7", "8"]
        assert sequence.source.labels.tolist() == Y[:12].tolist()

    def test_complex_numbers_have_no_order(self):
        with pytest.raises(InputError, match="no order"):
            DomainSequence.from_samples(X, Y, np.repeat([1j, 2j], 12))
        table = pd.DataFrame({"x": X.ravel(), "y": Y, "t": np.repeat([1j, 2j], 12)})
        with pytest.raises(InputError, match="no order"):
            from_table(table, label="y", order="t", windows=ByValue())

    def test_a_missing_category_is_missing(self):
        gaps = pd.Categorical([None if word == "lo" else word for word in WORDS], LEVELS[1:], ordered=True)
        with pytest.raises(InputError, match="missing for 6 of 24"):
            DomainSequence.from_samples(X, Y, gaps)
        table = pd.DataFrame({"x": X.ravel(), "y": Y, "t": gaps})
        with pytest.raises(InputError, match="missing in 6 rows"):
            from_table(table, label="y", order="t", windows=ByValue())

    @pytest.mark.parametrize("base", [2**53, 2**62, 2**63 + 5, -(2**62)])
    @pytest.mark.parametrize("windows", [ByValue(), ByQuantile(3), "edges"])
    def test_large_whole_numbers_keep_every_digit(self, base, windows):
        values = [base + k % 3 for k in range(24)]
        expected = [str(base + k) for k in range(3)]
        order = np.array(values, dtype=np.uint64 if base > 2**63 else np.int64)
        assert names(DomainSequence.from_samples(X, Y, order)) == expected
        assert names(DomainSequence.from_samples(X, Y, values)) == expected
        windows = ByEdges([base + 1, base + 2]) if windows == "edges" else windows
        table = pd.DataFrame({"x": X.ravel(), "y": Y, "t": order})
        assert names(from_table(table, label="y", order="t", windows=windows)) == expected

    def test_small_edges_for_unsigned_numbers(self):
        order = np.array([2**63 + k % 2 for k in range(24)], dtype=np.uint64)
        table = pd.DataFrame({"x": X.ravel(), "y": Y, "t": order})
        assert len(from_table(table, label="y", order="t", windows=ByEdges([5, 2**63 + 1]))) == 2

    def test_lists_are_refused_and_tuples_ordered_as_tuples(self):
        lists = [[k % 3, 10 - k] for k in range(24)]
        with pytest.raises(InputError, match="cannot be put in order"):
            DomainSequence.from_samples(X, Y, lists)
        for windows in (ByValue(), ByQuantile(3)):
            table = pl.DataFrame({"x": X.ravel(), "y": Y, "t": [[k % 3] for k in range(24)]})
            with pytest.raises(InputError, match="cannot be put in order"):
                from_table(table, label="y", order="t", windows=windows)
        tuples = [(2, 1), (10, 0), (2, 0)] * 8
        assert names(DomainSequence.from_samples(X, Y, tuples)) == ["(2, 0)", "(2, 1)", "(10, 0)"]

    @pytest.mark.parametrize("windows", [ByValue(), ByQuantile(2)])
    @pytest.mark.parametrize(
        ("low", "high"),
        [
            (decimal.Decimal("2.5"), decimal.Decimal("10.25")),
            (b"a", b"\xff"),
            (pd.Timestamp("2020-01-01").date(), pd.Timestamp("2020-02-01").date()),
        ],
    )
    def test_other_values_are_ordered_as_what_they_are(self, low, high, windows):
        table = pd.DataFrame({"x": X.ravel(), "y": Y, "t": pd.Series([high, low] * 12, dtype=object)})
        sequence = from_table(table, label="y", order="t", windows=windows)
        assert sequence.source.samples[0, 0] == 1.0
        assert len(sequence) == 2


class TestLabels:
    @pytest.mark.parametrize("later", [99, "unknown", None, np.nan, 2.5, b"x", [1], 2**70, decimal.Decimal(3)])
    def test_later_labels_change_no_type(self, later):
        labels = [2, 10, 33, 10] * 3 + [later] * 12
        for y in (labels, pd.Series(labels, dtype=object), tuple(labels)):
            source = DomainSequence.from_samples(X, y, np.repeat([0, 1], 12)).source
            assert source.labels.dtype == np.int64
            assert source.classes.tolist() == [2, 10, 33]
        table = pd.DataFrame({"x": X.ravel(), "y": pd.Series(labels, dtype=object), "t": np.repeat([0, 1], 12)})
        assert from_table(table, label="y", order="t", windows=ByValue()).source.labels.dtype == np.int64

    def test_gaps_take_no_digits(self):
        big = 2**53
        frame = pl.DataFrame({"x": X.ravel(), "y": [big + k % 2 for k in range(12)] + [None] * 12, "t": [0, 1] * 12})
        frame = frame.with_columns(t=pl.Series(np.repeat([0, 1], 12)))
        sequence = from_table(frame, label="y", order="t", windows=ByValue())
        assert sequence.source.classes.tolist() == [big, big + 1]

    def test_unsigned_labels_do_not_wrap(self):
        labels = np.array([2**63, 2**63 + 1] * 12, dtype=np.uint64)
        for y in (labels, labels.tolist(), labels.astype(object)):
            sequence = DomainSequence.from_samples(X, y, np.repeat([0, 1], 12))
            assert sequence.source.classes.tolist() == [2**63, 2**63 + 1]
            clf = GOATClassifier(LogisticRegression(), n_generated=0).fit(X, y, sample_domain=np.repeat([0, 1], 12))
            assert set(clf.predict(X).tolist()) <= {2**63, 2**63 + 1}

    @pytest.mark.parametrize(
        "labels",
        [
            np.array([1 + 2j, 3.0] * 12),
            [b"a", b"b"] * 12,
            [[1], [2, 3]] * 12,
            [{"a": 1}, {"a": 2}] * 12,
            [1, "a"] * 12,
            [2**64, -1] * 12,
        ],
    )
    def test_what_cannot_be_a_class_is_refused(self, labels):
        with pytest.raises(InputError, match="whole numbers or words"):
            DomainSequence.from_samples(X, labels, np.repeat([0, 1], 12))

    def test_a_masked_label_is_missing(self):
        labels = np.ma.array([0, 1] * 12, mask=[False] * 12 + [True] * 12)
        sequence = DomainSequence.from_samples(X, labels, np.repeat([0, 1], 12))
        assert sequence.source.labels.tolist() == [0, 1] * 6
        assert sequence.target.labels is None
        one = DomainSequence.from_samples(
            X, np.ma.array([0, 1] * 12, mask=[True] + [False] * 23), np.repeat([0, 1], 12)
        )
        assert one.source.labels.tolist() == ([0, 1] * 6)[1:]
        with pytest.raises(InputError, match="sample_domain is missing for 1"):
            DomainSequence.from_samples(X, Y, np.ma.array(np.repeat([0, 1], 12), mask=[True] + [False] * 23))

    def test_labels_of_several_types_come_back_each_as_it_was(self):
        sequence = DomainSequence([Domain([[0.0], [1.0]], [2, 10]), Domain([[2.0]], ["unknown"])])
        assert sequence.as_samples()[1].tolist() == [2, 10, "unknown"]


class TestNumbers:
    def test_masks_hold_in_fit_and_predict(self):
        clf = GOATClassifier(LogisticRegression(), n_generated=0).fit(X, Y, sample_domain=np.repeat([0, 1], 12))
        for masked in (np.ma.array(X, mask=X == 3), np.ma.array(X.astype(int), mask=X == 3)):
            with pytest.raises(ValueError, match="NaN"):
                clf.predict(masked)
            with pytest.raises(ValueError, match="NaN"):
                clf.fit(masked, Y)
        with pytest.raises(InputError, match="NaN"):
            Domain([np.ma.array([1.0, 2.0], mask=[True, False])])

    @pytest.mark.parametrize("points", [X + 1j, (X + 1j).tolist(), sp.csr_array(X + 1j), pd.DataFrame(X + 1j)])
    def test_complex_numbers_are_refused(self, points):
        with pytest.raises(InputError, match="real numbers"):
            check_points(points)
        with pytest.raises(InputError, match="real numbers"):
            Domain(points)
        with pytest.raises(InputError, match="real numbers"):
            transport(points, X)
        with pytest.raises(InputError, match="real numbers"):
            check_weights(np.array([1.0, 1j]), 2)

    @pytest.mark.parametrize("dtype", [float, int])
    def test_what_a_mask_hides_is_missing(self, dtype):
        masked = np.ma.array(X.astype(dtype), mask=X == 3)
        for check in (check_points, Domain, lambda points: transport(points, X)):
            with pytest.raises(InputError, match="NaN"):
                check(masked)
        assert np.isnan(Domain(masked, allow_missing=True).samples).sum() == 1
        with pytest.raises(InputError, match="NaN"):
            check_weights(np.ma.array([1.0, 2.0], mask=[True, False]), 2)
        assert check_points(np.ma.array(X)).tolist() == X.tolist()

    def test_complex_tensors_are_refused(self):
        torch = pytest.importorskip("torch")
        with pytest.raises(InputError, match="real numbers"):
            Domain(torch.ones(3, 2, dtype=torch.complex64))
        with pytest.raises(InputError, match="real numbers"):
            transport(torch.ones(3, 2, dtype=torch.complex64), torch.ones(3, 2))

    def test_dates_are_no_numbers(self):
        with pytest.raises(InputError, match="must be numbers"):
            check_points(np.array([["2020-01-01"], ["2021-01-01"]], dtype="datetime64[D]"))

    @pytest.mark.parametrize("form", ["coo", "csr", "csc", "lil", "dok", "bsr", "dia"])
    @pytest.mark.parametrize("make", ["array", "matrix"])
    def test_every_sparse_format_is_taken(self, form, make):
        points = getattr(sp, f"{form}_{make}")(X)
        clf = GOATClassifier(LogisticRegression(), n_generated=1)
        clf.fit(points, Y, sample_domain=np.repeat([0, 1], 12))
        assert clf.predict(sp.csr_array(X)).shape == (24,)


def test_columns_may_be_numbered():
    table = pd.DataFrame(np.column_stack([X, X])).assign(y=Y, t=np.repeat([0, 1], 12))
    assert from_table(table, label="y", order="t", windows=ByValue()).source.samples.shape == (12, 2)


@pytest.mark.parametrize(
    "words",
    [
        ["month 2", "month 10"],
        ["27/10/2023", "01/11/2022"],
        ["12-31-22", "01-01-23"],
        ["03.04.2021", "04.04.2021"],
        ["Oct 2023", "Sep 2023"],
        ["January", "February"],
        ["Q4 2022", "Q1 2023"],
        ["10", "9"],
        ["v1.9", "v1.10"],
    ],
)
def test_text_whose_order_as_words_is_wrong_is_refused(words):
    for values in (words, np.array(words)):
        with pytest.raises(
            InputError, match=r"order as words is not that of time or numbers: .*write dates as 2023-10-27"
        ):
            rank(values, "month")


@pytest.mark.parametrize(
    "words",
    [
        ["2023-10-02", "2023-10-27", "2024-01-01"],
        ["2023-10-02T05:00:00", "2023-10-02T15:00:00"],
        ["2023Q4", "2024Q1"],
        ["Q1 2023", "Q2 2023"],
        ["1905-1935", "1936-1950"],
        ["week 02", "week 10"],
        ["0.25", "0.5"],
        ["a", "a b", "b"],
        ["market", "may"],
        ["early", "late"],
        ["27/10/2023"],
    ],
)
def test_text_whose_order_as_words_is_right_is_taken(words):
    assert rank(words[::-1], "month").values == tuple(words)


def test_ordered_categories_have_the_order_they_say():
    months = pd.Categorical(["Oct", "Sep"], categories=["Sep", "Oct"], ordered=True)
    assert rank(pd.Series(months), "month").ranks.tolist() == [1, 0]
