"""`driftfit check` is `driftfit adapt` stopped early: the same findings for every table, or the same refusal."""

import contextlib
import importlib.util
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from driftfit.cli import main
from driftfit.datasets.toy import moving_gaussians

_spec = importlib.util.spec_from_file_location("malformed", Path(__file__).parents[1] / "app" / "malformed.py")
malformed = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(malformed)

LABEL = ["--label", malformed.LABEL, "--history", "first"]
ORDER = ["--order", malformed.ORDER]


def run(*arguments):
    """Exit code, stdout and stderr of a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as leaving:
        main([str(argument) for argument in arguments])
    return leaving.value.code or 0, out.getvalue(), err.getvalue()


def complaint(stderr):
    """The last line, whichever of the two commands it came from."""
    return stderr.splitlines()[-1].replace("driftfit check:", "driftfit:").replace("driftfit adapt:", "driftfit:")


def same(folder, *arguments, quick=("--generated", "1")):
    """Run both; returns the exit code and what stands behind the answer of both."""
    looked = run("check", *arguments, *quick, "--verbose")
    adapted = run("adapt", *arguments, *quick, "--verbose", "-o", folder / "RUN")
    assert looked[0] == adapted[0], (looked, adapted)
    if looked[0]:
        assert complaint(looked[2]) == complaint(adapted[2])
        assert not (folder / "RUN").exists()
        return looked[0], complaint(looked[2])
    moved, details = looked[1].splitlines()[0], looked[1][looked[1].index("\ndiagnosis: ") :]
    details, _, estimate = details.partition("\nold model: ")
    assert adapted[1].splitlines()[0] == moved
    assert details in adapted[1]
    assert estimate.startswith(("estimated accuracy", "accuracy not known"))
    assert (
        max(len(line) for line in details.splitlines() if "->" in line and not line.startswith(("check", "  "))) <= 80
    )
    return 0, details


def gaussians(n=60):
    parts = []
    for number, domain in enumerate(moving_gaussians((0, 0.6, 1.2))):
        parts.append(pd.DataFrame(domain.samples[:n], columns=["u", "v"]).assign(label=domain.labels[:n], when=number))
    return pd.concat(parts, ignore_index=True)


def written(folder, name, frame=None, **options):
    frame = gaussians() if frame is None else frame
    path = folder / name
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False, **options)
    return path


# Every way to hand in a table -------------------------------------------------------------------------


def test_semicolons_missing_values_and_words(tmp_path):
    frame = gaussians().assign(city=lambda f: np.where(f.index % 3, "a", "b"))
    frame.loc[::7, "u"] = np.nan
    code, text = same(tmp_path, written(tmp_path, "t.csv", frame, sep=";"), *LABEL, *ORDER, "--by-value")
    assert code == 0
    assert "0 -> 1" in text


def test_row_positions_and_sampling(tmp_path):
    path = written(tmp_path, "t.csv.gz", gaussians().drop(columns="when"), compression="gzip")
    options = ["--order", "@row", "--windows", "3", "--training-rows", "40", "--transport-rows", "30"]
    code, text = same(tmp_path, path, *LABEL, *options)
    assert code == 0
    assert "note: models were trained on 100 rows" in text or "note: plans and checks looked at 30 rows" in text


def test_one_file_per_snapshot(tmp_path):
    files = []
    for when, part in gaussians().groupby("when"):
        files.append(written(tmp_path, f"{when}.parquet", part.drop(columns="when")))
    (tmp_path / "several").mkdir()
    assert same(tmp_path / "several", files[0], *LABEL, *files[1:])[0] == 0
    alone = same(tmp_path, files[0], *LABEL, "--order", "@file")
    assert alone == (1, "driftfit: one file is one snapshot; give several files, or the column that orders the rows")


def test_calendar_windows(tmp_path):
    frame = gaussians()
    frame["when"] = pd.Timestamp("2024-01-05") + pd.to_timedelta(31 * frame["when"], "D")
    code, text = same(tmp_path, written(tmp_path, "t.parquet", frame), *LABEL, *ORDER, "--window-by", "month")
    assert code == 0
    assert "2024-01 -> 2024-02" in " ".join(text.split())


def test_models_and_encoders(tmp_path):
    path = written(tmp_path, "t.csv")
    for options in (["--model", "forest"], ["--encoder", "pca:1", "--method", "direct"], ["--method", "source"]):
        quick = () if "--method" in options else ("--generated", "1")
        assert same(tmp_path, path, *LABEL, *ORDER, "--by-value", *options, quick=quick)[0] == 0
        assert run("report", tmp_path / "RUN")[0] == 0
        for file in (tmp_path / "RUN").iterdir():
            file.unlink()
        (tmp_path / "RUN").rmdir()


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ([*LABEL], 2, "one table needs --order"),
        ([*LABEL, *ORDER, "--windows", "2", "--given", "1"], 2, "--windows and --given exclude each other"),
        ([*LABEL, *ORDER, "--windows", "1"], 2, "must be at least 2, got 1"),
        ([*LABEL, *ORDER, "--generated", "some"], 2, "must be 'auto' or a whole number, got 'some'"),
        ([*LABEL, *ORDER, "--window-by", "moon"], 1, "there is no calendar period 'moon'"),
        ([*LABEL, *ORDER, "--model", "tree"], 1, "there is no model 'tree'"),
        ([*LABEL, "--order", "label"], 1, "label and order must be two columns"),
        (["--label", "absent", *ORDER], 1, "the table has no column 'absent'"),
    ],
)
def test_wrong_words(tmp_path, options, code, words):
    found, message = same(tmp_path, written(tmp_path, "t.csv"), *options, quick=())
    assert found == code
    assert words in message


def test_the_numbers_are_the_same_in_json(tmp_path):
    arguments = [written(tmp_path, "t.csv"), *LABEL, *ORDER, "--by-value", "--generated", "1", "--json"]
    looked = json.loads(run("check", *arguments)[1])
    adapted = json.loads(run("adapt", *arguments, "-o", tmp_path / "RUN")[1])
    assert adapted["check"] == looked
    assert adapted["verdict"]["decision"] == looked["advice"]
    assert adapted["accuracy"]["old"] == looked["accuracy"]


def test_text_of_the_users_is_text(tmp_path):
    """Neither markup nor control characters in names of columns and windows do anything."""
    names = np.array(["[red]a\x1b[31m[/x]", "[bold]b" + "c" * 60, "[/]d"])
    frame = (
        gaussians()
        .assign(when=lambda f: pd.Categorical(names[f["when"]], names, ordered=True))
        .rename(columns={"u": "[blink]u"})
    )
    frame["[/red]same"] = 1
    code, text = same(tmp_path, written(tmp_path, "t.parquet", frame), *LABEL, *ORDER, "--by-value")
    assert code == 0
    assert "\x1b" not in text
    assert "[/red]same" in text
    assert "[bold]b" in text


# Tables with something wrong in them ------------------------------------------------------------------

QUICK = ("no rows", "no label", "labels missing", "some missing", "order in words", "mixed time zones", "boolean label")


def hostile(folder, change, kind):
    frame = malformed.sound(3, 150)
    frame = malformed.CHANGES[change](frame, 3).reset_index(drop=True)
    return same(folder, malformed.write(frame, kind, folder), *LABEL, *ORDER, "--windows", "3")


@pytest.mark.parametrize("change", QUICK)
def test_hostile_tables(tmp_path, change):
    hostile(tmp_path, change, "csv")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("change", sorted(set(malformed.CHANGES) - set(QUICK)))
def test_more_hostile_tables(tmp_path, change, kind):
    hostile(tmp_path, change, kind)


@pytest.mark.parametrize("kind", malformed.FILES[3:])
def test_hostile_files(tmp_path, kind):
    code, message = hostile(tmp_path, "nothing", kind)
    assert code == 1
    assert message.startswith("driftfit: ")


def test_the_comparison_notices_a_difference(tmp_path, monkeypatch):
    from driftfit.cli import check

    whole = check.check_text
    monkeypatch.setattr(check, "check_text", lambda summary: whole(summary) + "!")
    with pytest.raises(AssertionError):
        same(tmp_path, written(tmp_path, "t.csv"), *LABEL, *ORDER, "--by-value")
