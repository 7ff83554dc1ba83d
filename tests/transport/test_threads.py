"""Work on all cores: order, nesting, errors and forked processes."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from driftfit.transport import arrays as threads
from driftfit.transport.arrays import in_threads


@pytest.fixture(autouse=True)
def not_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another test may have made this thread one that works alone."""
    monkeypatch.setattr(threads._thread, "serial", False, raising=False)


@pytest.fixture(params=[1, 2, 5])
def cores(request, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("NUMBA_NUM_THREADS", str(request.param))
    return int(request.param)


def test_slices_cover_everything_in_order(cores: int) -> None:
    found = in_threads(lambda piece: list(range(piece.start, piece.stop)), 17)
    assert [number for part in found for number in part] == list(range(17))
    assert len(found) == cores


def test_work_inside_of_work_does_not_wait_for_itself(cores: int) -> None:
    def outer(piece: slice) -> int:
        return sum(in_threads(lambda inner: inner.stop - inner.start, piece.stop - piece.start))

    assert sum(in_threads(outer, 40)) == 40


def test_small_work_stays_where_it_is(cores: int) -> None:
    here = threading.get_ident()
    assert in_threads(lambda piece: threading.get_ident(), 9, small=True) == [here]


@pytest.mark.parametrize("at", [0, 16])
def test_an_error_is_raised_after_all_pieces_ended(at: int, cores: int) -> None:
    ended = []

    def work(piece: slice) -> None:
        if piece.start <= at < piece.stop:
            raise ArithmeticError(at)
        ended.append(piece)

    with pytest.raises(ArithmeticError):
        in_threads(work, 17)
    assert len(ended) == cores - 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_has_workers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    in_threads(lambda piece: None, 9)
    assert threads._pools
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if not threads._pools and sum(in_threads(lambda piece: piece.stop - piece.start, 9)) == 9 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_prices_of_all_pairs_do_not_depend_on_the_cores(rng, monkeypatch: pytest.MonkeyPatch) -> None:
    from driftfit.transport import Problem
    from driftfit.transport.costs.passes import least_pairs, tighten

    pytest.importorskip("numba")
    table = Problem.of(rng.standard_normal((700, 60)), rng.standard_normal((600, 60))).table(apart=True)
    found = []
    for number in ("1", "2", "4"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", number)
        u, v = tighten(table, np.zeros(600))
        for limit in (None, 3.0):
            pairs, lowest = least_pairs(table, u, v, 5, limit)
            found.append((number, limit, u, v, pairs, lowest))
    for one in found[2:]:
        same = next(other for other in found[:2] if other[1] == one[1])
        for a, b in zip(one[2:4], same[2:4], strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(one[5], same[5])
        if one[1] is None:
            np.testing.assert_array_equal(one[4], same[4])
        else:
            # Each core keeps the least of its own rows: more may be found, never fewer.
            assert set(same[4]) <= set(one[4])
