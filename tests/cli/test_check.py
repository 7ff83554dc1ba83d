"""`driftfit check` as a user runs it."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from driftfit.datasets.toy import drifting_events, moving_gaussians


def driftfit(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "driftfit.cli", *arguments], capture_output=True, text=True, cwd=cwd, timeout=280
    )


@pytest.fixture
def tables(tmp_path):
    for name, shifts in (("gradual", (0, 0.5, 1.0)), ("jump", (0, 3))):
        path = moving_gaussians(shifts)
        frame = pd.concat(
            pd.DataFrame(d.samples, columns=["u", "v"]).assign(label=d.labels, year=1990 + i)
            for i, d in enumerate(path)
        )
        frame.loc[frame.year > 1990, "label"] = np.nan
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    frame.assign(place=np.where(np.arange(len(frame)) % 2, "here", "there")).to_parquet(tmp_path / "words.parquet")
    return tmp_path


def test_verdict_and_step_table(tables):
    words = ("--label", "label", "--order", "year", "--by-value", "--assume", "path", "--verbose")
    result = driftfit("check", "gradual.csv", *words, cwd=tables)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Since 1990 one of 2 columns moved: u.\n")
    assert "\ndiagnosis: " in result.stdout
    assert "\ncheck of self-training: adapt\n" in result.stdout
    assert "1990 -> 1991" in result.stdout


def test_where_past_windows_decide_the_answer_needs_no_plan_and_no_compiler(tmp_path):
    frame = pd.DataFrame(drifting_events(400))
    frame.loc[frame["month"] > "2025-10", "churned"] = None
    frame.to_csv(tmp_path / "events.csv", index=False)
    command = ["check", "events.csv", "--label", "churned", "--order", "month"]
    code = (
        f"import sys; from driftfit.cli import run_command; run_command({command}); "
        "print([name for name in ('numba', 'skops.io', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *answer, loaded = done.stdout.splitlines()
    assert loaded == "[]"
    whole = driftfit(*command, "--json", cwd=tmp_path)
    sentences = json.loads(whole.stdout)["answer"]["sentences"]
    assert answer[: len(sentences)] == sentences


@pytest.mark.slow
def test_json_and_exit_code(tables):
    words = ["--label", "label", "--order", "year", "--by-value", "--json", "--fail-on", "untrusted"]
    calm = driftfit("check", "gradual.csv", *words, cwd=tables)
    assert calm.returncode == 0, calm.stderr
    assert json.loads(calm.stdout)["trusted"] is True
    jump = driftfit("check", "jump.csv", *words, cwd=tables)
    assert jump.returncode == 3, jump.stderr
    plain = json.loads(jump.stdout)
    assert plain["trusted"] is False
    assert plain["where"] == ["1990", "1991"]


@pytest.mark.slow
def test_tables_with_words(tables):
    result = driftfit("check", "words.parquet", "--label", "label", "--order", "year", "--by-value", cwd=tables)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.csv", "--label", "label", "--order", "year"], "there is no file 'nothing.csv'"),
        (["jump.csv", "--label", "lable", "--order", "year"], "no column 'lable'"),
    ],
)
def test_bad_input_is_one_line(tables, arguments, message):
    result = driftfit("check", *arguments, cwd=tables)
    assert result.returncode == 1
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
