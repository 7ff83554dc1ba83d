"""Pages of the site: their code runs, their links lead somewhere, and every page is in the table of contents."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if not {"api", "auto_examples"} & set(path.relative_to(DOCS).parts))
SOURCE = DOCS.parent / "src" / "driftfit"
GUIDES = [DOCS / "quickstart.md", *sorted((DOCS / "guide").glob("*.md"))]


def blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def commands(page):
    """Lines of the shell blocks that work on the made-up table, where the page begins with writing it."""
    shell = "".join(re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL))
    lines = [line for line in shell.splitlines() if line.startswith("driftfit ") and "events.parquet" in line]
    return lines if "driftfit demo --table events.parquet" in lines else []


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in GUIDES if blocks(page)], ids=lambda page: page.stem)
def test_the_code_of_a_guide_runs_and_prints(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in commands(page):
        subprocess.run([sys.executable, "-m", *shlex.split(command)], check=True, capture_output=True)
    for block in blocks(page):
        exec(compile(block, str(page), "exec"), {"__name__": "guide"})
        assert capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_of_a_page_lead_to_files(page):
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    made = ("auto_examples", "api")
    missing = [link for link in links if not link.startswith(made) and not (page.parent / link).exists()]
    assert missing == []


def test_every_page_is_in_the_table_of_contents():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    parts = re.findall(r"```\{toctree\}(.*?)```", text, re.DOTALL)
    listed = {line.strip() for part in parts for line in part.splitlines()}
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in PAGES} - {"index"}
    assert pages - listed == set()


def test_the_architecture_page_names_what_is_there():
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    rows = text.split("## Layers")[1].split("\n## ")[0]
    layers = {
        name for row in re.findall(r"^\| (`.*?) \|", rows, flags=re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    here = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert layers == here - {"__init__", "__main__"}
    modules = {
        name for name in re.findall(r"`((?:\w+/)+\w+)(?:\.py)?`", text) if (SOURCE / name.split("/")[0]).is_dir()
    }
    assert len(modules) > 10
    assert [name for name in modules if not (SOURCE / name).is_dir() and not (SOURCE / f"{name}.py").is_file()] == []
