"""Names that go away warn first, and are gone when they were said to be."""

import ast
import warnings
from pathlib import Path

import pytest

import driftfit
from driftfit.deprecation import deprecated, renamed_parameter
from driftfit.errors import InputError

ROOT = Path(driftfit.__file__).parent


def test_a_deprecated_function_works_and_warns_at_its_caller():
    @deprecated(since="0.2", removed_in="0.4", instead="`new`")
    def old(x, *, y=1):
        """What it did."""
        return x + y

    with pytest.warns(FutureWarning, match="old is deprecated since 0.2 and will be removed in 0.4; use `new`") as seen:
        assert old(1, y=2) == 3
    assert seen[0].filename == __file__
    assert (old.__name__, old.__doc__) == ("old", "What it did.")


def test_a_deprecated_class_stays_a_class():
    @deprecated(since="0.2", removed_in="0.4", instead="`New`")
    class Old:
        def __init__(self, x):
            self.x = x

    with pytest.warns(FutureWarning, match="Old is deprecated") as seen:
        made = Old(3)
    assert seen[0].filename == __file__
    assert isinstance(made, Old)
    assert made.x == 3


def test_a_renamed_parameter_is_taken_under_both_names():
    @renamed_parameter("n", "count", since="0.2", removed_in="0.4")
    def function(count=0):
        return count

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert function(2) == function(count=2) == 2
    with pytest.warns(FutureWarning, match="function: n is deprecated since 0.2"):
        assert function(n=2) == 2
    with pytest.raises(InputError, match="both 'n' and its new name 'count'"):
        function(n=1, count=2)


def overdue(source: str, version: str) -> list[str]:
    """Versions in which a name should have been removed, of those that are reached."""
    now = tuple(map(int, version.split(".")[:2]))
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    named = [node for node in calls if ast.unparse(node.func) in ("deprecated", "renamed_parameter")]
    gone = [word.value.value for node in named for word in node.keywords if word.arg == "removed_in"]
    return [one for one in gone if tuple(map(int, one.split(".")[:2])) <= now]


def test_nothing_outlives_its_version():
    found = {str(path): overdue(path.read_text(encoding="utf-8"), driftfit.__version__) for path in ROOT.rglob("*.py")}
    assert {path: gone for path, gone in found.items() if gone and not path.endswith("deprecation.py")} == {}


def test_what_is_overdue_is_found():
    source = '@deprecated(since="0.1", removed_in="0.3", instead="x")\ndef f(): ...\n'
    assert overdue(source, "0.2.9") == []
    assert overdue(source, "0.3.0") == overdue(source, "1.0.0") == ["0.3"]
