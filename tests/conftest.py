"""Shared settings: reproducible hypothesis runs, interrupts, and a helper to find the benchmark data."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "driftfit",
    # The same examples each time: what the first few dozen do not show, the rest seldom do.
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("driftfit")

# A shell starts what runs in the background with interrupts ignored, for its children too; tests of them need them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240607)


@pytest.fixture(scope="session")
def benchmark_data() -> Path:
    """The folder of real benchmark files, where there is one."""
    folder = os.environ.get("DRIFTFIT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("DRIFTFIT_DATA names no folder with the benchmark files")
    return Path(folder)


# The packages are out of sight of the one finder that looks at installed files: to the libraries
# that ask for them they are not installed, which a None in sys.modules would not be.
_HIDE = """
import sys
from importlib.machinery import PathFinder
HIDDEN = {hidden!r}
class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in HIDDEN else super().find_spec(name, path, target)
sys.meta_path = [Finder if finder is PathFinder else finder for finder in sys.meta_path]
"""


@pytest.fixture
def run_without() -> Callable[[Iterable[str], str], subprocess.CompletedProcess[str]]:
    """Run code in a new process in which some packages are not installed."""

    def run(packages: Iterable[str], code: str) -> subprocess.CompletedProcess[str]:
        text = _HIDE.format(hidden=sorted(packages)) + code
        return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)

    return run
