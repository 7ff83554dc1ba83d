"""Stores of cells: every fault at every statement, bad records, bad pages, and who works on what."""

import os
import sqlite3
import subprocess
import sys
import time

import pytest

from driftfit.errors import InputError
from driftfit.lab import store
from driftfit.lab.cells import Cell, Options
from driftfit.lab.layouts import make_table
from driftfit.lab.output import write_outputs
from driftfit.lab.statistics import summarise
from driftfit.lab.store import Store, new_owner

CELLS = [Cell("covtype", "reference", seed, 0, "gst") for seed in range(3)]
CONNECT = sqlite3.connect
GOOD = {"transductive_last": 60.0}


def add_all(path):
    own = Store(path)
    mine = own.claim(CELLS, new_owner())
    return [own.add(cell, {"transductive_last": 60.0 + cell.seed}, {}, 1.0, 1) for cell in mine]


class KilledError(BaseException):
    pass


def failing_connect(at, error):
    """`sqlite3.connect` whose k-th statement fails, over all connections; after a kill nothing is done any more."""
    made, dead = [], False

    class Failing(sqlite3.Connection):
        def _pass(self, statement):
            nonlocal dead
            if dead:
                raise KilledError
            made.append(statement)
            if len(made) - 1 == at:
                dead = isinstance(error, KilledError)
                raise error

        def execute(self, statement, *given):
            self._pass(statement)
            return super().execute(statement, *given)

        def executemany(self, statement, *given):
            self._pass(statement)
            return super().executemany(statement, *given)

        def executescript(self, statement):
            self._pass(statement)
            return super().executescript(statement)

        def __exit__(self, *raised):
            if raised[0] is None:
                try:
                    self._pass("COMMIT")
                except BaseException:
                    self.rollback()
                    raise
            return super().__exit__(*raised)

    return made, lambda path, **options: CONNECT(path, factory=Failing, **options)


FAULTS = {
    "disk full": sqlite3.OperationalError("database or disk is full"),
    "forbidden": sqlite3.OperationalError("attempt to write a readonly database"),
    "disk error": sqlite3.OperationalError("disk I/O error"),
    "killed": KilledError(),
}


def test_every_statement_of_a_store_may_fail(tmp_path, monkeypatch, injector_rows):
    made, connect = failing_connect(None, None)
    monkeypatch.setattr(sqlite3, "connect", connect)
    assert add_all(tmp_path / "plain.sqlite") == [True] * 3
    row = injector_rows("paper, store", len(made))
    for fault, error in FAULTS.items():
        for k in range(len(made)):
            path = tmp_path / f"{fault} {k}.sqlite"
            row.faults += 1
            monkeypatch.setattr(sqlite3, "connect", failing_connect(k, error)[1])
            added = []
            try:
                own = Store(path)
                for cell in own.claim(CELLS, new_owner()):
                    own.add(cell, {"transductive_last": 60.0 + cell.seed}, {}, 1.0, 1)
                    added.append(cell)
                row.found["unclear"] += 1
            except InputError as caught:
                row.found["unclear"] += "\n" in str(caught) or str(path) not in str(caught) or "; " not in str(caught)
            except KilledError:
                pass
            monkeypatch.undo()
            again = Store(path)
            before = again.results(CELLS)
            row.found["lost"] += not set(added) <= set(before)
            # The process of the test lives on; a dead one would lose its claims by itself.
            with sqlite3.connect(path) as connection:
                connection.execute("DELETE FROM claims")
            connection.close()
            add_all(path)
            after = again.results(CELLS)
            row.found["not repeated"] += set(after) != set(CELLS)
            row.found["half-written"] += any(after[c]["transductive_last"] != 60.0 + c.seed for c in after)
            row.found["doubled"] += any(after[c] != before[c] for c in before)
    assert row.found == dict.fromkeys(row.found, 0), row


def test_the_tables_that_are_written(sweep):
    table = make_table("rotated-mnist", Options(given=[0], generated=[0]))
    measures = [
        f"{kind}_{name}" for kind in ("transductive", "heldout") for name in ("last", "selected", "label_selected")
    ]
    results = {
        cell: {
            **dict.fromkeys(measures, 50.0 + cell.seed),
            "provenance": {},
            "seconds": 1.0,
            "peak_bytes": 1,
            "steps": [],
        }
        for cell in table.cells(2)
    }
    entries = summarise(table, results)
    whole = {}

    def act(folder):
        write_outputs(table, entries, results, folder / "out", "name", {})
        whole.update({path.name: path.read_bytes() for path in (folder / "out").iterdir()})

    def judge(folder, before):
        shown = [path for path in (folder / "out").glob("name*")] if (folder / "out").is_dir() else []
        return ["half-written"] if any(path.read_bytes() != whole[path.name] for path in shown) else []

    sweep("paper, tables", lambda folder: None, act, judge)


