"""The scripts of the gallery: a title, a few words, public names, a figure, and no warning where they run.

That they import declared packages alone is checked with the other files, in `test_install`.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"
SCRIPTS = sorted(GALLERY.glob("plot_*.py"))
QUICK = ("plot_02_geodesic", "plot_03_certificates", "plot_06_label_shift")
# The toy data are a module of their own, which the README names.
PUBLIC_MODULES = ("driftfit.datasets.toy",)
MOST_CODE_LINES = 45


def has_title(source: str) -> bool:
    """Whether the docstring begins with a title that is underlined in full, and goes on after it."""
    lines = (ast.get_docstring(ast.parse(source)) or "").splitlines()
    return len(lines) > 3 and len(lines[0]) > 3 and lines[1] == "=" * len(lines[0]) and lines[2] == ""


def n_code_lines(source: str) -> int:
    """Lines behind the docstring that are neither empty nor comments."""
    tree = ast.parse(source)
    behind = source.splitlines()[tree.body[0].end_lineno :]
    return len([line for line in behind if line.strip() and not line.lstrip().startswith("#")])


def draws(source: str) -> bool:
    """Whether a figure is made and, at the end, shown."""
    calls = [ast.unparse(node.func) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return bool({"plt.subplots", "plt.figure"} & set(calls)) and source.rstrip().endswith("plt.show()")


def private_names(source: str) -> set[str]:
    """Names of this library that a script imports and that are not exported by a package."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.partition(".")[0] == "driftfit"}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "driftfit":
            module = import_module(str(node.module))
            package = hasattr(module, "__path__") or node.module in PUBLIC_MODULES
            exported = set(module.__all__) if package else set()
            found |= {f"{node.module}.{alias.name}" for alias in node.names if alias.name not in exported}
    return found


def test_there_are_scripts_and_words_before_them():
    assert len(SCRIPTS) >= 16
    assert (GALLERY / "GALLERY_HEADER.rst").read_text(encoding="utf-8").splitlines()[1].startswith("====")
    titles = [ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).splitlines()[0] for path in SCRIPTS]
    assert len(set(titles)) == len(titles)
    assert set(QUICK) <= {path.stem for path in SCRIPTS}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_is_short_public_and_draws(path):
    source = path.read_text(encoding="utf-8")
    compile(source, str(path), "exec")
    assert has_title(source)
    assert draws(source)
    assert private_names(source) == set()
    assert source.count("\n# %%\n") >= 3
    assert 20 <= n_code_lines(source) <= MOST_CODE_LINES
    assert "DRIFTFIT_DATA" not in source
    assert "http" not in source


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_a_quick_script_runs_without_a_warning(name, tmp_path):
    settings = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "DRIFTFIT_DATA")}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(GALLERY / f"{name}.py")],
        env={**settings, "MPLBACKEND": "Agg"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout
    assert list(tmp_path.iterdir()) == []


# The rules catch what they are there for.


def test_a_missing_title_is_caught():
    assert has_title('"""\nTitle\n=====\n\nWords.\n"""')
    assert not has_title('"""\nTitle\n====\n\nWords.\n"""')
    assert not has_title('"""Words."""')
    assert not has_title("x = 1")


def test_a_script_without_a_figure_is_caught():
    assert draws("figure, axes = plt.subplots()\nplt.show()\n")
    assert not draws("print(1)\nplt.show()\n")
    assert not draws("figure, axes = plt.subplots()\n")


def test_a_private_name_is_caught():
    public = "from driftfit import GOATClassifier\nfrom driftfit.datasets.toy import rotated_digits"
    assert private_names(public) == set()
    assert private_names("from driftfit.datasets.toy import DIGIT_SHAPE") == {"driftfit.datasets.toy.DIGIT_SHAPE"}
    assert private_names("from driftfit.transport.plan import Plan") == {"driftfit.transport.plan.Plan"}
    assert private_names("import driftfit.seeds") == {"driftfit.seeds"}


def test_code_lines_are_counted_without_words():
    assert n_code_lines('"""\nTitle\n"""\n\n# %%\n# Words.\nx = 1\n\ny = 2\n') == 2
