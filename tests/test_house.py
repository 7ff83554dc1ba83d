"""The house rules, read off the source: short functions, few parameters, no private names of others.

Each rule is a function from source text to its violations, with a test that it finds a bad example.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "driftfit"
MOST_LINES_OF_A_FUNCTION = 60
MOST_PARAMETERS = 10


def functions(tree: ast.AST) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function with its dotted name, methods and nested functions among them."""

    def visit(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        for child in ast.iter_child_nodes(node):
            inner = prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{prefix}{child.name}."
                if not isinstance(child, ast.ClassDef):
                    yield f"{prefix}{child.name}", child
            yield from visit(child, inner)

    return visit(tree, "")


def compiled(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether numba compiles it: its loops and arrays cannot be bundled as freely as in plain Python."""
    names = [ast.unparse(node) for decorator in function.decorator_list for node in ast.walk(decorator)]
    return any(name.rpartition(".")[2] in ("njit", "jit", "vectorize", "guvectorize") for name in names)


def n_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the first decorator to the end, docstring included."""
    first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
    return (function.end_lineno or first) - first + 1


def n_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Parameters of all kinds; self and cls do not count."""
    given = function.args
    named = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in named if name not in ("self", "cls")]) + bool(given.vararg) + bool(given.kwarg)


def long_functions(source: str) -> dict[str, int]:
    found = {name: n_lines(f) for name, f in functions(ast.parse(source)) if not compiled(f)}
    return {name: lines for name, lines in found.items() if lines > MOST_LINES_OF_A_FUNCTION}


def crowded_functions(source: str) -> dict[str, int]:
    found = {name: n_parameters(f) for name, f in functions(ast.parse(source)) if not compiled(f)}
    return {name: count for name, count in found.items() if count > MOST_PARAMETERS}


def private_imports(source: str) -> set[str]:
    """Private names that are imported from another module or package, and private modules."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name for name in names if any(_is_private(part) for part in name.split("."))}
    return found


def _is_private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def assertions(source: str) -> set[str]:
    """Assertions in place of an input check: about something that may be None, or about a function's own parameters.

    An assertion vanishes under ``python -O`` and names no remedy. What may be missing gets a type that says so.
    """
    tree = ast.parse(source)
    found = {node for node in ast.walk(tree) if isinstance(node, ast.Assert) and "is not None" in ast.unparse(node)}
    for _, function in functions(tree):
        given = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)} - {
            "self",
            "cls",
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Assert) and given & {n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)}:
                found.add(node)
    return {ast.unparse(node) for node in found}


RULES = [long_functions, crowded_functions, private_imports, assertions]


@pytest.mark.parametrize("rule", RULES)
def test_the_source_keeps_the_rule(rule):
    broken = {}
    for path in sorted(ROOT.rglob("*.py")):
        found = rule(path.read_text(encoding="utf-8"))
        if found:
            broken[str(path.relative_to(ROOT))] = found
    assert broken == {}


# The rules catch what they are there for.

KERNEL = "@njit(cache=True)\n"
LONG = "def f():\n" + "    x = 1\n" * MOST_LINES_OF_A_FUNCTION
CROWDED = f"def f({', '.join(f'a{i}' for i in range(MOST_PARAMETERS))}, *, last): ...\n"


def test_a_long_function_is_caught_and_a_compiled_one_is_let_pass():
    assert long_functions(LONG) == {"f": MOST_LINES_OF_A_FUNCTION + 1}
    assert long_functions(LONG.replace("    x = 1\n", "", 1)) == {}
    assert long_functions("@decorated\n" + LONG.replace("    x = 1\n", "", 1)) == {"f": MOST_LINES_OF_A_FUNCTION + 1}
    assert long_functions(KERNEL + LONG) == long_functions("@numba.njit\n" + LONG) == {}
    assert long_functions("@jitter\n" + LONG) != {}
    inside = "class A:\n" + "".join(f"    {line}\n" for line in LONG.splitlines())
    assert long_functions(inside) == {"A.f": MOST_LINES_OF_A_FUNCTION + 1}


def test_too_many_parameters_are_caught_in_methods_too():
    assert crowded_functions(CROWDED) == {"f": MOST_PARAMETERS + 1}
    assert crowded_functions(KERNEL + CROWDED) == {}
    assert crowded_functions("class A:\n    " + CROWDED.replace("a0, ", "self, ")) == {}
    assert crowded_functions("class A:\n    " + CROWDED.replace("def f(", "def __init__(self, ")) == {
        "A.__init__": MOST_PARAMETERS + 1
    }
    assert crowded_functions(CROWDED.replace("*, last", "*others, **more")) == {"f": MOST_PARAMETERS + 2}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("from sklearn.utils import _safe_indexing", "sklearn.utils._safe_indexing"),
        ("def f():\n    from torch.nn.modules.batchnorm import _BatchNorm", "torch.nn.modules.batchnorm._BatchNorm"),
        ("import scipy.optimize._linprog", "scipy.optimize._linprog"),
        ("from scipy._lib import deprecation", "scipy._lib.deprecation"),
        ("from driftfit.estimators.adapted import _seed", "driftfit.estimators.adapted._seed"),
    ],
)
def test_a_private_name_of_another_is_caught(source, name):
    assert private_imports(source) == {name}


def test_public_names_and_dunders_are_let_pass():
    public = "from __future__ import annotations\nfrom driftfit import __version__\nimport numpy"
    assert private_imports(public) == set()


def test_an_assertion_in_place_of_a_check_is_caught():
    assert assertions("def f():\n    x = g()\n    assert x.y is not None") == {"assert x.y is not None"}
    assert assertions("def f(x):\n    assert len(x) > 0") == {"assert len(x) > 0"}
    assert assertions("def f(x):\n    y = g(x)\n    assert isinstance(y, dict)") == set()
    assert assertions('def f(x):\n    """Not an ``assert x is not None``."""') == set()