@pytest.mark.parametrize(
    "record", ["{}", "", "[1]", "nonsense", '{"transductive_last": null}', '{"transductive_last": NaN}']
)
def test_a_malformed_record_counts_as_not_finished_and_is_said(tmp_path, caplog, record):
    own = Store(tmp_path / "s.sqlite")
    for cell in CELLS:
        own.add(cell, GOOD, {}, 1.0, 1)
    with sqlite3.connect(own.path) as connection:
        connection.execute("UPDATE records SET result = ? WHERE key = ?", (record, CELLS[1].key))
    connection.close()
    again = Store(own.path)
    assert again.finished(CELLS) == {CELLS[0], CELLS[2]}
    assert "counts as not finished" in caplog.text
    assert again.claim(CELLS, new_owner()) == [CELLS[1]]
    assert again.add(CELLS[1], GOOD, {}, 2.0, 1)
    assert again.finished(CELLS) == set(CELLS)
    assert not again.add(CELLS[1], {"transductive_last": 1.0}, {}, 2.0, 1)


@pytest.mark.parametrize("page", [0, 1, 2, 3])
def test_bad_pages_are_one_clear_line(tmp_path, page):
    own = Store(tmp_path / "s.sqlite")
    cells = [Cell("covtype", "reference", seed, 0, "gst") for seed in range(200)]
    for cell in cells[:60]:
        own.add(cell, {**GOOD, "filling": "x" * 300}, {}, 1.0, 1)
    with sqlite3.connect(own.path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    data = bytearray(own.path.read_bytes())
    data[page * 4096 : page * 4096 + 2000] = os.urandom(2000)
    own.path.write_bytes(data)
    with pytest.raises(InputError, match=r"is damaged|is not a store") as caught:
        Store(own.path).results(cells)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["folder", "pipe", "below a file", "too long"])
def test_a_place_where_no_store_can_be(tmp_path, kind):
    path = tmp_path / "s.sqlite"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "too long":
        path = tmp_path / ("x" * 300)
    else:
        path.write_text("")
        path = path / "deeper" / "s.sqlite"
    with pytest.raises(InputError, match=r"not a file|cannot write|cannot use"):
        Store(path)


def test_a_store_that_was_full_is_whole(tmp_path):
    own = Store(tmp_path / "s.sqlite")
    own.add(CELLS[0], GOOD, {}, 1.0, 1)
    plain = sqlite3.connect

    def small(path, **options):
        connection = plain(path, **options)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    store.sqlite3.connect = small
    try:
        with pytest.raises(InputError, match=r"full.*make room"):
            own.add(CELLS[1], {**GOOD, "filling": "x" * 10**6}, {}, 1.0, 1)
    finally:
        store.sqlite3.connect = plain
    assert own.finished(CELLS) == {CELLS[0]}
    assert own.add(CELLS[1], GOOD, {}, 1.0, 1)


def test_two_do_not_work_on_the_same_cells(tmp_path):
    own = Store(tmp_path / "s.sqlite")
    first, second = new_owner(), new_owner()
    assert own.claim(CELLS[:2], first) == CELLS[:2]
    assert own.claim(CELLS, second) == CELLS[2:]
    assert own.claim(CELLS[:2], first) == CELLS[:2]
    own.release(first)
    assert own.claim(CELLS, second) == CELLS


def test_a_dead_owner_loses_its_claims(tmp_path, monkeypatch):
    own = Store(tmp_path / "s.sqlite")
    code = "from driftfit.lab.store import *; from driftfit.lab.cells import Cell; "
    code += f"print(Store({str(own.path)!r}).claim("
    code += "[Cell('covtype', 'reference', seed, 0, 'gst') for seed in range(3)], new_owner()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "seed=2" in done.stdout
    assert own.claim(CELLS, new_owner()) == CELLS
    # On another machine only the lease tells.
    own.release("nobody")
    with sqlite3.connect(own.path) as connection:
        connection.execute("UPDATE claims SET owner = 'elsewhere:1:00'")
    connection.close()
    assert own.claim(CELLS, new_owner()) == []
    now = time.time()
    monkeypatch.setattr(store.time, "time", lambda: now + store.LEASE_SECONDS + 1)
    assert own.claim(CELLS, new_owner()) == CELLS
