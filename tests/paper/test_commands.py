"""``gradapt paper`` and ``gradapt datasets``."""

import pytest
from typer.testing import CliRunner

from gradapt.cli import app
from gradapt.errors import InputError

runner = CliRunner()


def test_paper_runs_a_small_table_and_a_second_call_only_prints_it(data, tmp_path):
    options = ["--seeds", "1", "--given", "0", "--generated", "0", "--samples", "60", "--device", "cpu"]
    places = ["--store", str(tmp_path / "s.sqlite"), "--output", str(tmp_path / "out")]
    first = runner.invoke(app, ["paper", "covtype", *options, *places])
    assert first.exit_code == 0, first.output
    assert "4 of 4 cells run" in first.output
    assert (tmp_path / "out" / "covtype-reference-60-samples.md").exists()
    second = runner.invoke(app, ["paper", "covtype", *options, *places])
    assert "0 of 4 cells run" in second.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mnist"], "no table 'mnist'"),
        (["covtype", "--given", "a"], "--given"),
        (["covtype", "--preset", "x"], "preset"),
    ],
)
def test_wrong_words_are_refused(tmp_path, arguments, message):
    result = runner.invoke(app, ["paper", *arguments, "--store", str(tmp_path / "s.sqlite")])
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)


def test_datasets_says_what_is_at_hand(data, monkeypatch, tmp_path):
    listed = runner.invoke(app, ["datasets", "--check"]).output
    assert "whole" in listed
    assert "missing" not in listed
    monkeypatch.setenv("GRADAPT_DATA", str(tmp_path))
    monkeypatch.setenv("GRADAPT_CACHE", str(tmp_path / "cache"))
    assert "missing" in runner.invoke(app, ["datasets"]).output
