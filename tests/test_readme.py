"""The README's example runs as it stands there; what it and the glossary name exists."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import gradapt

README = Path(__file__).parents[1] / "README.md"
GLOSSARY = README.parent / "docs" / "glossary.md"


def python_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_ten_lines_run_and_print_the_path(capsys):
    exec(compile(python_blocks()[0], str(README), "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 16
    assert printed[-1].startswith("3 1.0 ")


@pytest.mark.parametrize("block", python_blocks())
def test_every_block_is_valid_python(block):
    assert compile(block, str(README), "exec")


def named(path: Path) -> list[str]:
    """Dotted names of gradapt, and classifiers, that a text sets in code."""
    code = " ".join(re.findall(r"`([^`\n]+)`", path.read_text(encoding="utf-8")))
    return sorted(set(re.findall(r"\bgradapt(?:\.\w+)+", code)) | set(re.findall(r"\b\w+Classifier\b", code)))


def test_names_are_found_in_a_text(tmp_path):
    text = tmp_path / "a.md"
    text.write_text("See `gradapt.trust`, or `SomeClassifier(1)` and `gradapt.methods.GOAT`, not gradapt.plain.\n")
    assert named(text) == ["SomeClassifier", "gradapt.methods.GOAT", "gradapt.trust"]


@pytest.mark.parametrize("name", sorted({*named(README), *named(GLOSSARY)}))
def test_every_name_exists(name):
    if "." not in name:
        assert hasattr(gradapt, name)
        return
    parent, _, last = name.rpartition(".")
    assert hasattr(import_module(parent), last) or import_module(name)


def test_every_link_points_to_a_file():
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README.read_text(encoding="utf-8"))
    assert len(links) > 10
    assert [link for link in links if not (README.parent / link).is_file()] == []
