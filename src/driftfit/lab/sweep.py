"""Methods and settings on several data sets and seeds: a YAML file of them, its cells, and one call that runs them."""

from __future__ import annotations

import itertools
import json
import platform
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
from driftfit.errors import InputError
from driftfit.files import write_text
from driftfit.lab.launch import Progress, Record, attended, launch
from driftfit.lab.output import sweep_as_markdown
from driftfit.lab.statistics import SweepTable, summarise_sweep
from driftfit.lab.store import Store
from driftfit.lab.sweep_file import read_file
from driftfit.methods import Method, SourceOnly, Workspace, offered
from driftfit.models import Learner, as_learner
from driftfit.parallel import Engine
from driftfit.selection import Choice, Chosen
from driftfit.selection.chosen import SOURCE


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
    asked = read_file(path)
    for entry in asked.data:
        named = json.loads(entry).get("benchmark")
        if named is not None:
            dataset(named)
    for word in asked.models:
        model_from_word(word)
    grid = itertools.product(asked.data, asked.models, asked.seeds, asked.methods)
    cells = tuple(SweepCell(own, model, seed, *method) for own, model, seed, method in grid)
    for cell in cells:
        method_of(cell)
    return Sweep(asked.name, cells)


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
