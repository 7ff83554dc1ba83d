"""`driftfit adapt`, `predict`, `export` and `report` as a user runs them."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from driftfit.datasets.toy import moving_gaussians

OPTIONS = ["--label", "kind", "--order", "year", "--window-by", "value", "--generated", "1"]


def driftfit(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "driftfit.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=280,
    )


def frame(shifts=(0, 0.6, 1.2), n=100):
    parts = []
    for number, domain in enumerate(moving_gaussians(shifts)):
        kinds = np.where(domain.labels[:n] == 1, "good", "bad")
        parts.append(pd.DataFrame(domain.samples[:n], columns=["u", "v"]).assign(kind=kinds, year=2000 + number))
    whole = pd.concat(parts, ignore_index=True)
    return whole.assign(place=np.where(np.arange(len(whole)) % 3, "here", "there"), flag=np.arange(len(whole)) % 2 == 0)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a table and the run made from it."""
    folder = tmp_path_factory.mktemp("adapt")
    frame().to_parquet(folder / "events.parquet")
    done = driftfit("adapt", "events.parquet", *OPTIONS, "-o", "RUN", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, done


def test_results_go_to_stdout_and_progress_to_stderr(made):
    folder, done = made
    assert json.loads(done.stdout) == json.loads((folder / "RUN" / "result.json").read_text())
    for stage in ("read", "check", "adapt", "estimate", "predict", "write"):
        assert f"\n{stage} " in "\n" + done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["RUN", "events.parquet"]
    assert json.loads(done.stdout)["redo"].startswith("driftfit adapt events.parquet --label kind")


def test_a_new_process_predicts_the_same_and_onnx_agrees(made):
    import onnxruntime

    from driftfit.app import load_run
    from driftfit.app.export import onnx_inputs

    folder, _ = made
    assert driftfit("predict", "RUN", "events.parquet", "-o", "new.parquet", cwd=folder).returncode == 0
    first, again = pd.read_parquet(folder / "RUN" / "predictions.parquet"), pd.read_parquet(folder / "new.parquet")
    again = again.iloc[first["row"]].reset_index(drop=True)
    assert (again["prediction"] == first["prediction"]).all()
    np.testing.assert_array_equal(again["predicted_probability"], first["predicted_probability"])
    assert driftfit("export", "RUN", "--to", "onnx", "-o", "model.onnx", cwd=folder).returncode == 0
    rows = frame().iloc[first["row"]]
    session = onnxruntime.InferenceSession(folder / "model.onnx")
    labels, probabilities = session.run(None, onnx_inputs(load_run(folder / "RUN").predictor, rows))
    assert (labels == first["prediction"].to_numpy()).all()
    assert np.abs(probabilities.max(axis=1) - first["predicted_probability"]).max() < 1e-5


def test_the_report_is_built_again_and_compared(made, monkeypatch, capsys):
    folder, _ = made
    first = (folder / "RUN" / "report.html").read_text()
    monkeypatch.chdir(folder)
    (folder / "RUN" / "report.html").unlink()
    assert _in_process(["report", "RUN"], monkeypatch) == 0
    assert len((folder / "RUN" / "report.html").read_text()) == pytest.approx(len(first), rel=0.05)
    assert _in_process(["report", "RUN", "RUN", "-o", "both.html"], monkeypatch) == 0
    assert (folder / "both.html").stat().st_size > 1000
    (folder / "both.html").unlink()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["adapt", "events.parquet", "--label", "kind", "-o", "X"], 2, "--order"),
        (["adapt", "events.parquet", *OPTIONS, "--windows", "3", "-o", "X"], 2, "exclude each other"),
        (["adapt", "events.parquet", *OPTIONS[:6], "--generated", "some", "-o", "X"], 2, "whole number"),
        (["adapt", "events.parquet", *OPTIONS, "--method", "gst", "-o", "X"], 2, "goes with --method goat"),
        (["adapt", "events.parquet", *OPTIONS, "-o", "RUN"], 1, "'RUN' is not empty"),
        (["adapt", "absent.csv", *OPTIONS, "-o", "X"], 1, "there is no file 'absent.csv'"),
        (["adapt", "events.parquet", *OPTIONS, "--model", "tree", "-o", "X"], 1, "there is no model 'tree'"),
        (["predict", "RUN", "events.parquet", "-o", "new.xls"], 1, "written as .parquet or .csv"),
        (["predict", "absent", "events.parquet", "-o", "new.csv"], 1, "there is no folder 'absent'"),
        (["export", "RUN", "--to", "pickle"], 2, "pickle"),
        (["report", "events.parquet"], 1, "there is no folder"),
    ],
)
def test_errors_are_one_line(made, monkeypatch, capsys, arguments, code, words):
    monkeypatch.chdir(made[0])
    before = sorted(path.name for path in made[0].iterdir())
    assert _in_process(arguments, monkeypatch) == code
    assert words in capsys.readouterr().err
    assert sorted(path.name for path in made[0].iterdir()) == before


