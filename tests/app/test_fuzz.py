"""Whatever the table looks like: a right answer or one line that says what is wrong, and never half a folder."""

import contextlib
import importlib.util
import io
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from driftfit.app import load_run
from driftfit.cli import main

_spec = importlib.util.spec_from_file_location("fuzz_long", Path(__file__).with_name("fuzz_long.py"))
fuzz_long = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(fuzz_long)
malformed = fuzz_long.malformed


def run(arguments):
    """The command line in this process: exit code and stderr."""
    old, code = sys.argv, 0
    sys.argv = ["driftfit", *map(str, arguments)]
    errors = io.StringIO()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            main()
    except SystemExit as leaving:
        code = leaving.code or 0
    finally:
        sys.argv = old
    return code, errors.getvalue()


def verify(code, stderr, folder, run_folder):
    """A right answer in a whole folder, or an error in one line and nothing written."""
    assert "Traceback" not in stderr
    assert "unexpected" not in stderr, stderr
    if code == 0:
        loaded = load_run(run_folder)
        predictions = pd.read_parquet(run_folder / "predictions.parquet")
        assert len(predictions) == loaded.summary["data"]["n_target"] > 0
        assert predictions["predicted_probability"].between(0, 1).all()
        assert set(predictions["prediction"].map(str)) <= set(loaded.summary["data"]["classes"])
        assert (run_folder / "report.html").stat().st_size < 6_000_000
        return
    assert code in (1, 2), stderr
    lines = [line for line in stderr.splitlines() if line.startswith("driftfit:")]
    assert len(lines) == 1 or code == 2, stderr
    assert not run_folder.exists()
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


def fuzz(n_cases):
    """So many malformed tables through `adapt`; returns the exit codes."""
    codes = []

    @settings(max_examples=n_cases)
    @given(case=malformed.malformed())
    def one(case):
        frame, kind, _, seed = case
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            path = malformed.write(frame, kind, folder)
            rule = [["--windows", "3"], ["--window-by", "month"], ["--given", "30,60"], []][seed % 4]
            number = ["1", "auto"][seed // 16 % 2]
            word = ["goat", "gst", "direct", "source"][seed // 4 % 4]
            model = ["--method", word, *(["--generated", number] if word == "goat" else [])]
            options = ["--label", malformed.LABEL, "--order", malformed.ORDER, *rule, *model, "-o", folder / "RUN"]
            code, stderr = run(["adapt", path, *options])
            codes.append(code)
            verify(code, stderr, folder, folder / "RUN")

    one()
    return codes


@pytest.mark.timeout(300)
def test_malformed_tables():
    codes = fuzz(40)
    assert {0, 1} <= set(codes)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_500_malformed_tables():
    codes = fuzz(500)
    # Both ends are reached: many tables are refused, and a good part is used in spite of what is wrong with it.
    assert codes.count(0) >= 25
    assert codes.count(1) >= 100


@pytest.mark.parametrize("seed", range(0, 20_000, 2_000))
def test_check_adapt_and_predict_of_malformed_tables(seed):
    counts, complaints = fuzz_long.case(seed)
    assert complaints == []
    assert counts


def test_the_long_fuzzer_notices_what_is_wrong():
    assert fuzz_long.complaint(0, "") == ""
    assert fuzz_long.complaint(1, "driftfit: no\n") == ""
    assert fuzz_long.complaint(0, "driftfit: warning: a\ndriftfit: warning: b\n") == ""
    assert fuzz_long.complaint(1, "Traceback (most recent call last)")
    assert fuzz_long.complaint(1, "driftfit: unexpected KeyError: 1 (please report it)")
    assert fuzz_long.complaint(1, "driftfit: one\ndriftfit: two\n")
    assert fuzz_long.complaint(-11, "")


@pytest.mark.slow
def test_ten_thousand_columns(tmp_path):
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(150, 10_000)), columns=[f"c{k}" for k in range(10_000)])
    wide = wide.assign(label=np.arange(150) % 2, when=np.arange(150))
    wide["c0"] += 5 * wide["label"]
    wide.to_parquet(tmp_path / "wide.parquet")
    options = ["--label", "label", "--order", "when", "--windows", "2", "--generated", "1", "-o", tmp_path / "RUN"]
    code, stderr = run(["adapt", tmp_path / "wide.parquet", *options])
    assert code == 0, stderr
    verify(code, stderr, tmp_path, tmp_path / "RUN")


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ("no label", 1, "the table has no column 'label'; it has x, y, word, when"),
        ("constant order", 1, "order column 'when' is constant (5)"),
    ],
)
@pytest.mark.slow
def test_in_a_process_of_its_own(tmp_path, change, code, words):
    frame = malformed.CHANGES[change](malformed.sound(0, 40), 0)
    frame.to_csv(tmp_path / "table.csv", index=False)
    arguments = ["adapt", "table.csv", "--label", "label", "--order", "when", "-o", "RUN"]
    done = subprocess.run(
        [sys.executable, "-m", "driftfit.cli", *arguments], capture_output=True, text=True, cwd=tmp_path, timeout=120
    )
    assert done.returncode == code
    assert words in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.csv"]


def test_the_helper_notices_half_a_folder_and_a_traceback(tmp_path):
    (tmp_path / "RUN").mkdir()
    with pytest.raises(AssertionError):
        verify(1, "driftfit: no", tmp_path, tmp_path / "RUN")
    with pytest.raises(AssertionError):
        verify(1, "Traceback (most recent call last)", tmp_path, tmp_path / "other")
    with pytest.raises(AssertionError):
        verify(1, "driftfit: one\ndriftfit: two", tmp_path, tmp_path / "other")
