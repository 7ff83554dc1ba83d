"""How many files a reader has to open to follow a call: `benchmarks/files_passed.py` counts them, and they stay few."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield import_module("files_passed")
    del sys.modules["files_passed"]


@pytest.mark.parametrize(
    ("call", "most"),
    [
        ("transport(x0, x1)", 14),
        ("AutoAdaptedClassifier().fit, labels of five domains", 35),
        ("AutoAdaptedClassifier().fit, labels of one", 35),
    ],
)
def test_a_call_passes_few_files(script, call, most):
    assert 5 < len(script.files_passed(script.CALLS[call])) <= most


def test_what_a_call_runs_is_counted_and_what_it_imports_is_not(script):
    from driftfit.seeds import derive_seed

    assert script.files_passed(lambda: derive_seed("a")) == ["seeds.py"]
    assert script.files_passed(lambda: import_module("driftfit.errors")) == []