def test_auto_tells_what_it_compared(made, monkeypatch, capsys):
    monkeypatch.chdir(made[0])
    arguments = ["adapt", "events.parquet", *OPTIONS[:6], "--generated", "auto", "-o", "AUTO", "--json"]
    assert _in_process(arguments, monkeypatch) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((made[0] / "AUTO" / "result.json").read_text())
    assert [entry["n_generated"] for entry in printed["generated"]["scores"]] == [0, 1, 2, 3, 4]
    assert printed["generated"]["sentence"] in (made[0] / "AUTO" / "MODEL_CARD.md").read_text()
    assert "carried along the plans" in (made[0] / "AUTO" / "report.html").read_text()
    shutil.rmtree(made[0] / "AUTO")
    assert _in_process([*arguments[:-1], "--verbose"], monkeypatch) == 0
    told = capsys.readouterr().out
    assert told.startswith("\n".join(printed["answer"]["sentences"][:3]))
    assert f"generated: {printed['generated']['sentence']}" in told
    shutil.rmtree(made[0] / "AUTO")


def test_an_untrusted_path_leaves_with_3_only_when_asked(tmp_path, monkeypatch, capsys):
    frame((0, 3.0)).to_csv(tmp_path / "jump.csv", index=False)
    monkeypatch.chdir(tmp_path)
    arguments = ["adapt", "jump.csv", *OPTIONS[:6], "--method", "direct", "--seed", "1", "--history", "first"]
    assert _in_process([*arguments, "-o", "one", "--fail-on", "untrusted"], monkeypatch) == 3
    printed = capsys.readouterr().out
    assert printed.startswith("Since 2000 ")
    assert "self-training" not in printed
    assert (tmp_path / "one" / "result.json").is_file()
    assert _in_process([*arguments, "-o", "two"], monkeypatch) == 0


@pytest.mark.slow
def test_an_interrupt_leaves_with_130_and_no_folder(tmp_path):
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(20_000, 30))).add_prefix("c")
    wide.assign(kind=rng.integers(0, 2, 20_000), year=np.arange(20_000)).to_parquet(tmp_path / "big.parquet")
    command = [sys.executable, "-m", "driftfit.cli", "adapt", "big.parquet", "--label", "kind", "--order", "year"]
    process = subprocess.Popen(
        [*command, "--model", "boosting", "-o", "RUN"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    time.sleep(8)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 130
    assert b"Traceback" not in stderr
    assert [path.name for path in tmp_path.iterdir()] == ["big.parquet"]


@pytest.mark.slow
def test_mlflow_serves_the_model(made, tmp_path):
    pytest.importorskip("mlflow")
    folder, _ = made
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    code = "import sys; from pathlib import Path; from driftfit.app.export import log_run; "
    code += "print(log_run(Path(sys.argv[1]), sys.argv[2]))"
    logged = subprocess.run(
        [sys.executable, "-c", code, folder / "RUN", uri], capture_output=True, text=True, cwd=tmp_path, timeout=200
    )
    assert logged.returncode == 0, logged.stderr
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    options = ["-m", logged.stdout.split()[-1], "--env-manager", "local", "-h", "127.0.0.1", "-p", str(port)]
    with (tmp_path / "log.txt").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "models", "serve", *options],
            env={**os.environ, "MLFLOW_TRACKING_URI": uri, "PATH": binaries},
            cwd=tmp_path,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            answer = _ask(f"http://127.0.0.1:{port}/invocations", frame().tail(5), seconds=200)
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(timeout=30)
    expected = pd.read_parquet(folder / "RUN" / "predictions.parquet").tail(5)
    assert [row["prediction"] for row in answer["predictions"]] == expected["prediction"].tolist()
    assert [row["predicted_probability"] for row in answer["predictions"]] == pytest.approx(
        expected["predicted_probability"].tolist()
    )


def _ask(url, rows, seconds):
    body = json.dumps({"dataframe_records": rows.drop(columns=["kind", "year"]).to_dict("records")}).encode()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    until = time.monotonic() + seconds
    while True:
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        try:
            with opener.open(request, timeout=30) as response:
                return json.load(response)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


def _in_process(arguments, monkeypatch):
    from driftfit.cli import main

    monkeypatch.setattr(sys, "argv", ["driftfit", *map(str, arguments)])
    try:
        main()
    except SystemExit as leaving:
        return leaving.code or 0
    return 0
