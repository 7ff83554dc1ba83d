"""`Ray`: workers on this machine or on a cluster, by Ray, which is imported only when it is asked for.

A worker is an actor that holds its share of a GPU for as long as it lives, so that what it has loaded and compiled
serves all of its tasks. What the tasks of a batch share lies in the object store once, and every worker reads it there.
"""

from __future__ import annotations

import io
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field
from typing import Any

from driftfit.errors import InputError, SolverError, one_line
from driftfit.extras import need
from driftfit.parallel_tasks import (
    Batch,
    Failure,
    Lost,
    Outcome,
    Shared,
    attempt,
    dispatch,
    prepared,
    unsendable,
)

_MIB = 2**20
# Seconds in which the head of a cluster takes a connection.
_REACHED_IN = 5.0


@dataclass(frozen=True)
class Ray:
    """Workers by Ray, of this machine or of a cluster.

    Parameters
    ----------
    workers : int, optional
        At most so many; a Ray of this machine has so many cores. By default as many as there is room for.
    address : str, optional
        ``HOST:PORT`` of a cluster; by default a Ray of this process's own is started, and ended with it.
    gpus : float, optional
        GPUs of each worker, such as 0.5 for two workers on one; by default 1 where there are GPUs.
    object_store : int
        MiB of shared memory of a Ray of this machine.

    Examples
    --------
    >>> Ray(address="10.0.0.1:6379", gpus=0.5).words
    'ray at 10.0.0.1:6379'
    """

    workers: int | None = None
    address: str | None = None
    gpus: float | None = None
    object_store: int = 512

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise InputError(f"there must be at least 1 worker, got {self.workers!r}")
        if self.gpus is not None and (self.gpus < 0 or (self.gpus > 1 and self.gpus != int(self.gpus))):
            raise InputError(f"gpus must be a part of one GPU, such as 0.5, or a whole number, got {self.gpus!r}")

    @property
    def words(self) -> str:
        return "ray on this machine" if self.address is None else f"ray at {self.address}"

    @property
    def sharing(self) -> int:
        return max(1, int(1 / self.gpus)) if self.gpus else 1

    def run(self, batches: Iterator[Batch | None]) -> Iterator[Outcome]:
        need("ray", "ray", "the engine ray")
        with _session(self) as ray:
            crew = _RayCrew(self, ray)
            try:
                yield from dispatch(crew, batches)
            finally:
                crew.close()


@contextmanager
def _session(engine: Ray) -> Iterator[Any]:
    """Ray, connected; only what was started here is ended here."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    if ray.is_initialized():
        yield ray
        return
    if engine.address is not None:
        _check_reached(engine.address)
    # Sockets lie in this folder, and their names may not be long.
    folder = tempfile.mkdtemp(prefix="driftfit-ray-", dir=None if len(tempfile.gettempdir()) < 30 else "/tmp")
    here = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    if engine.address is None:
        options |= {"num_cpus": engine.workers, "include_dashboard": False, "_temp_dir": folder}
        options |= {"object_store_memory": max(engine.object_store, 80) * _MIB, "address": "local"}
    else:
        options |= {"address": engine.address}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                ray.init(**options)
            except (ConnectionError, RuntimeError, ValueError, OSError) as error:
                where = "on this machine" if engine.address is None else f"at {engine.address}"
                raise InputError(f"no Ray {where} ({one_line(error)}); look at the address, or use processes") from None
        if here:  # Ray would end this process at once
            signal.signal(signal.SIGTERM, before)
        with redirect_stdout(_WithoutRay(sys.stdout)):
            yield ray
    finally:
        # This ends what this process has started and leaves all others, also those of a cluster.
        with redirect_stdout(io.StringIO()):
            ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def _check_reached(address: str) -> None:
    """Raise where nobody listens: Ray would try for minutes, deaf to interrupts."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACHED_IN).close()
    except (OSError, OverflowError, UnicodeError) as error:
        raise InputError(f"no Ray at {address} ({one_line(error)}); look at the address, or use processes") from None


