import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from driftfit import Domain, DomainSequence
from driftfit.domains import ByEdges, ByQuantile, ByValue, from_table
from driftfit.errors import InputError


def table(n=12, **columns):
    base = {"x": np.arange(n, dtype=float), "z": np.arange(n) % 3, "y": np.arange(n) % 2, "t": np.arange(n)}
    return pd.DataFrame(base | columns)


class TestDomain:
    def test_is_frozen_and_scales_weights(self):
        domain = Domain([[1, 2], [3, 4]], weights=[1, 3])
        assert domain.weights.tolist() == [0.25, 0.75]
        with pytest.raises(AttributeError):
            domain.name = "other"

    @pytest.mark.parametrize("n_rare", [1, 7])
    def test_a_sample_keeps_every_class(self, n_rare):
        labels = np.where(np.arange(20_000) < n_rare, "rare", "common")
        source = DomainSequence([Domain(np.zeros((20_000, 1)), labels), Domain([[0.0]])]).source
        for seed in range(5):
            sample = source.subsample(100, seed)
            assert len(sample) == 100
            assert (sample.labels == "rare").sum() == min(n_rare, 5)

    @pytest.mark.parametrize("labels", [[None, None], [np.nan, np.nan], np.array(["NaT"] * 2, dtype="datetime64[D]")])
    def test_all_missing_labels_are_absent(self, labels):
        assert Domain([[1.0], [2.0]], labels=labels).labels is None

    def test_labels_beside_missing_ones_get_their_type_back(self):
        assert Domain([[1.0], [2.0]], labels=np.array([1, 0], dtype=object)).labels.dtype.kind == "i"
        assert Domain([[1.0], [2.0]], labels=np.array(["a", "b"], dtype=object)).labels.dtype.kind == "U"

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"samples": [[1.0], [np.nan]]}, "imputer"),
            ({"samples": np.zeros((0, 2))}, "empty"),
            ({"samples": [1.0, 2.0]}, "reshape"),
            ({"samples": [[1.0], [2.0, 3.0]]}, "table"),
            ({"samples": [[1.0]], "labels": [0, 1]}, "one label per sample"),
            ({"samples": [[1.0]], "weights": [-1.0]}, "negative"),
        ],
    )
    def test_bad_input(self, arguments, words):
        with pytest.raises(InputError, match=words):
            Domain(**arguments)

    def test_missing_values_only_on_request(self):
        assert len(Domain([[np.nan]], allow_missing=True)) == 1

    def test_keeps_sparse_and_frames(self):
        assert sp.issparse(Domain(sp.csr_matrix([[1.0]])).samples)
        assert isinstance(Domain(pd.DataFrame({"a": ["u", "v"]})).samples, pd.DataFrame)


class TestSequence:
    def test_splits_in_order_and_keeps_rows_together(self):
        X = np.arange(6.0)[:, None]
        sequence = DomainSequence.from_samples(X, [5, 0, 5, 1, 5, 0], ["b", "a", "c", "a", "b", "a"], np.arange(1, 7))
        assert [domain.name for domain in sequence] == ["a", "b", "c"]
        assert sequence.source.samples.ravel().tolist() == [1, 3, 5]
        assert sequence.source.labels.tolist() == [0, 1, 0]
        assert sequence.source.weights == pytest.approx(np.array([2, 4, 6]) / 12)
        assert sequence.n_given == 1

    def test_masking_removes_every_label_but_the_sources(self):
        masked = DomainSequence([Domain([[0.0], [1.0]], [0, 1]) for _ in range(3)]).masked()
        assert [domain.labels is None for domain in masked] == [False, True, True]

    @pytest.mark.parametrize(
        ("y", "domain", "words"),
        [
            ([0, 1, 0, 1], [1, 1, 1, 1], "single value"),
            ([0, 1, 0, 1], [1, "a", 2, "b"], "cannot be put in order"),
            ([0, 1, 0, 1], [1, 1, 2, None], "missing for 1 of 4"),
            ([0, 1, 0, 1], [1, 1, 2], "one entry for each of the 4"),
            ([np.nan] * 4, [1, 1, 2, 2], "no labels"),
            (None, [1, 1, 2, 2], "y is None"),
        ],
    )
    def test_bad_input(self, y, domain, words):
        with pytest.raises(InputError, match=words):
            DomainSequence.from_samples(np.zeros((4, 1)), y, domain)

    def test_different_features(self):
        with pytest.raises(InputError, match="the same features"):
            DomainSequence([Domain(np.zeros((2, 2)), [0, 1]), Domain(np.zeros((2, 3)))])

    def test_dates_are_a_good_order(self):
        dates = pd.to_datetime(["2020-01-01", "2019-01-01", "2020-01-01", "2019-01-01"])
        sequence = DomainSequence.from_samples(np.zeros((4, 1)), [0, 1, 0, 0], dates)
        assert sequence.source.labels.tolist() == [1, 0]


class TestTables:
    def test_windows_by_value(self):
        sequence = from_table(table(t=[3, 1, 2] * 4), label="y", order="t", windows=ByValue())
        assert [domain.name for domain in sequence] == ["1", "2", "3"]
        assert sequence.source.samples[:, 0].tolist() == [1, 4, 7, 10]

    def test_windows_by_quantile_have_equal_sizes_and_never_split_ties(self):
        assert [len(d) for d in from_table(table(), label="y", order="t", windows=ByQuantile(4))] == [3, 3, 3, 3]
        tied = from_table(table(t=[0] * 7 + [1] * 5), label="y", order="t", windows=ByQuantile(4))
        assert [len(d) for d in tied] == [7, 5]

    def test_windows_by_edges(self):
        sequence = from_table(table(), label="y", order="t", windows=ByEdges([4, 10]))
        assert [(d.name, len(d)) for d in sequence] == [("0..3", 4), ("4..9", 6), ("10..11", 2)]

    def test_labels_may_be_missing_after_the_first_window(self):
        y = [0, 1, 0] + [None] * 9
        sequence = from_table(table(y=y), label="y", order="t", windows=ByQuantile(4))
        assert sequence.source.labels.tolist() == [0, 1, 0]
        assert sequence.target.labels is None

    def test_other_frames_and_other_columns(self):
        frame = pl.DataFrame(table().to_dict(orient="list"))
        assert from_table(frame, label="y", order="t").source.samples.shape == (2, 2)
        text = from_table(table(c=["a"] * 12), label="y", order="t", weight="z", windows=ByQuantile(2))
        assert list(text.source.samples.columns) == ["x", "c"]
        assert text.source.weights.sum() == pytest.approx(1.0)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"label": "nope", "order": "t"}, "no column 'nope'"),
            ({"label": "y", "order": "y"}, "two columns"),
            ({"label": "y", "order": "t", "windows": ByEdges([100])}, "single window"),
        ],
    )
    def test_bad_input(self, arguments, words):
        with pytest.raises(InputError, match=words):
            from_table(table(), **arguments)

    def test_constant_or_missing_order(self):
        with pytest.raises(InputError, match="must vary"):
            from_table(table(t=1), label="y", order="t")
        with pytest.raises(InputError, match="missing in 1 rows"):
            from_table(table(t=[np.nan, *range(11)]), label="y", order="t")

    def test_not_a_table(self):
        with pytest.raises(InputError, match="data frame"):
            from_table([[1, 2]], label="y", order="t")

    def test_windows_check_themselves(self):
        with pytest.raises(InputError, match="at least 2"):
            ByQuantile(1)
