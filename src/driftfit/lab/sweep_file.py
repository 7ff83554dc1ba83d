"""A sweep as its user writes it: a YAML file of data, models, methods with settings, and seeds."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driftfit.app.models import model_from_word
from driftfit.datasets import dataset
from driftfit.errors import InputError, one_line
from driftfit.extras import need
from driftfit.lab.sweep_cells import SweepCell, method_of

__all__ = ["Sweep", "read_sweep"]

_PARTS = ("name", "data", "models", "methods", "seeds", "first_seed")
_BENCHMARK = {"name": str, "benchmark": str, "given": int, "rows": int}
_TABLE = {"name": str, "table": str, "label": str, "order": str, "windows": int, "window_by": str, "rows": int}


@dataclass(frozen=True)
class Sweep:
    """What is to be run.

    Attributes
    ----------
    name : str
    cells : tuple of SweepCell
        Every method and setting on every data set, model and seed; the source model always among them.
    """

    name: str
    cells: tuple[SweepCell, ...]


def read_sweep(path: Path) -> Sweep:
    """Read a sweep; whatever is wrong with it is said before anything runs.

    Parameters
    ----------
    path : Path
        A YAML file; paths of tables in it are relative to its folder.
    """
    need("yaml", "tables", "driftfit sweep")
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{str(path)!r} cannot be read ({one_line(error)}); name a YAML file") from None
    except yaml.YAMLError as error:
        raise InputError(f"{str(path)!r} is not YAML ({one_line(error)})") from None
    if not isinstance(content, dict):
        raise InputError(f"{str(path)!r} must hold the parts {', '.join(_PARTS)}, got {one_line(content)}")
    strange = [str(name) for name in content if name not in _PARTS]
    if strange:
        raise InputError(f"{str(path)!r} has a part {strange[0]!r}; a sweep has {', '.join(_PARTS)}")
    data = [_data(entry, path.parent) for entry in _listed(content, "data", path)]
    models = [str(word) for word in content.get("models", ["logistic"])]
    for word in models:
        model_from_word(word)
    methods = _methods(_listed(content, "methods", path))
    seeds, first = content.get("seeds", 5), content.get("first_seed", 0)
    if not isinstance(seeds, int) or not isinstance(first, int) or seeds < 1 or first < 0:
        raise InputError(f"seeds must be a count and first_seed a number of 0 or more, got {seeds!r} and {first!r}")
    grid = itertools.product(data, models, range(first, first + seeds), methods)
    cells = tuple(SweepCell(own, model, seed, *method) for own, model, seed, method in grid)
    for cell in cells:
        method_of(cell)
    return Sweep(str(content.get("name", path.stem)), cells)


def _listed(content: dict[str, Any], part: str, path: Path) -> list[Any]:
    found = content.get(part)
    if not isinstance(found, list) or not found:
        raise InputError(f"{part} in {str(path)!r} must be a list with at least one entry, got {one_line(found)}")
    return found


def _data(entry: Any, folder: Path) -> str:
    """A data set as canonical JSON."""
    if isinstance(entry, str):
        entry = {"benchmark": entry}
    if not isinstance(entry, dict) or ("benchmark" in entry) == ("table" in entry):
        raise InputError(f"each of the data must be a benchmark or a table, got {one_line(entry)}")
    known: dict[str, type] = _BENCHMARK if "benchmark" in entry else _TABLE
    for name, value in entry.items():
        if name not in known:
            raise InputError(
                f"data have no setting {name!r}; {'a benchmark' if known is _BENCHMARK else 'a table'} has "
                f"{', '.join(known)}"
            )
        if not isinstance(value, known[name]) or isinstance(value, bool):
            raise InputError(f"{name} of the data must be of type {known[name].__name__}, got {value!r}")
    if "benchmark" in entry:
        dataset(entry["benchmark"])
    else:
        if "label" not in entry:
            raise InputError(f"the table {entry['table']!r} needs its label: COLUMN")
        entry = {**entry, "table": str(folder / entry["table"])}
    return json.dumps(entry, sort_keys=True, separators=(",", ":"))


def _methods(entries: list[Any]) -> list[tuple[str, str]]:
    """Methods with every combination of their settings; the source model first."""
    found = [("source", "{}")]
    for entry in entries:
        if isinstance(entry, str):
            entry = {entry: {}}
        if not isinstance(entry, dict) or len(entry) != 1:
            raise InputError(f"each method must be a word, or a word with its settings, got {one_line(entry)}")
        ((word, settings),) = entry.items()
        if not isinstance(settings or {}, dict):
            raise InputError(f"settings of {word} must be names with values or lists of them, got {one_line(settings)}")
        lists = {name: value if isinstance(value, list) else [value] for name, value in (settings or {}).items()}
        for values in itertools.product(*lists.values()):
            chosen = dict(zip(lists, values, strict=True))
            found.append((str(word), json.dumps(chosen, sort_keys=True, separators=(",", ":"))))
    return list(dict.fromkeys(found))
