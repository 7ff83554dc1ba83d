"""The command line, in its own process as a user runs it."""

import json
import subprocess
import sys
import time

import pytest

from driftfit import __version__
from driftfit.cli import COMMANDS, main
from driftfit.lab.demo import METHODS


def driftfit(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "driftfit.cli", *arguments], capture_output=True, text=True, cwd=cwd, timeout=280
    )


def test_help_names_the_commands():
    result = driftfit("--help")
    assert result.returncode == 0
    assert "demo" in result.stdout


def test_help_loads_nothing_slow():
    code = (
        "import sys, driftfit.cli; "
        "print([m for m in ('numpy', 'scipy', 'sklearn', 'ot', 'torch', 'matplotlib', 'pandas') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


OPTIONAL = {"pandas", "pyarrow", "skops", "jinja2", "matplotlib", "rich", "typer", "click", "torch", "ot"}
RUN = "import sys; sys.argv[1:] = {!r}; from driftfit.cli import main; main()"


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_help_needs_the_standard_library_alone(run_without, command):
    result = run_without(OPTIONAL | {"numpy", "scipy", "sklearn", "numba"}, RUN.format([*command, "--help"]))
    assert result.returncode == 0, result.stderr
    assert "usage: driftfit" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["adapt", "t.csv", "--label", "a", "--order", "b", "-o", "RUN"], "driftfit adapt needs pandas"),
        (["check", "t.csv", "--label", "a", "--order", "b"], "driftfit check needs pandas"),
        (["predict", "RUN", "t.csv", "-o", "p.csv"], "driftfit predict needs pandas"),
        (["report", "RUN"], "driftfit report needs pandas"),
        (["demo"], "driftfit demo needs pandas"),
        (["demo", "--table", "t.csv"], "driftfit demo --table needs pandas"),
    ],
)
def test_a_missing_extra_is_one_line_that_names_it(run_without, tmp_path, monkeypatch, arguments, what):
    monkeypatch.chdir(tmp_path)
    result = run_without(OPTIONAL, RUN.format(arguments))
    assert result.returncode == 1
    assert result.stderr == f"driftfit: {what}, which is not installed: pip install 'driftfit[tables]'\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_tables_need_no_bars(run_without, tmp_path, monkeypatch):
    """Without rich everything works, with plain lines of progress."""
    rows = "".join(f"{i % 7 + i / 30},{i},{i % 2}\n" for i in range(120))
    (tmp_path / "t.csv").write_text("x,when,kind\n" + rows)
    monkeypatch.chdir(tmp_path)
    result = run_without({"rich"}, RUN.format(["check", "t.csv", "--label", "kind", "--order", "when"]))
    assert result.returncode == 0, result.stderr
    assert result.stderr.startswith("read       1/1")


def test_version():
    assert driftfit("--version").stdout.strip() == f"driftfit {__version__}"


@pytest.mark.slow
def test_demo_adapts_a_table_first_and_the_digits_second(tmp_path):
    result = driftfit("demo", "--seeds", "1", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    table, digits = result.stdout.split("Digits turned by 60 degrees")
    assert "Since the labelled rows (2025-01 to 2025-10) the rows moved" in table
    found = json.loads((tmp_path / "demo" / "result.json").read_text())
    assert found["table"]["right"] > found["table"]["all labels right"] + 0.05
    assert f"{100 * found['table']['right']:.1f} % of the 500 rows are right" in table
    assert (tmp_path / "demo" / "run" / "report.html").is_file()
    assert set(found["digits"]["methods"]) == {*METHODS}
    assert all(f"{method} " in digits for method in METHODS)


@pytest.mark.parametrize(("name", "said"), [("my events.parquet", "'my events.parquet'"), ("-e.CSV", "./-e.CSV")])
def test_a_made_up_table_for_the_other_commands(tmp_path, name, said):
    result = driftfit("demo", f"--table={name}", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]
    # As a shell reads them; README's test runs them.
    assert result.stdout.splitlines()[1] == f"next: driftfit check {said} --label churned --order month"
    # A file that is there may be somebody's own.
    again = driftfit("demo", f"--table={name}", cwd=tmp_path)
    assert again.returncode == 1
    assert again.stderr == f"driftfit: '{name}' is there already; name a new file\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["events.xls"], "must be a name that ends with .parquet or .csv, got 'events.xls'"),
        (["events.csv", "--json"], "writes a table and nothing else"),
        (["events.csv", "--seeds", "9"], "writes a table and nothing else"),
    ],
)
def test_a_made_up_table_that_is_not_written(tmp_path, arguments, words):
    result = driftfit("demo", "--table", *arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert words in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_both_modules_run_the_command_line():
    for module in ("driftfit", "driftfit.cli"):
        result = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True)
        assert result.stdout.strip() == f"driftfit {__version__}"


def test_help_answers_in_half_a_second():
    times = []
    for _ in range(3):
        started = time.perf_counter()
        driftfit("--help")
        times.append(time.perf_counter() - started)
    assert min(times) < 0.5


def test_usage_errors_exit_with_2():
    assert driftfit().returncode == 2
    assert driftfit("demo", "--seeds", "0").returncode == 2
    assert driftfit("nonsense").returncode == 2


def test_a_reader_that_leaves_early_is_no_error():
    command = f"{sys.executable} -m driftfit adapt --help | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.startswith("usage")


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (["chek", "a.csv"], "'check'"),
        (["check", "a.csv", "--labl", "y"], "'--label'"),
        (["check", "{table}", "--label", "kind", "--order", "yeer"], "'year'"),
        (["check", "{table}x", "--label", "kind", "--order", "year"], "'table.csv'"),
        (["check", "{table}", "--label", "kind", "--order", "year", "--model", "forst"], "'forest'"),
        (["check", "{table}", "--label", "kind", "--order", "year", "--metric", "roc_au"], "'roc_auc'"),
    ],
)
def test_what_was_probably_meant_is_named(arguments, near, tmp_path, capsys):
    (tmp_path / "table.csv").write_text("year,kind,x\n1,a,1\n2,b,2\n")
    with pytest.raises(SystemExit):
        main([word.replace("{table}", str(tmp_path / "table.csv")) for word in arguments])
    assert f"did you mean {near}?" in " ".join(capsys.readouterr().err.split())
