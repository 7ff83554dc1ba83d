"""`driftfit runs`: what runs and what failed, for people and for programs."""

import json

import pytest

from driftfit.cli import run_command
from driftfit.errors import InputError
from driftfit.lab.launch import ToyWork, launch, toy_grid
from driftfit.lab.store import Store
from driftfit.parallel import Failure

CELLS = toy_grid(2, 2)


@pytest.fixture
def store(tmp_path):
    own = Store(tmp_path / "s.sqlite")
    launch(CELLS[:3], ToyWork(), own, command="paper covtype --seeds 2")
    own.fail(CELLS[3], Failure("RuntimeError", "it broke", "Traceback\n  line \x1b[31m1"))
    return own


def test_the_list(store, capsys):
    assert run_command(["runs", str(store.path)]) == 0
    out = capsys.readouterr().out
    assert "finished" in out
    assert "3/3" in out
    assert "failed: toy 1.1: RuntimeError: it broke" in out
    assert "Traceback" not in out


def test_one_cause_is_told_once(store, capsys):
    for cell in toy_grid(3, 2)[4:]:
        store.fail(cell, Failure("InputError", "a file is missing", ""))
    assert run_command(["runs", str(store.path)]) == 0
    assert capsys.readouterr().out.count("a file is missing") == 1


def test_tracebacks_cannot_steer_the_terminal(store, capsys):
    assert run_command(["runs", str(store.path), "--traceback"]) == 0
    out = capsys.readouterr().out
    assert "    line  [31m1" in out
    assert "\x1b" not in out


def test_as_json_and_watched_until_nothing_runs(store, capsys):
    assert run_command(["runs", str(store.path), "--json", "--watch"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["runs"][0]["command"] == "paper covtype --seeds 2"
    assert shown["failed"][0]["traceback"].startswith("Traceback")


def test_an_empty_store_and_none(tmp_path, capsys):
    Store(tmp_path / "empty.sqlite")
    assert run_command(["runs", str(tmp_path / "empty.sqlite")]) == 0
    assert "no run has used this store" in capsys.readouterr().out
    with pytest.raises(InputError, match=r"there is no store '.*none\.sqlite'"):
        run_command(["runs", str(tmp_path / "none.sqlite")])
    assert not (tmp_path / "none.sqlite").exists()


def test_beside_run_folders_their_answers_are_listed(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_command(["runs"]) == 0
    assert "nothing has run here" in capsys.readouterr().out
    (tmp_path / "mine").mkdir()
    summary = {"created": "2026-01-02T03:04:05", "answer": {"sentences": ["A moved.", "The old model stays."]}}
    (tmp_path / "mine" / "result.json").write_text(json.dumps(summary))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "result.json").write_text("{}")
    assert run_command(["runs"]) == 0
    assert capsys.readouterr().out == "mine/  2026-01-02 03:04  The old model stays.\n"
    assert run_command(["runs", "--json"]) == 0
    assert [one["folder"] for one in json.loads(capsys.readouterr().out)["folders"]] == ["mine"]
