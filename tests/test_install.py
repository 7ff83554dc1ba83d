"""What is installed: every import is declared, every declared package is imported, the core stands alone.

The rules read the source (`ast`), so they also hold for imports that run only on some machines.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
SOURCE = REPOSITORY / "src" / "driftfit"
# Code beside the library: what it imports is declared for tests.
SCRIPTS = tuple(REPOSITORY / folder for folder in ("tests", "benchmarks", "docs/gallery"))
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# Packages that are imported under another name than they are installed under.
DISTRIBUTIONS = {
    "PIL": "pillow",
    "mpl_toolkits": "matplotlib",
    "ot": "pot",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
# Declared and not imported, with the reason.
NEVER_IMPORTED = {
    "mypy": "a command of `make lint`",
    "pandas-stubs": "types of pandas, read by mypy",
    "pytest-timeout": "a plugin that pytest loads by itself",
    "pytest-xdist": "a plugin that pytest loads by itself",
    "ruff": "a command of `make lint`",
}
# Subpackages that must work with the core alone, and what in them is set apart because it needs an extra.
CORE_PARTS = ("domains", "transport", "methods", "models", "estimators", "selection", "theory")
CORE_FILES = ("__init__", "checks", "errors", "extras", "files", "parallel", "parallel_ray", "parallel_tasks", "seeds")
NEEDS_TORCH = (
    "methods/pretrained_encoder",
    "methods/baselines/",
    "models/torch/",
    "models/networks/",
    "estimators/baseline_classifiers",
    "theory/layer_norms",
)


def distribution(requirement: str) -> str:
    """The name in a requirement, spelled as pip compares it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0]).lower()


def declared(*extras: str) -> set[str]:
    """Packages of the core and of some extras; extras of the project within extras are followed."""
    found = {distribution(requirement) for requirement in PROJECT["dependencies"]}
    waiting = list(extras)
    while waiting:
        for requirement in PROJECT["optional-dependencies"][waiting.pop()]:
            own = re.fullmatch(r"driftfit\[(.+)\]", requirement)
            if own:
                waiting += own.group(1).split(",")
            else:
                found.add(distribution(requirement))
    return found


def with_requirements(packages: set[str]) -> set[str]:
    """Some installed packages and all that they require in turn."""
    found, waiting = set(), set(packages)
    while waiting:
        package = waiting.pop()
        found.add(package)
        lines = [line for line in requires(package) or () if "extra ==" not in line and "sys_platform" not in line]
        waiting |= {distribution(line) for line in lines} - found
    return found


def imports(source: str, *, top_level: bool = False) -> set[str]:
    """Distributions that a module imports, anywhere or where it is loaded; the standard library left out.

    A `pytest.importorskip("name")` counts as an import. What stands under ``if TYPE_CHECKING`` is not run.
    """
    tree = ast.parse(source)
    names: set[str] = set()
    for node in _run_at_import(tree) if top_level else ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module or "")
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("importorskip"):
            names.add(ast.literal_eval(node.args[0]))
    packages = {name.partition(".")[0] for name in names} - {"", "driftfit"} - set(sys.stdlib_module_names)
    return {distribution(DISTRIBUTIONS.get(package, package)) for package in packages}


def _run_at_import(node: ast.AST) -> list[ast.AST]:
    found = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        found += [child, *_run_at_import(child)]
    return found


def undeclared(files: dict[str, str], packages: set[str], *, top_level: bool = False) -> dict[str, set[str]]:
    """Imports of each file that no declaration covers; a benchmark may import the one beside it, a script itself."""
    benchmarks = {distribution(Path(name).stem) for name in files if name.startswith("benchmarks/")}
    found = {}
    for name, source in files.items():
        known = packages | benchmarks if name.startswith("benchmarks/") else packages
        found[name] = imports(source, top_level=top_level) - known - {distribution(Path(name).stem)}
    return {name: missing for name, missing in found.items() if missing}


def sources(*folders: Path) -> dict[str, str]:
    return {
        str(path.relative_to(REPOSITORY)): path.read_text(encoding="utf-8")
        for folder in folders
        for path in sorted(folder.rglob("*.py"))
    }


def is_core(name: str) -> bool:
    inside = name.removeprefix("src/driftfit/")
    if inside.startswith(NEEDS_TORCH):
        return False
    return inside.removesuffix(".py") in CORE_FILES or inside.split("/")[0] in CORE_PARTS


