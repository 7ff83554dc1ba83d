"""Spoiled run folders, networks and stores: each works or is refused with one short line, and the interpreter lives."""

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

from driftfit.errors import InputError

pytest.importorskip("torch")

_spec = importlib.util.spec_from_file_location("fuzz_files", Path(__file__).with_name("fuzz_files.py"))
fuzz_files = importlib.util.module_from_spec(_spec)
sys.modules["fuzz_files"] = fuzz_files
_spec.loader.exec_module(fuzz_files)

FRESH = range(120)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    fuzz_files.build(folder)
    return folder


def complaints(outcomes):
    return [outcome for outcome in outcomes if outcome.end not in ("loaded", "refused")]


@pytest.mark.parametrize("subject", fuzz_files.WEIGHTS)
def test_what_is_not_spoiled_works(base, subject, tmp_path):
    shutil.copytree(base / subject, tmp_path / "RUN")
    fuzz_files.use(subject, tmp_path / "RUN")


def test_spoiled_files_of_the_corpus_and_fresh_ones(base):
    seeds = [*fuzz_files.corpus(), *FRESH]
    outcomes = fuzz_files.batch(seeds, base)
    assert [outcome.seed for outcome in outcomes] == seeds
    assert complaints(outcomes) == []
    # Both ends are reached, and many of the checks.
    ends = [outcome.end for outcome in outcomes]
    assert min(ends.count("loaded"), ends.count("refused")) > 20
    assert len({outcome.message for outcome in outcomes}) > 60


def test_a_case_is_made_again_by_its_seed(base):
    assert fuzz_files.case(5, base) == fuzz_files.case(5, base)


def raising(error):
    def use(subject, folder):
        if error is not None:
            raise error

    return use


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (KeyError("a"), "complaint"),
        (MemoryError(), "complaint"),
        (InputError("two\nlines"), "complaint"),
        (InputError("x" * 5000), "complaint"),
        (InputError("one line"), "refused"),
        (None, "loaded"),
    ],
    ids=["another type", "no memory", "two lines", "a long line", "one line", "nothing"],
)
def test_the_fuzzer_notices_what_is_wrong(base, monkeypatch, error, end):
    monkeypatch.setattr(fuzz_files, "use", raising(error))
    assert fuzz_files.case(1, base).end == end


def test_the_fuzzer_notices_the_end_of_an_interpreter(base, tmp_path, monkeypatch):
    source = Path(fuzz_files.__file__).read_text()
    head = "def use(subject: str, folder: Path) -> None:\n"
    assert head in source
    harmful = tmp_path / "harmful.py"
    harmful.write_text(source.replace(head, f"{head}    import os; os.abort()\n"))
    monkeypatch.setattr(fuzz_files, "__file__", str(harmful))
    assert [(outcome.seed, outcome.end) for outcome in fuzz_files.batch([1], base)] == [(1, "crash")]
