"""Methods and settings on several data sets and seeds: a YAML file of them, its cells, and one call that runs them."""

from __future__ import annotations

import itertools
import json
import math
import platform
import reprlib
import time
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit import __version__
from driftfit.app import ByCalendar, Column, FilePosition, History, Limits, RowPosition, Settings, open_table
from driftfit.app.models import make_model, model_from_word
from driftfit.app.prepare import prepare
from driftfit.datasets import dataset
from driftfit.domains import ByQuantile, ByValue, DomainSequence
from driftfit.errors import InputError, one_line
from driftfit.extras import need
from driftfit.files import write_text
from driftfit.lab.launch import Progress, Record, attended, launch
from driftfit.lab.output import sweep_as_markdown
from driftfit.lab.statistics import SweepTable, summarise_sweep
from driftfit.lab.store import Store
from driftfit.methods import Method, SourceOnly, Workspace, offered
from driftfit.models import Learner, as_learner
from driftfit.parallel import Engine
from driftfit.selection import Choice, Chosen
from driftfit.selection.chosen import SOURCE

# A file is larger, or asks for more cells, by mistake alone: each cell takes seconds.
_MOST_BYTES, _MOST_CELLS, _MOST_SEED = 2**20, 100_000, 2**32 - 1
_LIMITS = {"windows": (2, 100), "rows": (10, 1_000_000_000), "given": (0, 1_000), "n_generated": (0, 50)}
# What a file has, and what its data have.
_PARTS = ("name", "data", "models", "methods", "seeds", "first_seed")
_BENCHMARK = {"name": str, "benchmark": str, "given": int, "rows": int}
_TABLE = {"name": str, "table": str, "label": str, "order": str, "windows": int, "window_by": str, "rows": int}


@dataclass(frozen=True, order=True)
class SweepCell:
    """One run of a sweep.

    ``data``: where the data come from, as canonical JSON. ``model``: a word of the command line. ``method``: a word of
    `driftfit.methods.offered`, one that learns from the source's labels alone. ``settings``: fields of the method that
    differ from its own, as canonical JSON.
    """

    data: str
    model: str
    seed: int
    method: str
    settings: str = "{}"

    @property
    def key(self) -> str:
        return json.dumps({"sweep": asdict(self)}, sort_keys=True, separators=(",", ":"))

    @property
    def group(self) -> tuple[str, str, int]:
        """Cells of one group share data and source model, and so are paired."""
        return self.data, self.model, self.seed

    @property
    def name(self) -> str:
        """Method and settings.

        >>> SweepCell("{}", "logistic", 0, "goat", '{"n_generated":2}').name
        'goat n_generated=2'
        """
        given = json.loads(self.settings)
        return " ".join([self.method, *(f"{key}={value}" for key, value in given.items())])

    @property
    def data_name(self) -> str:
        """The data in a word."""
        given = json.loads(self.data)
        return str(given.get("name") or given.get("benchmark") or Path(given["table"]).name)

    def __str__(self) -> str:
        return f"{self.data_name} {self.model} {self.name} seed {self.seed}"


def method_of(cell: SweepCell) -> Method:
    """The method of a cell as a value.

    >>> method_of(SweepCell("{}", "logistic", 0, "goat", '{"n_generated":2}')).n_generated
    2
    """
    methods = {word: one.method for word, one in offered().items()}
    # Cells hide all labels but the source's, and may draw rows.
    words = [word for word, one in methods.items() if not (one.learns_from_history or one.needs_order)]
    if cell.method not in words:
        raise InputError(f"there is no method {cell.method!r} for a sweep; choose among {', '.join(words)}")
    method: Any = methods[cell.method]
    given = json.loads(cell.settings)
    known = {part.name for part in fields(method)}
    strange = [name for name in given if name not in known]
    if strange:
        raise InputError(f"{cell.method} has no setting {strange[0]!r}; it has {', '.join(sorted(known)) or 'none'}")
    changed: Method = replace(method, **given)
    return changed


@dataclass(frozen=True, eq=False)
class _Ready:
    """What the cells of a group share; the labels of the target are for measuring alone."""

    sequence: DomainSequence
    labels: NDArray[Any] | None
    learner: Learner
    workspace: Workspace


@dataclass(frozen=True)
class SweepWork:
    """How cells of a sweep are run."""

    def prepare(self, tasks: tuple[SweepCell, ...], scratch: dict[str, Any]) -> _Ready:
        """Data and source model of a group."""
        cell = tasks[0]
        given = json.loads(cell.data)
        sequence, labels = (_benchmark if "benchmark" in given else _table)(given, cell.seed)
        source = sequence.source
        samples = source.samples
        model = make_model(model_from_word(cell.model), None, len(source), samples.shape[1], cell.seed)
        learner = as_learner(model, source.classes).fit(samples, source.codes(), source.uneven_weights)
        return _Ready(sequence, labels, learner, Workspace())

    def run(self, shared: _Ready, task: SweepCell) -> Record:
        """Adapt, score without labels, and measure where there are labels."""
        started = time.perf_counter()
        method, name = method_of(task), task.name
        named = {SOURCE: SourceOnly()} if isinstance(method, SourceOnly) else {name: method}
        models: dict[str, Learner] = {}
        chosen = Chosen(named, run_all=True, on_candidate=lambda own, done: models.update({str(own): done.learner}))
        choice: Choice = chosen.adapt(shared.learner, shared.sequence, None, shared.workspace).choice
        if choice.failed:
            raise InputError(next(iter(choice.failed.values())))
        own = SOURCE if isinstance(method, SourceOnly) else name
        gain = choice.gains[own]
        result = {
            "transductive_last": _accuracy(models[own], shared),
            "score": choice.scores[own],
            "score_source": choice.scores[SOURCE],
            "gain": gain.value,
            "gain_low": gain.low,
            "struck": choice.struck.get(own, ""),
        }
        about = {"driftfit": __version__, "python": platform.python_version(), "numpy": np.__version__}
        return Record(result, about, time.perf_counter() - started)


