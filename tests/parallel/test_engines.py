"""Engines give the same outcomes in whatever order; launch keeps, shares and reports."""

import signal
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import pytest

from driftfit import parallel
from driftfit.errors import InputError, SolverError
from driftfit.lab.launch import ToyWork, failed_cells, launch, run_states, toy_grid
from driftfit.lab.store import Store, new_owner
from driftfit.methods import Transport, Workspace
from driftfit.parallel import Batch, Failure, Outcome, Processes, Ray, Serial, engine_from_word
from driftfit.parallel_tasks import MOST_ATTEMPTS, MOST_WAITS, Lost, dispatch

CELLS = toy_grid(3, 4)


def numbers(store, cells=CELLS):
    return {cell: store.results(cells)[cell]["vector"] for cell in cells}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "s.sqlite")


@dataclass(frozen=True)
class Picky(ToyWork):
    refused: bool = False

    def run(self, shared, task):
        if task == CELLS[5]:
            raise InputError("no such thing; take another") if self.refused else ZeroDivisionError("by\nnothing")
        return super().run(shared, task)


def test_processes_give_what_serial_gives(tmp_path, store):
    other = Store(tmp_path / "other.sqlite")
    seen = []
    assert launch(CELLS, ToyWork(), store, Serial()).n_run == 12
    assert launch(CELLS, ToyWork(), other, Processes(2), on_cell=lambda cell, _: seen.append(cell)).n_run == 12
    assert sorted(seen) == CELLS
    assert numbers(store) == numbers(other)
    assert launch(CELLS, ToyWork(), store).n_run == 0


def test_a_cell_that_fails_does_not_hold_up_the_others(store):
    finished = launch(CELLS, Picky(), store, command="picky")
    assert (finished.n_run, list(finished.failures)) == (11, [CELLS[5]])
    with pytest.raises(SolverError, match=r"toy 1\.1: ZeroDivisionError: by nothing. Finished cells are kept"):
        finished.raise_failed()
    (failed,) = failed_cells(store)
    assert (failed.name, failed.kind) == ("toy 1.1", "ZeroDivisionError")
    assert "test_engines.py" in failed.traceback
    (state,) = run_states(store)
    assert (state.command, state.state, state.n_finished, state.n_failed) == ("picky", "some failed", 11, 1)
    assert launch(CELLS, ToyWork(), store).n_run == 1
    assert failed_cells(store) == []
    assert run_states(store)[1].state == "finished"


def test_refused_input_stays_refused_input(store):
    with pytest.raises(InputError, match="no such thing; take another"):
        launch(CELLS, Picky(refused=True), store).raise_failed()


def test_what_cannot_be_prepared_fails_every_cell_of_its_group(store):
    @dataclass(frozen=True)
    class Unprepared(ToyWork):
        def prepare(self, tasks, scratch):
            if tasks[0].seed == 1:
                raise InputError("the data are not there; fetch them")
            return super().prepare(tasks, scratch)

    finished = launch(CELLS, Unprepared(), store)
    assert set(finished.failures) == set(CELLS[4:8])
    with pytest.raises(InputError, match=r"4 of 12 cells failed, the first toy 1\.0: the data are not there"):
        finished.raise_failed()


def test_what_is_prepared_is_prepared_once(store):
    made = []

    @dataclass(frozen=True)
    class Counted(ToyWork):
        def prepare(self, tasks, scratch):
            made.append(tasks)
            return super().prepare(tasks, scratch)

    launch(CELLS, Counted(), store)
    assert made == [tuple(CELLS[:4]), tuple(CELLS[4:8]), tuple(CELLS[8:])]


def test_an_interrupt_is_written_down_and_claims_are_given_back(store):
    def stop(cell, accuracy):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        launch(CELLS, ToyWork(), store, on_cell=stop)
    (state,) = run_states(store)
    assert (state.state, state.n_finished) == ("interrupted", 1)
    assert store.claim(CELLS, new_owner()) == CELLS[1:]


def test_a_run_that_lives_has_time_left_and_a_dead_one_has_not(store):
    launch(CELLS[:6], ToyWork(), store)
    with closing(sqlite3.connect(store.path)) as connection:
        keys = connection.execute("SELECT json_group_array(key) FROM records").fetchone()[0]
        row = ("running", keys.replace("]", ',"another"]'), time.time() - 60)
        connection.execute("UPDATE runs SET state = ?, cells = ?, started = ?, ended = NULL", row)
        connection.commit()
        (state,) = run_states(store)
        assert (state.state, state.n_cells, state.n_finished) == ("running", 7, 6)
        assert state.seconds_left == pytest.approx(10, abs=1)
        connection.execute("UPDATE runs SET until = 0")
        connection.commit()
    (state,) = run_states(store)
    assert (state.state, state.seconds_left) == ("died", None)


