"""Every output, with every fault at every step of its writing."""

import json
import re
import shutil
from pathlib import Path

import pytest

from driftfit.app import save_run, summarise
from driftfit.app.folder import is_whole, open_run, put_file, rebuild_pages, write_predictions
from driftfit.errors import InputError

FIRST, SECOND = "<p>first", "<p>second"


@pytest.fixture(scope="module")
def summary(small_result):
    return summarise(small_result)


@pytest.fixture(scope="module")
def first(small_result, summary, tmp_path_factory):
    return save_run(small_result, summary, tmp_path_factory.mktemp("first") / "RUN", page=lambda _: FIRST)


def page_of(folder):
    return (folder / "RUN" / "report.html").read_text()


def judge_run(folder, before):
    """Whatever happened: the old run or the new one, in place and whole, after the next start."""
    if not (folder / "RUN").exists() and not any(name.startswith("RUN") for name in before):
        return []
    try:
        open_run(folder / "RUN")
    except InputError:
        return ["half-written"] if (folder / "RUN").exists() else ["lost"]
    return []


def test_a_first_run(sweep, small_result, summary):
    sweep(
        "adapt",
        lambda folder: None,
        # A run that is in place although its last step failed is a whole one.
        lambda folder: save_run(small_result, summary, folder / "RUN", page=lambda _: FIRST, force=True),
        judge_run,
    )


def test_a_run_in_the_place_of_another(sweep, small_result, summary, first):
    def judge(folder, before):
        wrong = judge_run(folder, before)
        return wrong or ([] if page_of(folder) in (FIRST, SECOND) else ["half-written"])

    sweep(
        "adapt --force",
        lambda folder: shutil.copytree(first, folder / "RUN"),
        lambda folder: save_run(small_result, summary, folder / "RUN", page=lambda _: SECOND, force=True),
        judge,
    )


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_predictions(sweep, small_result, name):
    new = small_result.predictions

    def judge(folder, before):
        now = (folder / "deep" / name).read_bytes()
        return [] if now == before[f"deep/{name}"] or len(now) != len(before[f"deep/{name}"]) else ["half-written"]

    sweep(
        f"predict, {name.partition('.')[2]}",
        lambda folder: write_predictions(new.head(10), folder / "deep" / name),
        lambda folder: write_predictions(new, folder / "deep" / name),
        judge,
    )


def test_a_report_that_is_built_again(sweep, first):
    sweep(
        "report",
        lambda folder: shutil.copytree(first, folder / "RUN"),
        lambda folder: rebuild_pages(folder / "RUN", SECOND),
        judge_run,
    )


def test_an_export_into_the_run(sweep, first):
    def judge(folder, before):
        return judge_run(folder, before) or ([] if is_whole(folder / "RUN") else ["half-written"])

    sweep(
        "export",
        lambda folder: shutil.copytree(first, folder / "RUN"),
        lambda folder: put_file(folder / "RUN", "export.skops", b"model" * 1000),
        judge,
    )


def test_a_networks_files(sweep):
    torch = pytest.importorskip("torch")
    import numpy as np

    from driftfit.models.torch.classifier import TorchClassifier
    from driftfit.models.torch.files import load_classifier, save_classifier

    rows = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    network = TorchClassifier(torch.nn.Linear(3, 2), epochs=1, device="cpu", random_state=0).fit(rows, rows[:, 0] > 0)

    def judge(folder, before):
        load_classifier(folder / "network", device="cpu")
        return []

    sweep(
        "torch model",
        lambda folder: save_classifier(network, folder / "network"),
        lambda folder: save_classifier(network, folder / "network") and (folder / "done").write_text(""),
        judge,
    )


def test_the_injector_notices_what_is_wrong(sweep):
    def careless(folder):
        from driftfit import files

        handle = files.DISK.create(folder / f".{len(list(folder.iterdir()))}")
        files.DISK.write(handle, memoryview(json.dumps(list(range(99))).encode()))

    with pytest.raises((AssertionError, OSError)):
        sweep("careless", lambda folder: None, careless, lambda folder, before: ["half-written"])


def test_every_test_that_the_page_names_is_there():
    top = Path(__file__).parents[2]
    named = set(re.findall(r"`((?:tests|benchmarks)/[a-z_/]+[.]py)", (top / "docs" / "reliability.md").read_text()))
    assert len(named) > 15
    assert not {name for name in named if not (top / name).is_file()}