def _accuracy(model: Learner, shared: _Ready) -> float | None:
    """Percent of the labelled target rows that are right; None where no row has a label."""
    if shared.labels is None:
        return None
    said = model.classes[model.logits(shared.sequence.target.samples).argmax(axis=1)].astype(str)
    known = shared.labels != ""
    return float((said == shared.labels)[known].mean() * 100) if known.any() else None


def _benchmark(given: dict[str, Any], seed: int) -> tuple[DomainSequence, NDArray[Any] | None]:
    load = dataset(given["benchmark"]).load
    whole = load(given.get("given", 0), preset="reference", seed=seed, split="adapt", n_samples=given.get("rows"))
    flat = whole.each(lambda domain: domain.with_samples(np.asarray(domain.matrix(), dtype=np.float64)))
    labels = flat.target.labels
    return flat.masked(), None if labels is None else np.asarray(labels).astype(str)


def _table(given: dict[str, Any], seed: int) -> tuple[DomainSequence, NDArray[Any] | None]:
    table = open_table([Path(given["table"])])
    order = given.get("order", "@row")
    orders: dict[str, Any] = {"@row": RowPosition(), "@file": FilePosition()}
    windows: Any = ByQuantile(given.get("windows", 5))
    if "window_by" in given:
        windows = ByValue() if given["window_by"] == "value" else ByCalendar(given["window_by"])
    limits = Limits(given.get("rows", Limits().training))
    settings = Settings(
        given["label"], orders.get(order, Column(order)), windows, seed=seed, limits=limits, history=History.FIRST
    )
    prepared = prepare(table, settings)
    column = table.columns([given["label"]])[given["label"]].iloc[prepared.target_rows]
    classes = {str(name): str(name) for name in prepared.training.source.classes}
    if prepared.boolean:
        classes |= {"True": "1", "False": "0"}
    words = [_word(value, classes) for value in column]
    return prepared.training, np.array(words, dtype=str) if any(words) else None


def _word(value: Any, classes: dict[str, str]) -> str:
    """A label as the class is written; a class that the source does not have is wrong whatever is said."""
    if pd.isna(value):
        return ""
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return classes.get(text, f"another: {text}")


@dataclass(frozen=True)
class Sweep:
    """What is to be run.

    ``cells``: every method and setting on every data set, model and seed; the source model always among them.
    """

    name: str
    cells: tuple[SweepCell, ...]


def read_sweep(path: Path) -> Sweep:
    """Read a sweep; whatever is wrong with it is said before anything runs.

    ``path``: a YAML file; paths of tables in it are relative to its folder.
    """
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
    for word in models:
        model_from_word(word)
    methods = _methods(_listed(content, "methods", path), path)
    seeds, first = content.get("seeds", 5), content.get("first_seed", 0)
    if not isinstance(seeds, int) or not isinstance(first, int) or seeds < 1 or not 0 <= first <= _MOST_SEED:
        raise InputError(
            f"seeds must be a count and first_seed a number from 0 to {_MOST_SEED}, got {one_line(seeds, 40)} and "
            f"{one_line(first, 40)}"
        )
    _check_cells(len(data) * len(models) * min(seeds, 10**12) * len(methods), path)
    grid = itertools.product(data, models, range(first, first + seeds), methods)
    cells = tuple(SweepCell(own, model, seed, *method) for own, model, seed, method in grid)
    for cell in cells:
        method_of(cell)
    return Sweep(str(content.get("name", path.stem)), cells)


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
    if "benchmark" in entry:
        dataset(entry["benchmark"])
    else:
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


def run_sweep(
    sweep: Sweep,
    store: Store,
    engine: Engine | None = None,
    *,
    output: Path | None = None,
    command: str = "",
    progress: Progress | None = None,
) -> list[SweepTable]:
    """Run what is missing of a sweep; failed cells are shown in its tables and tried again by the next call.

    ``output``: folder for ``NAME.md`` and ``NAME.json``. ``command``: what is being run, for ``driftfit runs``.
    ``progress``: shows where the run stands.
    """
    cells = list(sweep.cells)
    with attended(store, cells, progress) as report:
        launch(cells, SweepWork(), store, engine, on_cell=report, command=command or f"sweep {sweep.name}")
    results = store.results(cells)
    tables = summarise_sweep(cells, results)
    if output is not None:
        runs = [{**json.loads(cell.key)["sweep"], **result} for cell, result in sorted(results.items())]
        content = {"name": sweep.name, "tables": [asdict(table) for table in tables], "runs": runs}
        write_text(output / f"{sweep.name}.md", f"# {sweep.name}\n\n" + "\n".join(map(sweep_as_markdown, tables)))
        write_text(output / f"{sweep.name}.json", json.dumps(content, indent=1) + "\n")
    return tables