def test_every_import_is_declared():
    assert undeclared(sources(SOURCE), declared("all")) == {}


def test_every_import_of_the_tests_is_declared():
    assert undeclared(sources(*SCRIPTS), declared("test")) == {}


def test_every_declared_package_is_imported():
    used = set().union(*map(imports, sources(SOURCE).values()))
    assert declared("all") - used == set()
    tested = set().union(*map(imports, sources(*SCRIPTS).values()))
    assert declared("test") - used - tested == NEVER_IMPORTED.keys()


def test_core_parts_load_core_packages_only():
    core = {name: source for name, source in sources(SOURCE).items() if is_core(name)}
    assert len(core) > 50
    assert undeclared(core, declared(), top_level=True) == {}


@pytest.mark.parametrize(("part", "extra"), [("app", "tables"), ("app/report", "tables"), ("lab", "paper")])
def test_a_part_needs_its_own_extra_only(part, extra):
    # What is imported inside functions, for those who ask for it.
    optional = {"app": ("torch", "export", "onnx", "mlflow"), "lab": ("tables",)}.get(part, ())
    files = sources(SOURCE / part)
    assert files
    assert undeclared(files, declared(extra, *optional)) == {}


def test_extras_are_those_that_the_docs_name():
    page = (REPOSITORY / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`\[(\w+)\]`", page))
    assert named == PROJECT["optional-dependencies"].keys() - {"check", "coverage", "docs", "test"}


def test_extras_that_messages_name_exist():
    calls = re.findall(r'need\(\s*"[\w.]+",\s*"(\w+)"', "\n".join(sources(SOURCE).values()))
    assert len(calls) > 5
    assert set(calls) <= PROJECT["optional-dependencies"].keys()


def test_versions_are_pinned_once_each_and_come_from_the_index():
    lines = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r"[a-z0-9-]+==[\w.]+( ; .+)?", line) for line in lines)
    pinned = {distribution(line) for line in lines}
    assert declared("test") <= pinned
    assert "torch==2.13.0" in lines


def test_the_core_fits_where_no_extra_is_installed(run_without):
    extras = declared("test") - with_requirements(declared())
    hidden = {package.replace("-", "_") for package in extras}
    hidden |= {name for name, package in DISTRIBUTIONS.items() if package in extras}
    assert {"torch", "pandas", "matplotlib", "ot", "PIL"} <= hidden
    script = REPOSITORY / "tests" / "core_alone.py"
    done = run_without(hidden, f"import runpy\nrunpy.run_path({str(script)!r})['check_library']()\n")
    assert done.returncode == 0, done.stderr
    numbers = {line.split()[0]: float(line.split()[1]) for line in done.stdout.splitlines()}
    assert numbers["GOATClassifier"] > 0.9


# The rules catch what they are there for.


def test_an_undeclared_import_is_caught_wherever_it_stands():
    source = "import numpy\ndef f():\n    try:\n        import yaml\n    except ImportError:\n        pass\n"
    assert undeclared({"a.py": source}, {"numpy"}) == {"a.py": {"pyyaml"}}
    assert undeclared({"a.py": source}, {"numpy"}, top_level=True) == {}
    several = "import os, PIL.Image\nfrom sklearn import svm\nfrom driftfit import x"
    assert imports(several) == {"pillow", "scikit-learn"}
    assert imports("pytest.importorskip('polars.testing')") == {"polars"}


def test_an_import_that_runs_when_a_module_loads_is_caught():
    assert imports("try:\n    import torch\nexcept ImportError:\n    torch = None\n", top_level=True) == {"torch"}
    assert imports("class A:\n    import torch\n", top_level=True) == {"torch"}
    assert imports("if TYPE_CHECKING:\n    import torch\n", top_level=True) == set()


def test_extras_within_extras_are_followed():
    assert declared() < declared("torch") < declared("paper") < declared("all") < declared("test")
    assert "torch" not in declared("tables")


def test_core_files_are_told_apart():
    assert is_core("src/driftfit/methods/goat.py")
    assert is_core("src/driftfit/extras.py")
    assert not is_core("src/driftfit/methods/baselines/dann.py")
    assert not is_core("src/driftfit/models/torch/learner.py")
    assert not is_core("src/driftfit/app/read.py")
