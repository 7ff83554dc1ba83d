"""What is said about dependencies and versions in several files is said alike."""

import importlib.util
import re
import tomllib
from pathlib import Path

import yaml

import driftfit

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def bounds(requirements):
    """Lowest versions by package, without extras of our own."""
    found = {}
    for requirement in requirements:
        name, _, version = requirement.partition(">=")
        if not name.startswith("driftfit["):
            found[name.lower()] = version
    return found


def declared():
    extras = PROJECT["optional-dependencies"]
    everything = [*PROJECT["dependencies"], *(one for name in extras if name not in NEWER for one in extras[name])]
    return bounds(everything)


# Extras that are not run with the lowest versions.
NEWER = ("docs", "test", "coverage")


def pinned(name):
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return dict(line.lower().split("==") for line in lines if line and not line.startswith("#"))


def same_release(bound, pin):
    """Whether a pin is of the release that a bound names: 2.2 is met by 2.2.0, and by 2.2.2."""
    return pin == bound or pin.startswith(f"{bound}.")


def test_the_lowest_versions_are_those_that_are_declared():
    oldest = pinned("constraints-oldest.txt")
    # The lowest matplotlib uses names that newer versions of pyparsing, which it brings along, warn about.
    assert oldest.keys() == {*declared(), "pyparsing"}
    wrong = {name: (bound, oldest[name]) for name, bound in declared().items() if not same_release(bound, oldest[name])}
    # The one package that is not tried with its lowest version: it is large.
    assert wrong.keys() == {"torch"}


def test_a_pin_beyond_its_bound_is_found():
    assert same_release("2.2", "2.2.2")
    assert same_release("8", "8.0.0")
    assert not same_release("2.2", "2.3.0")
    assert not same_release("2.2", "2.20")


def test_the_newest_set_pins_torch_alone():
    assert pinned("constraints-newest.txt").keys() == {"torch"}
    assert pinned("constraints-newest.txt")["torch"] == pinned("constraints-oldest.txt")["torch"]


def test_the_recipe_has_the_dependencies_and_the_version_of_the_project():
    recipe = yaml.safe_load((ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8"))
    run = dict(line.split(" >=") for line in recipe["requirements"]["run"])
    assert run.pop("python") == PROJECT["requires-python"].removeprefix(">=")
    assert run == bounds(PROJECT["dependencies"])
    assert recipe["package"] == {"name": PROJECT["name"], "version": PROJECT["version"]}
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["summary"] == PROJECT["description"]


def test_the_newest_notes_are_about_the_version():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert headings[0] == PROJECT["version"] == driftfit.__version__ == str(cited["version"])


def test_a_broken_link_of_the_site_is_found(tmp_path):
    spec = importlib.util.spec_from_file_location("check_links", ROOT / "docs" / "check_links.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">x</a> <a href="https://elsewhere.org/no">y</a> <a href="#top">z</a>'
    )
    (tmp_path / "b.html").write_text('<p id="here">x</p><img src="missing.png">')
    assert module.broken_links(tmp_path) == ["a.html: #top (no such place)", "b.html: missing.png (no such file)"]
    (tmp_path / "missing.png").write_text("")
    (tmp_path / "a.html").write_text('<a href="b.html#there">x</a><script src="https://cdn.org/math.js"></script>')
    assert module.broken_links(tmp_path) == [
        "a.html: https://cdn.org/math.js (loaded from the network)",
        "a.html: b.html#there (no such place)",
    ]
