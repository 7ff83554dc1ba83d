"""Five newcomers with a table, a rare class, images, embeddings, and the paper: README and one guide are enough."""

import os
import re
import shlex
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pandas as pd
import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SCRIPTS = {path.stem: path for path in sorted(HERE.glob("*.sh"))}
TABLES = sorted(set(SCRIPTS) - {"paper_row"})
# Terms of the glossary that are plain English, that the guides introduce, or that every reader of a script knows.
PLAIN = {
    "cost", "solver", "step", "path", "source", "target", "position", "shift", "drift", "window", "window of a table",
    "classifier", "choice", "baseline", "error", "bound", "label", "adaptation", "order", "model", "margin",
    "decision", "backtest", "feature", "features", "metric", "labels", "today", "advice", "domain", "GOAT",
}  # fmt: skip
# Words of the trade that no reader should meet before asking for them.
TRADE = ("nats", "AUC", "isometry", "struck out", "students", "teacher", "posterior")


def made(stem, folder):
    """The newcomer's data in the folder, the truth about them, and how many of the last rows have no label."""
    spec = spec_from_file_location("first_hour_data", HERE / "data.py")
    data = module_from_spec(spec)
    spec.loader.exec_module(data)
    names = {"late_labels": "loans", "rare_class": "payments", "image_folder": "scans", "embeddings": "texts"}
    return getattr(data, names[stem])(folder)


def glossary_terms():
    """What the glossary explains and a newcomer has not read."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    terms = {term.strip() for row in rows for term in re.split(r",|\(", row)} - {"term", ""}
    return sorted(terms - PLAIN) + list(TRADE)


def unexplained(text):
    return [term for term in glossary_terms() if re.search(rf"\b{re.escape(term.rstrip(')'))}s?\b", text)]


def run(stem, folder, truth=None, **more):
    """Do what the script says; what it printed, command by command."""
    printed = []
    for line in SCRIPTS[stem].read_text(encoding="utf-8").splitlines():
        if line == "# fill in rows.csv":
            rows = pd.read_csv(folder / "rows.csv")
            label = next(name for name in rows if rows[name].isna().all())
            rows.assign(**{label: truth[rows["row"]].to_numpy()}).to_csv(folder / "rows.csv", index=False)
        elif line.startswith("driftfit "):
            arguments = [sys.executable, "-m", *shlex.split(line)]
            done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, env={**os.environ, **more})
            assert done.returncode == 0, f"{line}: {done.stderr}"
            printed.append(done.stdout)
    return printed


def test_every_option_is_in_readme_or_the_one_guide():
    for path in SCRIPTS.values():
        text = path.read_text(encoding="utf-8")
        guide = re.search(r"guide: (\S+)", text)[1]
        known = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", guide))
        lines = [line for line in text.splitlines() if line.startswith("driftfit ")]
        assert 0 < len(lines) < 10
        options = set(re.findall(r" (--[a-z-]+)", " ".join(lines)))
        verbs = {line.split()[1] for line in lines}
        assert [word for word in options if word not in known] == [], path.name
        assert [verb for verb in verbs if f"driftfit {verb}" not in known] == [], path.name


def test_a_word_of_the_trade_is_found():
    assert unexplained("The coupling has 0.4 nats and pseudo-labels.") == ["coupling", "pseudo-labels", "nats"]


@pytest.mark.slow
@pytest.mark.timeout(900)  # several commands, half a minute of processor time
@pytest.mark.parametrize("stem", TABLES)
def test_a_newcomer_gets_an_answer_without_the_glossary(stem, tmp_path):
    truth, n_today = made(stem, tmp_path)
    printed = run(stem, tmp_path, truth)
    assert unexplained("\n".join(printed)) == []
    name = next(tmp_path.glob("predictions.*"))
    found = pd.read_parquet(name) if name.suffix == ".parquet" else pd.read_csv(name)
    found = found[found["row"] >= len(truth) - n_today]
    today = truth[found["row"]].to_numpy()
    if stem == "rare_class":
        order = found["probability 1"].rank(ascending=False)
        assert order[today == 1].median() < 0.1 * len(found)
    else:
        assert (found["prediction"].astype(str) == today.astype(str)).mean() > 0.8
    # The answer comes first, and is a few sentences.
    assert all(len(sentence) < 300 for text in printed for sentence in text.splitlines())


@pytest.mark.slow
def test_a_row_of_the_paper_is_run_and_listed(tmp_path):
    from driftfit.datasets import write_made_data

    pytest.importorskip("torch")
    data = write_made_data(tmp_path / "data", n_images=60, n_rows=20_000)
    listed, table, runs = run("paper_row", tmp_path, DRIFTFIT_DATA=str(data), DRIFTFIT_OFFLINE="1")
    assert "covtype" in listed
    assert re.search(r"\d of \d cells run", table)
    assert "paper covtype" in runs
