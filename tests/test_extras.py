"""A missing optional package is one line that names the extra."""

import sys
from types import ModuleType

import pytest

import driftfit
from driftfit.errors import InputError
from driftfit.extras import MissingExtra, has, need


def test_the_line_names_package_and_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtra) as caught:
        need("PIL", "tables", "reading images")
    assert str(caught.value) == ("reading images needs Pillow, which is not installed: pip install 'driftfit[tables]'")
    assert isinstance(caught.value, InputError)
    assert isinstance(caught.value, ImportError)
    assert not has("PIL")


def test_a_package_that_is_there_but_broken_speaks_for_itself(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import not_there_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_there_at_all") as caught:
        need("half_installed", "tables", "reading tables")
    assert not isinstance(caught.value, MissingExtra)


WITHOUT_TORCH = """
import driftfit
from driftfit import *
from driftfit.extras import MissingExtra
assert "TorchClassifier" not in dir(driftfit) and "GOATClassifier" in dir(driftfit)
calls = [
    lambda: driftfit.TorchClassifier,
    lambda: driftfit.DANNClassifier,
    lambda: __import__("driftfit.models.networks"),
    lambda: __import__("driftfit.theory").theory.network_upper(None, None),
    lambda: __import__("driftfit.theory").theory.network_lower(None, None),
]
for call in calls:
    try:
        call()
    except MissingExtra as error:
        print(error)
"""


def test_names_that_need_torch_say_so_without_it(run_without):
    done = run_without(["torch"], WITHOUT_TORCH)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "TorchClassifier needs torch, which is not installed: pip install 'driftfit[torch]'"
    assert len(lines) == 5
    assert all("needs torch" in line and "pip install 'driftfit[torch]'" in line for line in lines)


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(driftfit, "NoSuchClassifier")


@pytest.mark.parametrize("name", [name for name in driftfit.__all__ if name != "__version__"])
def test_lazy_names_stay_what_they_are_once_their_home_is_loaded(name):
    # A name that is also a package of driftfit would turn into that package after its first import.
    first = getattr(driftfit, name)
    assert not isinstance(first, ModuleType)
    assert getattr(driftfit, name) is first
