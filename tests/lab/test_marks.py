"""Expressions over records, and the marks that show them in a text."""

import pytest

from driftfit.errors import InputError
from driftfit.lab.expressions import evaluate, filled
from driftfit.lab.marks import load, refreshed, strip_marks, unmarked

RUNS = [
    {"table": "a", "seed": 0, "old": 50.0, "new": 60.0, "more": None},
    {"table": "a", "seed": 1, "old": 52.0, "new": 51.0, "more": 1.0},
    {"table": "b", "seed": 0, "old": 70.0, "new": 71.0, "more": 3.0},
]


@pytest.fixture
def results(tmp_path):
    (tmp_path / "a.json").write_text('{"speed": {"ours": 1.234}, "rows": [{"n": 10, "s": 0.5}, {"n": 20}]}')
    (tmp_path / "a.csv").write_text("row,column,value\n1,x,0.5\n2,x,\n")
    (tmp_path / "b.csv").write_text("row,column,value\n3,x,1.5\n")
    (tmp_path / "a.md").write_text("# a\n\n| p | q |\n|---|---|\n| 1 | 2 |\n\nHeld out:\n\n| p |\n|---|\n| 3 |\n")
    return tmp_path


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('one(data, table="b").new', 71.0),
        ('mean(where(data, table="a").old)', 51.0),
        ("mean(paired(new, old))", 10 / 3),
        ("low(paired(new, old))", -1.0),
        ('mean(paired(highest(data, "old", "new"), old))', 11 / 3),
        ("count(kept(data, new - old < 0))", 1),
        ('count(kept(data, table != "a"))', 1),
        ("count(more)", 2),
        ('count(known(data, "more"))', 2),
        ("median(old)", 52.0),
        ('tally(group(data, "table").table)', "a 1, b 1"),
        ('group(data, "table")[0].runs[1].new', 51.0),
        ('listed(old, ".0f")', "50, 52, 70"),
        ('pick(data[0].more, "yes", "no")', "no"),
    ],
)
def test_expressions(expression, value):
    assert evaluate(expression, RUNS) == pytest.approx(value)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("nothing", "no 'nothing' among|no 'nothing' in"),
        ('one(data, table="a")', "2 items have table='a'"),
        ("data[7]", "no 7"),
        ("__import__('os')", "not understood"),
        ("data.__class__", "no '__class__'"),
        ("(lambda: 1)()", "not understood"),
        ("[x for x in data]", "not understood"),
        ("1 +", "no expression"),
        ("old[0] > 1", "not understood"),
        ("1 / 0", "division"),
        ("'a' - 1", "unsupported"),
    ],
)
def test_what_an_expression_cannot_do(expression, words):
    with pytest.raises(InputError, match=words):
        evaluate(expression, RUNS)


def test_a_form_that_does_not_fit_is_named():
    with pytest.raises(InputError, match=r"'a' does not take the form '\.1f'"):
        filled("{data[0].table:.1f}", RUNS)


def test_missing_stays_missing():
    assert filled("{data[0].more - 1:.1f}", RUNS) == "–"


def test_files_are_read_with_numbers_as_numbers(results):
    assert load(results / "a.csv")[0] == {"row": 1, "column": "x", "value": 0.5}
    assert load(results / "a.csv")[1]["value"] is None
    assert load(results / "a.md") == ["| p | q |\n|---|---|\n| 1 | 2 |", "| p |\n|---|\n| 3 |"]
    with pytest.raises(InputError, match="cannot read"):
        load(results / "missing.json")


def test_a_figure_is_renewed_and_only_it(results):
    text = "It takes <!-- a.json: {speed.ours:.1f} -->9.9<!--/--> s, 9.9 times.\n"
    new = refreshed(text, results)
    assert new == "It takes <!-- a.json: {speed.ours:.1f} -->1.2<!--/--> s, 9.9 times.\n"
    assert refreshed(new, results) == new
    assert strip_marks(new) == "It takes 1.2 s, 9.9 times.\n"


def test_a_table_has_a_line_for_each_item(results):
    text = "<!-- a.json: for rows\nn = {n}\ntime = {s:.1f} s\n-->\n| old |\n<!--/-->\n"
    assert refreshed(text, results).endswith("-->\n| n | time |\n|---|---|\n| 10 | 0.5 s |\n| 20 | – |\n<!--/-->\n")


def test_a_table_of_a_file_is_copied_and_files_are_joined(results):
    assert "\n| p |\n|---|\n| 3 |\n<!--/-->" in refreshed("<!-- a.md: table 2 -->\n<!--/-->", results)
    assert ">3<" in refreshed("has <!-- a.csv+b.csv: {count(row)} -->?<!--/-->", results)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a <!-- a.json: {speed.ours} -->1.2", "line 1 has no end"),
        ("b\n<!-- a.json: {speed.ours} -->1.2<!--/-->", "line 2 begins with a mark"),
        ("a <!-- a.json: {speed.theirs} -->1<!--/-->", "a.json: there is no 'theirs'"),
        ("<!-- a.md: table 3 -->\n<!--/-->", "counted from 1"),
        ("a <!-- a.json: {1} -->b <!-- a.json: {2} -->2<!--/--> <!--/-->", "inside of another"),
    ],
)
def test_bad_marks_are_named(results, text, words):
    with pytest.raises(InputError, match=words):
        refreshed(text, results)


def test_measured_numbers_without_a_mark_are_found():
    assert unmarked("| a | 1.5 |\n| b | 3 % |\n| c | 12 s |\n| d | **+7.1** |\n") == [
        "| a | 1.5 |",
        "| b | 3 % |",
        "| c | 12 s |",
        "| d | **+7.1** |",
    ]
    assert unmarked("| step | 5 |\n| rule | more than 5 % of all |\n| name | s3 |\n") == []
    assert unmarked("| a | <!-- a.json: {x:.1f} -->1.5<!--/--> |\n") == []
    assert unmarked("<!-- a.json: for rows\nn = {n}\n-->\n| 1.5 |\n<!--/-->\n") == []
    assert unmarked("```\n| a | 1.5 |\n```\n") == []
    assert unmarked("All 1.5 of it, in `results/a.json`.\n") == ["All 1.5 of it, in `results/a.json`."]
    assert unmarked("All 1.5 of it.\n\nIn `results/a.json`.\n") == []
