"""``driftfit paper`` and ``driftfit datasets``."""

import pytest

from driftfit.cli import main


def run(capsys, *arguments):
    """The exit code and what was printed."""
    with pytest.raises(SystemExit) as leaving:
        main(list(arguments))
    printed = capsys.readouterr()
    return leaving.value.code, printed.out, printed.err


def test_paper_runs_a_small_table_and_a_second_call_only_prints_it(data, tmp_path, capsys):
    options = ["--seeds", "1", "--given", "0", "--generated", "0", "--samples", "60", "--device", "cpu"]
    places = ["--store", str(tmp_path / "s.sqlite"), "--output", str(tmp_path / "out")]
    code, printed, errors = run(capsys, "paper", "covtype", *options, *places)
    assert code == 0, errors
    assert "4 of 4 cells run" in printed
    assert (tmp_path / "out" / "covtype-reference-60-samples.md").exists()
    assert "0 of 4 cells run" in run(capsys, "paper", "covtype", *options, *places)[1]


@pytest.mark.slow
def test_paper_runs_with_numpy_scipy_scikit_learn_and_torch_alone(data, run_without, tmp_path):
    hidden = {"pandas", "matplotlib", "rich", "pyarrow", "skops", "jinja2", "numba", "ot", "pooch", "safetensors"}
    options = ["--seeds", "1", "--given", "0", "--generated", "0,1", "--samples", "40", "--device", "cpu"]
    places = ["--store", str(tmp_path / "s.sqlite"), "--output", str(tmp_path / "out")]
    arguments = ["paper", "rotated-mnist", *options, *places]
    done = run_without(hidden, f"from driftfit.cli import main; main({arguments!r})")
    assert done.returncode == 0, done.stderr
    assert "cells run" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["mnist"], 1, "no table 'mnist'"),
        (["covtype", "--given", "a"], 2, "--given"),
        (["covtype", "--preset", "x"], 1, "preset"),
    ],
)
def test_wrong_words_are_refused(tmp_path, capsys, arguments, code, message):
    found, _, errors = run(capsys, "paper", *arguments, "--store", str(tmp_path / "s.sqlite"))
    assert found == code
    assert message in errors


def test_how_much_was_run_with_the_other_preset_is_said_where_it_is_offered(capsys):
    printed = " ".join(run(capsys, "paper", "--help")[1].split())
    assert "records of one row only of each of Tables 3 to 6" in printed


def test_datasets_says_what_is_at_hand(data, monkeypatch, tmp_path, capsys):
    listed = run(capsys, "datasets", "--check")[1]
    assert "whole" in listed
    assert "missing" not in listed
    monkeypatch.setenv("DRIFTFIT_DATA", str(tmp_path))
    monkeypatch.setenv("DRIFTFIT_CACHE", str(tmp_path / "cache"))
    listed = run(capsys, "datasets")[1]
    assert "missing" in listed
    assert max(len(line) for line in listed.splitlines()[:-1]) <= 80
