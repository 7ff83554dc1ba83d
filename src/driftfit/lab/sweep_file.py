"""What the file of a sweep asks for: limits hold before anything large is imported or made."""

from __future__ import annotations

import itertools
import json
import math
import reprlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driftfit.errors import InputError, one_line
from driftfit.extras import need

# A file is larger, or asks for more cells, by mistake alone: each cell takes seconds.
_MOST_BYTES, _MOST_CELLS, _MOST_SEED = 2**20, 100_000, 2**32 - 1
_LIMITS = {"windows": (2, 100), "rows": (10, 1_000_000_000), "given": (0, 1_000), "n_generated": (0, 50)}
# What a file has, and what its data have.
_PARTS = ("name", "data", "models", "methods", "seeds", "first_seed")
_BENCHMARK = {"name": str, "benchmark": str, "given": int, "rows": int}
_TABLE = {"name": str, "table": str, "label": str, "order": str, "windows": int, "window_by": str, "rows": int}


@dataclass(frozen=True)
class Asked:
    """Data sets as canonical JSON, words of models, methods with their settings, and seeds."""

    name: str
    data: tuple[str, ...]
    models: tuple[str, ...]
    methods: tuple[tuple[str, str], ...]
    seeds: range


def read_file(path: Path) -> Asked:
    """What a YAML file asks for, within its limits; paths of tables in it are relative to its folder."""
    need("yaml", "tables", "driftfit sweep")
    import yaml

    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{str(path)!r} has {path.stat().st_size} bytes, more than any sweep; name a YAML file")
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{str(path)!r} cannot be read ({one_line(error)}); name a YAML file") from None
    except InputError:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{str(path)!r} is not YAML ({one_line(error)})") from None
    if not isinstance(content, dict):
        raise InputError(
            f"{str(path)!r} must hold the parts {', '.join(_PARTS)}, got {one_line(reprlib.repr(content))}"
        )
    strange = [str(name) for name in content if name not in _PARTS]
    if strange:
        raise InputError(f"{str(path)!r} has a part {strange[0]!r}; a sweep has {', '.join(_PARTS)}")
    data = [_data(entry, path.parent) for entry in _listed(content, "data", path)]
    models = [str(word) for word in content.get("models", ["logistic"])]
    methods = _methods(_listed(content, "methods", path), path)
    seeds, first = content.get("seeds", 5), content.get("first_seed", 0)
    if not isinstance(seeds, int) or not isinstance(first, int) or seeds < 1 or not 0 <= first <= _MOST_SEED:
        raise InputError(
            f"seeds must be a count and first_seed a number from 0 to {_MOST_SEED}, got {one_line(seeds, 40)} and "
            f"{one_line(first, 40)}"
        )
    _check_cells(len(data) * len(models) * min(seeds, 10**12) * len(methods), path)
    return Asked(
        str(content.get("name", path.stem)), tuple(data), tuple(models), tuple(methods), range(first, first + seeds)
    )


def _listed(content: dict[str, Any], part: str, path: Path) -> list[Any]:
    found = content.get(part)
    if not isinstance(found, list) or not found:
        raise InputError(
            f"{part} in {str(path)!r} must be a list with at least one entry, got {one_line(reprlib.repr(found))}"
        )
    return found


def _check_cells(n_cells: int, path: Path) -> None:
    """Raise before so many cells are made that they would fill the memory."""
    if n_cells > _MOST_CELLS:
        raise InputError(
            f"{str(path)!r} asks for {one_line(n_cells, 40)} cells, more than {_MOST_CELLS}; "
            "give fewer seeds or settings"
        )


def _check_limit(name: str, value: Any) -> None:
    least, most = _LIMITS.get(name, (-math.inf, math.inf))
    if isinstance(value, int) and not least <= value <= most:
        raise InputError(f"{name} must lie between {least} and {most}, got {one_line(value, 40)}")


def _data(entry: Any, folder: Path) -> str:
    """A data set as canonical JSON."""
    if isinstance(entry, str):
        entry = {"benchmark": entry}
    if not isinstance(entry, dict) or ("benchmark" in entry) == ("table" in entry):
        raise InputError(f"each of the data must be a benchmark or a table, got {one_line(reprlib.repr(entry))}")
    known: dict[str, type] = _BENCHMARK if "benchmark" in entry else _TABLE
    for name, value in entry.items():
        if name not in known:
            raise InputError(
                f"data have no setting {name!r}; {'a benchmark' if known is _BENCHMARK else 'a table'} has "
                f"{', '.join(known)}"
            )
        if not isinstance(value, known[name]) or isinstance(value, bool):
            raise InputError(
                f"{name} of the data must be of type {known[name].__name__}, got {one_line(reprlib.repr(value))}"
            )
        _check_limit(name, value)
    if "table" in entry:
        if "label" not in entry:
            raise InputError(f"the table {entry['table']!r} needs its label: COLUMN")
        entry = {**entry, "table": str(folder / entry["table"])}
    return json.dumps(entry, sort_keys=True, separators=(",", ":"))


def _methods(entries: list[Any], path: Path) -> list[tuple[str, str]]:
    """Methods with every combination of their settings; the source model first."""
    found = [("source", "{}")]
    for entry in entries:
        if isinstance(entry, str):
            entry = {entry: {}}
        if not isinstance(entry, dict) or len(entry) != 1:
            raise InputError(
                f"each method must be a word, or a word with its settings, got {one_line(reprlib.repr(entry))}"
            )
        ((word, settings),) = entry.items()
        if not isinstance(settings or {}, dict):
            raise InputError(
                f"settings of {word} must be names with values or lists of them, got {one_line(reprlib.repr(settings))}"
            )
        lists = {name: value if isinstance(value, list) else [value] for name, value in (settings or {}).items()}
        for name, listed in lists.items():
            for value in listed:
                _check_limit(str(name), value)
        _check_cells(len(found) + math.prod(map(len, lists.values())), path)
        for values in itertools.product(*lists.values()):
            chosen = dict(zip(lists, values, strict=True))
            found.append((str(word), json.dumps(chosen, sort_keys=True, separators=(",", ":"))))
    return list(dict.fromkeys(found))
