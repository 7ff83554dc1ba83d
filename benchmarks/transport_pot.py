"""POT's own tests with driftfit's functions in the place of POT's, and random problems solved by both.

    python benchmarks/transport_pot.py --out results

The tests come with POT's source distribution, which is fetched from the package index, checked against its hash and
kept in the cache; nothing of POT is copied into this repository. Before the tests start, every module of POT that holds
one of the functions gets ours instead, so that barycentres and the like call it too. Only POT's own answers to
regularised and unbalanced problems stay. Tests of backends other than NumPy and torch are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tarfile
import urllib.request
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import numpy as np

FILES = ("test_ot.py", "test_1d_solver.py", "test_solvers.py")
PATCH = '''
"""Puts driftfit's functions in the place of POT's, and stands in for the fixtures of POT's own conftest."""
import atexit
import functools
import json
import sys
import types
import warnings

import ot
import pytest

from driftfit.transport import pot
from driftfit.transport.pot import unified

theirs = types.SimpleNamespace(**{name: getattr(ot, name) for name in pot.__all__ if hasattr(ot, name)})
calls = dict.fromkeys(vars(theirs), 0)


def counted(name):
    ours = getattr(pot, name)

    @functools.wraps(ours)
    def call(*arguments, **options):
        calls[name] += 1
        return ours(*arguments, **options)

    return call


for name, function in vars(theirs).items():
    ours = counted(name)
    for module in [module for key, module in sys.modules.items() if key == "ot" or key.startswith("ot.")]:
        if vars(module).get(name) is function:
            setattr(module, name, ours)
# What is passed on goes to POT's own functions, not round in a circle.
unified.importlib = types.SimpleNamespace(import_module=lambda name: theirs)
atexit.register(lambda: print("calls:", json.dumps(calls)))

pytest.skip_backend = lambda *names, **reason: pytest.mark.skip_backend(*names)
pytest.skip_arg = lambda *names, **reason: lambda test: test


@pytest.fixture(params=[b for b in ot.backend.get_backend_list() if b.__name__ in ("numpy", "torch")],
                ids=lambda b: b.__name__)
def nx(request):
    for mark in request.node.iter_markers("skip_backend"):
        if request.param.__name__ in mark.args:
            pytest.skip("not for this backend")
    return request.param
'''


def fetched() -> Path:
    """POT's test folder, of the version that is installed."""
    installed = importlib.metadata.version("POT")
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "driftfit" / f"pot-{installed}"
    if not (home / "test" / "test_solvers.py").exists():
        index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/") + "/pot/"
        with urllib.request.urlopen(index, timeout=20) as page:
            text = page.read().decode()
        found = re.search(rf'href="([^"]*pot-{re.escape(installed)}\.tar\.gz)#sha256=([0-9a-f]{{64}})"', text, re.I)
        if found is None:
            raise SystemExit(f"{index} offers no source distribution of POT {installed}")
        with urllib.request.urlopen(urljoin(index, found.group(1)), timeout=60) as file:
            content = file.read()
        if hashlib.sha256(content).hexdigest() != found.group(2):
            raise SystemExit("the source distribution of POT is not the one that the index names")
        home.mkdir(parents=True, exist_ok=True)
        (home / "pot.tar.gz").write_bytes(content)
        with tarfile.open(home / "pot.tar.gz") as tar:
            members = [m for m in tar.getmembers() if re.match(r"[^/]+/test/[^/]+\.py$", m.name)]
            for member in members:
                member.name = member.name.split("/", 1)[1]
            tar.extractall(home, members, filter="data")
    (home / "test" / "conftest.py").write_text(PATCH)
    return home / "test"


def suite(tests: Path) -> dict[str, Any]:
    """How many of POT's tests pass, fail and are skipped, and the names of those that fail."""
    report = tests.parent / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", "-c", os.devnull,
               "--rootdir", str(tests), "--junit-xml", str(report), *(str(tests / name) for name in FILES)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=tests.parent, check=False)
    calls = re.search(r"calls: (.*)", done.stdout)
    if calls is None:
        raise SystemExit(done.stdout[-4000:] + done.stderr[-4000:])
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    failed = {
        f"{case.get('classname')}::{case.get('name')}": str(part.get("message"))[:200]
        for case in cases for part in case if part.tag in ("failure", "error")
    }  # fmt: skip
    skipped = sum(any(part.tag == "skipped" for part in case) for case in cases)
    return {
        "passed": len(cases) - len(failed) - skipped,
        "failed": failed,
        "skipped": skipped,
        "calls": json.loads(calls.group(1)),
    }


def random_problems(count: int) -> dict[str, float]:
    """The largest relative differences to POT over random problems, gradients by weights in units of the mean cost."""
    import ot
    import torch

    from driftfit.transport import pot

    names = "plan", "gradient of a", "gradient of b", "gradient of M"
    rng, worst = np.random.default_rng(0), dict.fromkeys(("cost", *names), 0.0)
    for _ in range(count):
        n, m = rng.integers(2, 60, 2)
        a, b, mass = rng.random(n) + 0.01, rng.random(m) + 0.01, rng.choice([1.0, 0.3, 7.0])
        costs = rng.random((n, m)) if rng.random() < 0.5 else ot.dist(rng.normal(size=(n, 3)), rng.normal(size=(m, 3)))
        unit, results = float(costs.mean()), []
        for module in (pot, ot):
            given = [torch.tensor(x, requires_grad=True) for x in (mass * a / a.sum(), mass * b / b.sum(), costs)]
            value, log = module.emd2(*given, log=True, return_matrix=True)
            value.backward()
            results.append((value.item(), log["G"].numpy(), *(x.grad.numpy() for x in given)))
        ours, theirs = results
        worst["cost"] = max(worst["cost"], abs(ours[0] - theirs[0]) / abs(theirs[0]))
        units = mass, unit, unit, mass
        for name, mine, other, scale in zip(names, ours[1:], theirs[1:], units, strict=True):
            worst[name] = max(worst[name], float(np.abs(mine - other).max()) / scale)
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path("benchmark-transport"))
    options = parser.parse_args()
    record = {"POT": importlib.metadata.version("POT"), "torch": importlib.metadata.version("torch"),
              "suite": suite(fetched()), "problems": options.problems}  # fmt: skip
    print(json.dumps(record, indent=1), flush=True)
    record["largest differences"] = random_problems(options.problems)
    print(json.dumps(record["largest differences"], indent=1))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "transport_pot.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
