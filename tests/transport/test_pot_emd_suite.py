"""POT's own tests of ``ot.emd`` and ``ot.emd2``, run with our solver in place of its compiled one.

The tests come with POT's source distribution, which is fetched from the package index,
checked against its hash and kept in the cache; nothing of POT is copied into this
repository. ``ot.emd`` itself stays (it checks and converts the input): the solver below
it, ``emd_c``, is replaced.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

PATCH = '''
"""Puts driftfit's solver below ot.emd, and stands in for the fixtures of POT's own conftest."""
import atexit

import numpy as np
import ot
import pytest
from ot.lp import _network_simplex

from driftfit.transport import Exact, Problem
from driftfit.transport.solvers import exact

exact.SMALL_PAIRS = 0  # no problem is too small for our own methods
theirs = _network_simplex.emd_c
calls = [0]
atexit.register(lambda: print(f"solved by driftfit: {calls[0]}"))


def ours(a, b, costs, max_iter, threads, alpha=None, beta=None):
    unusual = max_iter < 10_000 or (a < 0).any() or (b < 0).any() or abs(a.sum() - b.sum()) > 1e-9 * a.sum()
    if unusual or 0 in costs.shape:
        return theirs(a, b, costs, max_iter, threads, alpha, beta)  # pivots to count, or a problem without a plan
    calls[0] += 1
    problem = Problem.from_costs(costs, a, b)
    solution = Exact(device="cpu").solve(problem)
    plan = np.zeros(costs.shape)
    np.add.at(plan, (solution.rows, solution.cols), solution.mass * a.sum())
    u = solution.potential0
    v = (costs - u[:, None])[problem.weights0 > 0].min(axis=0)
    return plan, float((plan * costs).sum()), u, v, 1


_network_simplex.emd_c = ours
pytest.skip_backend = lambda *names, **reason: lambda test: test
pytest.skip_arg = lambda *names, **reason: lambda test: test


@pytest.fixture(params=[b for b in ot.backend.get_backend_list() if b.__name__ in ("numpy", "torch")],
                ids=lambda b: b.__name__)
def nx(request):
    return request.param
'''


@pytest.fixture(scope="module")
def suite() -> Path:
    """POT's test folder, of the version that is installed."""
    installed = importlib.metadata.version("POT")
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "driftfit" / f"pot-{installed}"
    if not (home / "test" / "test_ot.py").exists():
        archive = _fetched(installed, home)
        with tarfile.open(archive) as tar:
            members = [m for m in tar.getmembers() if re.match(r"[^/]+/test/[^/]+\.py$", m.name)]
            for member in members:
                member.name = member.name.split("/", 1)[1]
            tar.extractall(home, members, filter="data")
    (home / "test" / "conftest.py").write_text(PATCH)
    return home / "test"


def _fetched(installed: str, home: Path) -> Path:
    index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/") + "/pot/"
    if urlsplit(index).scheme not in ("http", "https"):
        pytest.skip(f"the package index {index} is not a web address; POT's tests cannot be fetched")
    try:
        with urllib.request.urlopen(index, timeout=20) as page:
            text = page.read().decode()
        found = re.search(rf'href="([^"]*pot-{re.escape(installed)}\.tar\.gz)#sha256=([0-9a-f]{{64}})"', text, re.I)
        if found is None:
            pytest.skip(f"{index} offers no source distribution of POT {installed}")
        with urllib.request.urlopen(urljoin(index, found.group(1)), timeout=60) as file:
            content = file.read()
    except (urllib.error.URLError, TimeoutError) as error:
        pytest.skip(f"the package index cannot be reached ({error}); POT's tests come with its source distribution")
    assert hashlib.sha256(content).hexdigest() == found.group(2)
    home.mkdir(parents=True, exist_ok=True)
    archive = home / "pot.tar.gz"
    archive.write_bytes(content)
    return archive


@pytest.mark.slow
@pytest.mark.network
def test_pots_own_tests_pass_with_our_solver(suite: Path, tmp_path: Path) -> None:
    wanted = "emd or dual_variables or warnings or free_support_barycenter"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir",
               str(suite), "-k", wanted, str(suite / "test_ot.py")]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=280, check=False)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output[-6000:]
    solved = re.search(r"solved by driftfit: (\d+)", output)
    assert solved is not None
    assert int(solved.group(1)) > 50
    assert int(re.search(r"(\d+) passed", output).group(1)) > 20