class _WithoutRay:
    """The output without what a thread of Ray prints there on its own: results go there, and somebody may read them."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if threading.current_thread().name.startswith("ray_"):
            return len(text)
        return int(self._stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Worker:
    """An actor: does tasks one at a time and remembers what those of the last batch share."""

    def __init__(self) -> None:
        self.scratch: dict[str, Any] = {}
        self.number = -1
        self.workload: Any = None
        self.shared: Any = None

    def ready(self) -> bool:
        return True

    def prepare(self, number: int, batch: Batch) -> Any:
        """Prepare a batch; what comes back goes into the object store."""
        self.shared = None
        self.number, self.workload, self.shared = number, batch.workload, prepared(batch, self.scratch)
        return batch.workload, self.shared

    def work(self, number: int, place: list[Any], task: Any) -> Outcome | Lost:
        """One task; ``place`` holds the reference to what it shares, which is fetched only once."""
        import ray

        if number != self.number:
            self.shared = None
            try:
                self.workload, self.shared = ray.get(place[0])
            except ray.exceptions.RayError as error:
                return Lost(f"what others share was lost ({type(error).__name__})", blameless=True)
            self.number = number
        return attempt(self.workload, self.shared, task)


@dataclass(eq=False)
class _Hand:
    actor: Any
    waits_for: Any
    ready: bool = False
    shared: Shared | None = None


@dataclass(eq=False)
class _RayCrew:
    engine: Ray
    ray: Any
    hands: dict[int, _Hand] = field(default_factory=dict)
    count: int = 0

    def idle(self) -> list[Hashable]:
        # The cluster may have grown, or lost a machine.
        while len(self.hands) < self._room():
            actor = self.ray.remote(_Worker).options(num_cpus=1, num_gpus=self._gpus(), max_restarts=0).remote()
            self.hands[self.count] = _Hand(actor, actor.ready.remote())
            self.count += 1
        return [number for number, hand in self.hands.items() if hand.waits_for is None]

    def give(self, number: Hashable, shared: Shared, index: int) -> None:
        hand = self.hands[number]  # type: ignore[index]
        hand.shared = shared
        try:
            if shared.place is None:
                shared.place = hand.actor.prepare.remote(shared.number, shared.batch)
            hand.waits_for = hand.actor.work.remote(shared.number, [shared.place], shared.batch.tasks[index])
        except (TypeError, AttributeError) as error:
            raise unsendable(error) from None

    def wait(self, seconds: float) -> list[tuple[Hashable, Outcome | Lost]]:
        waiting = {hand.waits_for: number for number, hand in self.hands.items() if hand.waits_for is not None}
        if not self.hands:
            raise SolverError("the cluster has no room for a single worker; give it a core, or fewer GPUs to each cell")
        if not waiting:
            time.sleep(seconds)
            return []
        self.ray.wait(list(waiting), num_returns=1, timeout=seconds)
        done, _ = self.ray.wait(list(waiting), num_returns=len(waiting), timeout=0)
        found: list[tuple[Hashable, Outcome | Lost]] = []
        for reference in done:
            number = waiting[reference]
            hand = self.hands[number]
            was_ready, hand.ready, hand.waits_for = hand.ready, True, None
            try:
                came = self.ray.get(reference)
            except self.ray.exceptions.RayTaskError as error:  # what came of a task cannot be packed
                came = Outcome(None, failure=Failure.of(error))
            except self.ray.exceptions.RayError as error:
                came = Lost(f"a worker was ended from outside ({type(error).__name__})")
                del self.hands[number]
                self._end(hand)  # it may only be out of sight
            if isinstance(came, Lost) and came.blameless and hand.shared is not None:
                hand.shared.place = None  # the next one prepares it again
            if was_ready:
                found.append((number, came))
        return found

    def close(self) -> None:
        for hand in self.hands.values():
            self._end(hand)
        self.hands.clear()

    def _end(self, hand: _Hand) -> None:
        with suppress(Exception):
            self.ray.kill(hand.actor)

    def _gpus(self) -> float:
        if self.engine.gpus is not None:
            return self.engine.gpus
        return 1.0 if self.ray.cluster_resources().get("GPU", 0.0) >= 1 else 0.0

    def _room(self) -> int:
        found, gpus = self.ray.cluster_resources(), self._gpus()
        room = int(found.get("CPU", 0.0))
        if gpus:
            room = min(room, int(found.get("GPU", 0.0) / gpus))
        return room if self.engine.workers is None else min(room, self.engine.workers)