def test_what_cannot_be_sent_is_refused(store):
    @dataclass(frozen=True)
    class Local(ToyWork):
        pass

    with pytest.raises(InputError, match=r"cannot be sent to another process .*; use the serial engine"):
        launch(CELLS, Local(), store, Processes(1))


class Scripted:
    """A crew of one that loses its worker as often as it is told to."""

    def __init__(self, losses):
        self.losses, self.given = list(losses), None

    def idle(self):
        return [] if self.given else ["one"]

    def give(self, worker, shared, index):
        self.given = shared.batch.tasks[index]

    def wait(self, seconds):
        task, self.given = self.given, None
        if task == "bad" and self.losses:
            return [("one", self.losses.pop())]
        return [("one", Outcome(None, task.upper()))] if task else []


def outcomes(losses):
    batches = iter([Batch(None, ("a", "bad", "b")), None, Batch(None, ("c",))])
    return {came.task: came.value or came.failure for came in dispatch(Scripted(losses), batches)}


@pytest.mark.parametrize("lost", [[Lost("gone")] * (MOST_ATTEMPTS - 1), [Lost("gone", True)] * (MOST_WAITS - 1)])
def test_a_task_whose_worker_went_is_done_by_another(lost):
    assert outcomes(lost) == {"a": "A", "bad": "BAD", "b": "B", "c": "C"}


@pytest.mark.parametrize("lost", [[Lost("gone")] * MOST_ATTEMPTS, [Lost("gone", True)] * MOST_WAITS])
def test_a_task_that_takes_too_many_workers_is_given_up(lost):
    found = outcomes(lost)
    assert isinstance(found["bad"], Failure)
    assert found["bad"].text.startswith(f"gone {len(lost)} times")
    assert [found[name] for name in "abc"] == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("serial", 2), "the engine serial has one worker, got 2"),
        (("threads",), "there is no engine 'threads'; choose among serial, processes, ray"),
        (("serial", None, None, 0.5), "is for the engine ray, got 'serial'"),
    ],
)
def test_words_that_do_not_fit(given, words):
    with pytest.raises(InputError, match=words):
        engine_from_word(*given)


def test_words():
    assert engine_from_word("ray", 3, gpus=0.5) == Ray(3, gpus=0.5)
    assert engine_from_word(None, address="h:1") == Ray(address="h:1")
    assert (Ray(gpus=0.5).sharing, Ray().sharing, Processes(3).sharing, Serial().sharing) == (2, 1, 3, 1)
    with pytest.raises(InputError, match=r"must be a part of one GPU.*got 1\.5"):
        Ray(gpus=1.5)


def test_without_ray_the_extra_is_named(run_without):
    code = "from driftfit.parallel import *\ntry: list(Ray().run(iter([])))\nexcept Exception as error: print(error)"
    done = run_without(["ray"], code)
    assert "the engine ray needs ray, which is not installed: pip install 'driftfit[ray]'" in done.stdout


def test_a_workspace_finds_its_own_again_in_another_process():
    import pickle

    from driftfit.datasets.toy import moving_gaussians

    sequence, work, transport = moving_gaussians((0, 1), n_samples=20), Workspace(), Transport()
    plans = work.coupled(sequence, transport)
    there, again = pickle.loads(pickle.dumps((sequence, work)))
    kept = again.coupled(there, transport)
    assert kept is again.coupled(there, transport)
    assert (kept.plans[0].cols == plans.plans[0].cols).all()


class Widening:
    """An encoder whose features are larger than the samples, or smaller."""

    def __init__(self, width):
        self.width = width

    def encode(self, samples):
        return np.repeat(samples, self.width, axis=1)[:, : self.width]


def test_features_that_are_larger_than_the_samples_are_not_sent():
    import pickle

    from driftfit.datasets.toy import moving_gaussians

    sequence = moving_gaussians((0, 1), n_samples=50)
    sizes = {}
    for width in (1, 40):
        work = Workspace()
        work.encoded(Widening(width), sequence)
        sizes[width] = len(pickle.dumps(work))
    assert sizes[1] > 1000 > sizes[40]


def test_an_interrupt_waits_until_a_worker_is_started():
    done = []

    def start():
        with parallel._undivided():
            signal.raise_signal(signal.SIGINT)
            done.append("started")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert done == ["started"]
    with pytest.raises(KeyboardInterrupt):  # and is answered at once again
        signal.raise_signal(signal.SIGINT)


def test_an_address_where_nobody_listens_is_refused_at_once():
    pytest.importorskip("ray")
    for address in ("127.0.0.1:1", "ray://127.0.0.1:1"):
        with pytest.raises(InputError, match=r"no Ray at .*127[.]0[.]0[.]1:1 .*look at the address"):
            list(Ray(address=address).run(iter([])))
