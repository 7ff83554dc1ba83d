"""Everything that can go wrong with a run, on every engine: a restart finishes it, and nothing differs from a run
that nobody disturbed."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from driftfit.lab.launch import ToyWork, failed_cells, launch, run_states, toy_grid
from driftfit.lab.store import Store

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks at /proc"),
]

FAULTY = Path(__file__).with_name("faulty.py")
CELLS = toy_grid(4, 5)
# Ray takes seconds to start: it is there where workers, drivers or signals are its own business.
ENGINES = ["processes", "ray"]
PATIENCE = 250


class Run:
    """Runs on one store, one after the other or at once."""

    def __init__(self, folder, clock):
        self.folder, self.store, self.clock = folder, folder / "s.sqlite", clock
        (folder / "marks").mkdir()
        self.marks = folder / "marks"

    def start(self, engine, *more):
        command = [sys.executable, str(FAULTY), str(self.store), str(self.marks), "--engine", engine, *more]
        if engine != "serial":
            command += ["--workers", "2"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "DRIFTFIT_DEBUG": ""}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, env=environment, **pipes)

    def finish(self, process):
        out, said = process.communicate(timeout=PATIENCE)
        return process.returncode, out, told(said)

    def restart(self, engine, fault):
        """The same command once more must finish; its time is the time to recover."""
        started = time.monotonic()
        code, out, lines = self.finish(self.start(engine))
        self.clock(fault, engine, time.monotonic() - started)
        assert code == 0, lines
        return int(out.split()[0])

    def records(self):
        try:
            with closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)) as connection:
                return connection.execute("SELECT count(*) FROM records").fetchone()[0]
        except sqlite3.OperationalError:
            return 0

    def wait_for_records(self, process, count):
        until(lambda: self.records() >= count or process.poll() is not None)
        assert process.poll() is None, process.communicate()

    def workers(self):
        return [int(path.name.partition("-")[2]) for path in self.marks.glob("pid-*")]


def told(said):
    """The lines that driftfit wrote; what libraries say on their own is not counted, a traceback would be."""
    # An interrupt in the middle of the import of a compiled module is ignored there, and printed by Python itself.
    said = re.sub(r"Exception ignored in: .*\n(?:.*\n)*?KeyboardInterrupt: ?\n", "", said)
    assert "Traceback" not in said, said
    return [line for line in said.splitlines() if line.startswith("driftfit: ")]


def until(true):
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def alive(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("plain") / "s.sqlite")
    launch(CELLS, ToyWork(), store)
    return numbers(store)


def numbers(store):
    """Every bit of every record but times; a cell that is there twice would not fit in."""
    with store.connected() as connection:
        rows = connection.execute("SELECT key, result FROM records").fetchall()
    assert len(rows) == len({key for key, _ in rows})
    return dict(rows)


@pytest.fixture
def run(tmp_path, undisturbed, recovery_rows):
    own = Run(tmp_path, recovery_rows)
    yield own
    store = Store(own.store)
    assert numbers(store) == undisturbed
    assert failed_cells(store) == []
    with store.connected() as connection:
        assert connection.execute("SELECT count(*) FROM claims").fetchone() == (0,)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_worker_is_killed(run, engine):
    process = run.start(engine, "--seconds", "0.3")
    run.wait_for_records(process, 2)
    started = time.monotonic()
    os.kill(run.workers()[0], signal.SIGKILL)
    code, out, lines = run.finish(process)
    run.clock("worker killed -9", engine, time.monotonic() - started)
    assert (code, out) == (0, "20 run\n"), lines
    # None where it was between two cells; a second one where another waited for what it was preparing.
    assert len(lines) <= 2
    assert all("another one takes over" in line for line in lines)


def test_a_cell_that_kills_its_worker_every_time_is_given_up(run):
    engine = "processes"
    (run.marks / "kill").touch()
    code, _, lines = run.finish(run.start(engine))
    assert code == 1
    assert "toy 1.1: a worker was ended from outside" in lines[-1]
    assert "3 times, perhaps for its memory" in lines[-1]
    assert run.records() == 19
    assert [cell.name for cell in failed_cells(Store(run.store))] == ["toy 1.1"]
    (run.marks / "kill").unlink()
    assert run.restart(engine, "cell that takes its worker along") == 1


def test_a_node_is_removed(run):
    started = time.monotonic()
    code, out, lines = run.finish(run.start("ray", "--seconds", "0.3", "--remove-node-at", "4"))
    run.clock("node removed", "ray", time.monotonic() - started)
    assert (code, out) == (0, "20 run\n"), lines
    assert len(lines) <= 3
    assert all("another one takes over" in line for line in lines)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_driver_is_killed(run, engine):
    process = run.start(engine, "--seconds", "0.2")
    run.wait_for_records(process, 3)
    process.kill()
    process.communicate()
    until(lambda: not any(alive(worker) for worker in run.workers()))
    kept = run.records()
    assert [state.state for state in run_states(Store(run.store))] == ["died"]
    assert run.restart(engine, "driver killed -9") == 20 - kept


@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_the_disk_of_the_store_is_full(run, engine):
    code, _, lines = run.finish(run.start(engine, "--pages", "3"))
    assert code == 1
    assert len(lines) == 1
    assert "is full); make room. Finished cells are kept" in lines[0]
    kept = run.records()
    assert 0 < kept < 20
    assert run.restart(engine, "disk full") == 20 - kept


def test_a_record_is_corrupt(run):
    assert run.restart("processes", "none, for comparison") == 20
    with closing(sqlite3.connect(run.store)) as connection:
        connection.execute("UPDATE records SET result = substr(result, 1, 9) WHERE key = ?", (CELLS[7].key,))
        connection.commit()
    started = time.monotonic()
    code, out, lines = run.finish(run.start("processes"))
    run.clock("corrupt record", "processes", time.monotonic() - started)
    assert (code, out) == (0, "1 run\n")
    assert len(lines) == 1
    assert "the record of toy 1.2 in" in lines[0]
    assert "is no JSON; it counts as not finished" in lines[0]


@pytest.mark.parametrize(
    ("engine", "fault", "kind"), [("serial", "memory", "MemoryError"), ("processes", "raise", "RuntimeError")]
)
def test_a_cell_fails(run, engine, fault, kind):
    (run.marks / fault).touch()
    code, _, lines = run.finish(run.start(engine))
    assert code == 1
    assert len(lines) == 1
    assert lines[0].startswith("driftfit: toy 1.1: ")
    assert run.records() == 19
    (failed,) = failed_cells(Store(run.store))
    assert failed.kind.endswith(kind)
    assert "faulty.py" in failed.traceback
    assert run_states(Store(run.store))[0].state == "some failed"
    (run.marks / fault).unlink()
    assert run.restart(engine, f"cell fails, {fault}") == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_an_interrupt_at_any_moment(run, engine):
    for after in (0, 4):
        process = run.start(engine, "--seconds", "0.1")
        if after:
            run.wait_for_records(process, after)
        else:
            until(lambda: run.store.is_file())
        process.send_signal(signal.SIGINT)
        code, _, lines = run.finish(process)
        if not after and code == 0:
            # Python ignores an interrupt in the middle of the import of a compiled module: all was done, and kept.
            assert run.records() == 20
            return
        # Python may be told before driftfit listens.
        assert code in (130, -signal.SIGINT)
        assert len(lines) == (code == 130)
        if after:
            assert f"interrupted; {run.records()} of 20 cells are finished and kept in" in lines[0]
    kept = run.records()
    assert run.restart(engine, "Ctrl-C") == 20 - kept


def test_two_runs_on_one_store(run):
    engines = ("ray", "processes")
    started = time.monotonic()
    both = [run.start(engine, "--seconds", "0.1") for engine in engines]
    ends = [run.finish(process) for process in both]
    run.clock("two runs at once", " and ".join(engines), time.monotonic() - started)
    assert [code for code, _, _ in ends] == [0, 0], ends
    assert sum(int(out.split()[0]) for _, out, _ in ends) == 20
    assert all("another run is at work" in line for _, _, lines in ends for line in lines)
