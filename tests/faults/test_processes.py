"""Processes that are ended: no worker outlives its parent, an interrupt is answered at once, no work is done twice."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from driftfit.datasets import write_made_data
from driftfit.lab.cells import Options
from driftfit.lab.layouts import make_table
from driftfit.lab.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks at /proc")]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    made = write_made_data(tmp_path_factory.mktemp("made"), n_images=200, n_rows=20_000)
    return {**os.environ, "DRIFTFIT_DATA": str(made), "DRIFTFIT_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


def paper(environment, folder, *more):
    command = [
        sys.executable,
        "-m",
        "driftfit",
        "paper",
        "covtype",
        "--given",
        "0",
        "--generated",
        "0",
        "--device",
        "cpu",
    ]
    command += ["--store", str(folder / "s.sqlite"), "--output", str(folder / "out"), *more]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def children(number):
    """Processes below a process, and those below them."""
    try:
        own = [int(word) for word in Path(f"/proc/{number}/task/{number}/children").read_text().split()]
    except FileNotFoundError:
        return []
    return own + [other for child in own for other in children(child)]


def n_records(path):
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT count(*) FROM records").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def wait_until(true, seconds):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def alive(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_their_parent(environment, tmp_path, number):
    run = paper(environment, tmp_path, "--seeds", "12", "--samples", "2000", "--jobs", "2")
    try:
        wait_until(lambda: n_records(tmp_path / "s.sqlite") >= 1 or run.poll() is not None, 120)
        assert run.poll() is None, run.stderr.read()
        workers = children(run.pid)
        assert len(workers) >= 2
        run.send_signal(number)
        started = time.monotonic()
        run.wait(timeout=10)
        took = time.monotonic() - started
        wait_until(lambda: not any(alive(worker) for worker in workers), 5)
    finally:
        run.kill()
    said = run.communicate()[1]
    if number != signal.SIGKILL:
        assert took < 3
        assert run.returncode == 130
        kept = n_records(tmp_path / "s.sqlite")
        assert f"interrupted; {kept} of 48 cells are finished and kept in" in said
        assert "Traceback" not in said


def test_two_runs_on_one_store_share_the_work(environment, tmp_path):
    options = ("--seeds", "4", "--samples", "300")
    runs = [paper(environment, tmp_path, *options), paper(environment, tmp_path, *options)]
    said = [run.communicate(timeout=200) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    counts = [int(out.split(" cells run in")[0].split()[-3]) for out, _ in said]
    cells = make_table("covtype", Options(given=[0], generated=[0], n_samples=300)).cells(4)
    assert sum(counts) == len(cells) == len(Store(tmp_path / "s.sqlite").finished(cells))


_ADAPT = """
import os, pathlib, signal, sys
from driftfit import files
plain, left = files.DISK.rename, int(sys.argv[2])
def rename(old, new):
    global left
    plain(old, new)
    if pathlib.Path(new).name == "RUN" or str(new).endswith(".old"):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
files.DISK.rename = rename
folder = pathlib.Path(sys.argv[1])
def check(there): pass
with files.new_folder(folder, check) as making:
    (making / "new").write_text("new")
"""


def test_a_kill_between_the_two_renames_is_mended_at_the_next_start(tmp_path, caplog):
    from driftfit.files import recover

    folder = tmp_path / "RUN"
    folder.mkdir()
    (folder / "old").write_text("old")
    killed = subprocess.run([sys.executable, "-c", _ADAPT, str(folder), "1"])
    assert killed.returncode == -signal.SIGKILL
    assert not folder.exists()
    assert len(list(tmp_path.iterdir())) == 2
    recover(folder, lambda there: (there / "new").is_file())
    assert [path.name for path in tmp_path.iterdir()] == ["RUN"]
    assert (folder / "new").read_text() == "new"
    assert "was interrupted; the new one was whole and is in place now" in caplog.text
