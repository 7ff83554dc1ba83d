"""Labels wherever they are: pooled, as they were known at a time, and the path from the newest ones."""

import numpy as np
import pandas as pd
import pytest

from driftfit.domains import ByValue, Domain, DomainSequence, from_table
from driftfit.errors import InputError

WINDOWS = np.repeat([0, 1, 2, 3], 3)
ROWS = np.arange(12.0)[:, None]


def sequence_of(labels, **more) -> DomainSequence:
    return DomainSequence.from_samples(ROWS, labels, WINDOWS, **more)


def rows_of(domain: Domain) -> list[float]:
    return domain.samples.ravel().tolist()


class TestLabelled:
    def test_labels_of_some_rows_are_kept_where_they_are(self):
        sequence = sequence_of([0, None, 1, 1, 0, 1, None, 0, None, None, None, None])
        assert rows_of(sequence.labelled) == [0, 2, 3, 4, 5, 7]
        assert sequence.labelled.labels.tolist() == [0, 1, 1, 0, 1, 0]
        assert sequence.labelled_windows.tolist() == [0, 0, 1, 1, 1, 2]
        assert sequence.last_labelled == 2
        assert rows_of(sequence.source) == [0, 2]
        assert repr(sequence[2]) == "Domain('2', 3 x 1, partly labelled)"

    @pytest.mark.parametrize("missing", [None, np.nan, pd.NA, -1])
    def test_whatever_stands_for_a_missing_label(self, missing):
        for classes in (["a", "b"], [3, 7]):
            labels = pd.Series([*classes, classes[0]] * 3 + [missing] * 3, dtype=object)
            labels[4] = missing
            sequence = sequence_of(labels)
            assert sequence.target.labels is None
            assert rows_of(sequence.labelled) == [0, 1, 2, 3, 5, 6, 7, 8]
            assert sequence.labelled.classes.tolist() == classes

    def test_minus_one_is_a_class_where_the_first_window_uses_it(self):
        sequence = sequence_of([-1, 0, 1] * 4)
        assert sequence.labelled.classes.tolist() == [-1, 0, 1]
        table = pd.DataFrame({"x": ROWS.ravel(), "y": [-1, 1, 1] * 4, "t": WINDOWS})
        assert from_table(table, label="y", order="t", windows=ByValue()).last_labelled == 3
        table["y"] = [0, 1, 1] * 3 + [-1] * 3
        assert from_table(table, label="y", order="t", windows=ByValue()).last_labelled == 2

    def test_the_first_window_may_have_no_label(self):
        sequence = sequence_of([None] * 3 + [0, 1, 1] * 2 + [None] * 3)
        assert rows_of(sequence.labelled) == [3, 4, 5, 6, 7, 8]
        with pytest.raises(InputError, match="no labels"):
            _ = sequence.source

    def test_weights_groups_and_frames_are_pooled(self):
        sequence = sequence_of([0, 1, 1] * 3 + [None] * 3, sample_weight=[1, 1, 2] * 4, groups=np.arange(12))
        assert sequence.labelled.weights == pytest.approx(np.tile([1, 1, 2], 3) / 12)
        assert sequence.labelled.groups.tolist() == list(range(9))
        frame = pd.DataFrame({"x": ROWS.ravel(), "c": list("abcd") * 3})
        pooled = DomainSequence.from_samples(frame, [0, 1, 1] * 3 + [None] * 3, WINDOWS).labelled
        assert pooled.samples.columns.tolist() == ["x", "c"]
        assert len(pooled) == 9

    def test_classes_of_different_kinds_are_refused(self):
        with pytest.raises(InputError, match="whole numbers or words"):
            _ = sequence_of([0, 1, 1, "a", "b", "b", None, None, None, None, None, None]).labelled

    def test_the_papers_setting_has_the_first_windows_labels_alone(self):
        masked = sequence_of([0, None, 1, 1, 0, 1, None, 0, None, None, None, None]).masked()
        assert [len(domain) for domain in masked] == [2, 3, 3, 3]
        assert [domain.labels is None for domain in masked] == [False, True, True, True]
        assert masked.masked() is masked


class TestAsKnownAt:
    def test_late_labels_are_not_known_yet(self):
        sequence = sequence_of([0, 1, 1] * 4)
        assert [d.labels is None for d in sequence.as_known_at(3)] == [False, False, False, True]
        assert [d.labels is None for d in sequence.as_known_at(3, late=2)] == [False, True, True, True]
        assert len(sequence.as_known_at(1)) == 2
        assert sequence.as_known_at(3, late=2).late == 2

    def test_what_cannot_be_known_is_refused(self):
        sequence = sequence_of([0, 1, 1] * 4)
        with pytest.raises(InputError, match="no labels"):
            sequence.as_known_at(1, late=1)
        with pytest.raises(InputError, match="from 1 to 3, got 4"):
            sequence.as_known_at(4)
        with pytest.raises(InputError, match="0 or more, got -1"):
            sequence.as_known_at(2, late=-1)


class TestFromLastLabelled:
    def test_it_starts_at_the_newest_labels(self):
        path = sequence_of([0, None, 1, 1, 0, 1, None, 0, None, None, None, None]).from_last_labelled()
        assert [rows_of(domain) for domain in path] == [[0, 2, 3, 4, 5, 7], [6, 8], [9, 10, 11]]
        assert path.masked() is path

    def test_where_every_row_has_a_label_the_newest_window_stands_for_the_time_after(self):
        path = sequence_of([0, 1, 1] * 4).from_last_labelled()
        assert rows_of(path.source) == list(range(12))
        assert rows_of(path.target) == [9, 10, 11]
        assert path.target.labels is None
        assert sequence_of([0, 1, 1] * 4).late == 0

    def test_the_same_domains_each_time(self):
        sequence = sequence_of([0, 1, 1] * 3 + [None] * 3)
        assert sequence.from_last_labelled() is sequence.from_last_labelled()
        assert sequence.from_last_labelled().source is sequence.labelled
