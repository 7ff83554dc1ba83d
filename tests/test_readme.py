"""The README's commands and example run as they stand there; what it and the glossary name exists."""

import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import driftfit

README = Path(__file__).parents[1] / "README.md"
GLOSSARY = README.parent / "docs" / "glossary.md"


def python_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.slow
def test_the_ten_lines_run_and_gain(capsys):
    lines = [line for line in python_blocks()[0].splitlines() if line]
    assert len(lines) <= 10
    exec(compile(python_blocks()[0], str(README), "exec"), {})
    scores, sentence = capsys.readouterr().out.splitlines()
    old, adapted = map(float, re.findall(r"\d\.\d+", scores))
    assert adapted > old + 0.5
    assert "no target labels" in sentence


def test_it_stays_short():
    """One and a half screens: what it does, one picture, two commands, ten lines, where it fails."""
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    assert text.count("<img ") == 1


def commands() -> list[str]:
    """Every line of the shell blocks that calls driftfit, without its comment."""
    blocks = re.findall(r"```sh\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [line.partition("#")[0].strip() for block in blocks for line in block.splitlines() if "driftfit " in line]


@pytest.mark.slow
def test_the_commands_run_one_after_the_other(tmp_path):
    table = "driftfit demo --table events.parquet"
    assert f"`{table}`" in README.read_text(encoding="utf-8")
    assert len(commands()) == 2
    for command in (table, *commands()):
        arguments = [sys.executable, "-m", *shlex.split(command)]
        done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        if " check " in command:
            assert "diagnosis: features move by themselves" in done.stdout
    assert (tmp_path / "run" / "report.html").is_file()


@pytest.mark.parametrize("block", python_blocks())
def test_every_block_is_valid_python(block):
    assert compile(block, str(README), "exec")


def named(path: Path) -> list[str]:
    """Dotted names of driftfit, and classifiers, that a text sets in code."""
    code = " ".join(re.findall(r"`([^`\n]+)`", path.read_text(encoding="utf-8")))
    return sorted(set(re.findall(r"\bdriftfit(?:\.\w+)+", code)) | set(re.findall(r"\b\w+Classifier\b", code)))


def test_names_are_found_in_a_text(tmp_path):
    text = tmp_path / "a.md"
    text.write_text(
        "See `driftfit.selection`, or `SomeClassifier(1)` and `driftfit.methods.GOAT`, not driftfit.plain.\n"
    )
    assert named(text) == ["SomeClassifier", "driftfit.methods.GOAT", "driftfit.selection"]


@pytest.mark.parametrize("name", sorted({*named(README), *named(GLOSSARY)}))
def test_every_name_exists(name):
    if "." not in name:
        assert hasattr(driftfit, name)
        return
    parent, _, last = name.rpartition(".")
    assert hasattr(import_module(parent), last) or import_module(name)


def test_every_link_points_to_a_file():
    text = README.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text) + re.findall(r'src="([^"]+)"', text)
    assert len(links) > 10
    assert [link for link in links if not (README.parent / link).is_file()] == []
