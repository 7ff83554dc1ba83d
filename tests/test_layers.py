"""Imports point only down the layers, and siblings do not see each other; the lab uses all of the library."""

from __future__ import annotations

import ast
from pathlib import Path

import driftfit

ROOT = Path(driftfit.__file__).parent
LAYERS = [
    {"errors", "seeds"},
    {"checks", "extras", "files", "offers", "progress"},
    {"parallel_tasks"},
    {"parallel_ray"},
    {"domains", "parallel"},
    {"transport", "theory", "datasets"},
    {"models"},
    {"methods"},
    {"selection"},
    {"estimators"},
    {"app"},
    {"lab"},
    {"cli"},
    {"__main__"},
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}


def imported_rooms(source: str) -> set[str]:
    """Rooms of driftfit that a module names in any import, at any depth."""
    rooms = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        rooms |= {name.split(".")[1] for name in names if name.startswith("driftfit.")}
    return rooms & LEVEL.keys()


def upward_imports(room: str, source: str) -> set[str]:
    return {other for other in imported_rooms(source) if other != room and LEVEL[other] >= LEVEL[room]}


def modules() -> list[tuple[str, Path]]:
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[0] != "__init__":
            found.append((parts[0], path))
    return found


def test_every_room_has_a_layer():
    assert {room for room, _ in modules()} <= LEVEL.keys()


def test_imports_point_down():
    wrong = {
        str(path.relative_to(ROOT)): bad for room, path in modules() if (bad := upward_imports(room, path.read_text()))
    }
    assert wrong == {}


def test_the_check_catches_an_upward_and_a_sideways_import():
    assert upward_imports("transport", "def f():\n    from driftfit.methods import GOAT\n") == {"methods"}
    assert upward_imports("theory", "import driftfit.transport\n") == {"transport"}
    assert upward_imports("methods", "from driftfit import transport\n") == set()
