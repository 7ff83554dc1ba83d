"""Spoiled files for as long as asked: ``python tests/faults/fuzz_files.py --minutes 10``.

A run folder, a torch model or a store of cells is spoiled by a seeded generator and read. It must work or be refused
with one short line; all else is printed with the seed that makes it again (``--seed N --cases 1``), and the exit code
is 1. Cases run in a child process, so that the end of an interpreter is noticed too, with the seed that caused it.
Seeds that led to a message not seen before are kept in ``corpus.json`` with ``--keep``.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import io
import json
import logging
import math
import random
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

CORPUS = Path(__file__).with_name("corpus.json")
SLOWEST, MOST_BYTES, LONGEST_LINE, BATCH = 60.0, 1 << 30, 1000, 1000
RUNS = ("logistic", "forest", "boosting", "trees", "vectors", "neighbours", "perceptron", "network")
WEIGHTS = dict.fromkeys(RUNS, 2) | {"torch": 5, "store": 5}
FIRST_ROWS = {"u": [0.0, 1e30, -1e30, None], "v": [0.0, -1e30, 1e30, 1.0], "city": ["k", "l", "x", None]}


@dataclass(frozen=True)
class Outcome:
    """What came of one case: it was loaded or refused, or there is a complaint."""

    seed: int
    subject: str
    mutations: list[str]
    end: str
    text: str = ""

    @property
    def message(self) -> str:
        """The text without what differs from case to case."""
        return re.sub(r"\d+", "#", re.sub(r"'[^']*'|\"[^\"]*\"|/\S+", "_", self.text))[:70]


# Sound files, made once.


def build(base: Path) -> None:
    """Write every subject into its folder below ``base``."""
    from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC

    rng = np.random.default_rng(0)
    n = 60
    table = pd.DataFrame({"u": rng.normal(size=n), "v": rng.normal(size=n), "city": rng.choice(["k", "l"], n)})
    small = {"max_depth": 3, "random_state": 0}
    models = {
        "logistic": LogisticRegression(),
        "forest": RandomForestClassifier(2, **small),
        "boosting": HistGradientBoostingClassifier(max_iter=2, early_stopping=False, min_samples_leaf=5, **small),
        "trees": GradientBoostingClassifier(n_estimators=2, **small),
        "vectors": SVC(),
        "neighbours": KNeighborsClassifier(3),
        "perceptron": MLPClassifier((3,), max_iter=3, random_state=0),
    }
    for name, model in models.items():
        _write_run(base / name, table, model)
    _write_networks(base, table)
    _write_store(base / "store" / "cells.sqlite")


def _write_run(folder: Path, table: pd.DataFrame, classifier: Any) -> None:
    from sklearn.pipeline import Pipeline

    from driftfit.app.columns import conform, plan_columns
    from driftfit.app.features import as_matrix, make_preprocessing
    from driftfit.app.folder import write_manifest
    from driftfit.app.model_file import save_predictor
    from driftfit.app.predictor import Predictor
    from driftfit.files import write_json

    folder.mkdir(parents=True)
    plans = plan_columns(table)
    preprocessing = make_preprocessing(plans).fit(conform(table, plans))
    features = as_matrix(preprocessing, conform(table, plans))
    labels = np.where(table["u"] + table["v"] > 0, 1, 0)
    plain = hasattr(classifier, "module") is False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier.fit(features, np.where(labels, "a", "b") if plain else labels)
    model = Pipeline([("model", classifier)]) if plain else classifier
    files = save_predictor(Predictor(plans, preprocessing, model), folder)
    summary = {"data": {"classes": ["a", "b"], "n_target": 4}, "accuracy": 0.5, "notes": ["none", None]}
    write_json(folder / "result.json", summary)
    pd.DataFrame({"row": [0, 1], "prediction": ["a", "b"]}).to_parquet(folder / "predictions.parquet")
    write_manifest(folder, [*files, folder / "result.json", folder / "predictions.parquet"])


def _write_networks(base: Path, table: pd.DataFrame) -> None:
    import torch

    from driftfit.models.torch.classifier import TorchClassifier
    from driftfit.models.torch.files import save_classifier

    def network(*layers: Any) -> TorchClassifier:
        return TorchClassifier(torch.nn.Sequential(*layers), epochs=1, device="cpu", random_state=0)

    torch.manual_seed(0)
    linear, normal = torch.nn.Linear, torch.nn.BatchNorm1d
    _write_run(base / "network", table, network(linear(4, 3), torch.nn.ReLU(), linear(3, 2)))
    samples = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    fitted = network(linear(4, 3), normal(3), torch.nn.Dropout(0.1), linear(3, 2)).fit(samples, np.arange(30) % 2)
    (base / "torch").mkdir()
    save_classifier(fitted, base / "torch" / "model")


def _cells() -> list[Any]:
    from driftfit.lab.cells import Cell

    return [Cell("covtype", "reference", seed, 0, "gst") for seed in range(4)]


def _write_store(path: Path) -> None:
    from driftfit.lab.store import Store

    store = Store(path)
    cells = _cells()
    for cell in cells[:3]:
        store.add(cell, {"transductive_last": 60.0 + cell.seed, "curve": [1, 2.5]}, {"version": "1"}, 1.0, 1)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        # The same bytes at whatever hour.
        connection.execute("UPDATE records SET finished_at = '2024-01-01T00:00:00Z'")
        connection.execute("INSERT INTO claims VALUES (?, ?, ?)", (cells[3].key, "elsewhere:1:ab", 1e12))
        connection.commit()
        connection.execute("PRAGMA journal_mode=DELETE")


# Mutations of bytes.


def _flip(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 3, 30))):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.choice((0, 1, len(data) - 1, rng.randrange(len(data))))]


def _insert(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.choice((1, 8, 100))) + data[at:]


def _double(rng: random.Random, data: bytes) -> bytes:
    start = rng.randrange(len(data))
    return data[: start + rng.randrange(1, 600)] + data[start:]


def _zero(rng: random.Random, data: bytes) -> bytes:
    start, length = rng.randrange(len(data)), rng.choice((1, 4, 16, 500))
    return data[:start] + bytes(len(data[start : start + length])) + data[start + length :]


def _big(rng: random.Random, data: bytes) -> bytes:
    start, length = rng.randrange(len(data)), rng.choice((1, 2, 4, 8))
    return data[:start] + b"\xff" * length + data[start + length :]


BYTES = {"flip": _flip, "cut": _cut, "insert": _insert, "double": _double, "zero": _zero, "big": _big}


def _bytes(rng: random.Random, data: bytes, names: list[str]) -> bytes:
    name = rng.choice(sorted(BYTES))
    names.append(name)
    return BYTES[name](rng, data or b"\0")


# Mutations of JSON.

_DEEP = "put something deep here"
_VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 255, 2**31, 2**63, -(2**63), 2**64, 10**30, 10**400, 0.5, -0.0, 1e308, 5e-324),
    *(
        math.nan,
        math.inf,
        -math.inf,
        "",
        "a",
        "0",
        "nan",
        "\0",
        "\n",
        "\r\nb",
        "\u202e",
        "\ud800",
        "\x1b[2J",
        "é" * 300,
    ),
    *("x" * 100_000, "../../etc/passwd", "/dev/zero", [], {}, [[]], [None], {"": ""}, [0] * 1000, [1, 2], [-1], _DEEP),
]


def _places(content: Any, found: list[tuple[Any, Any]] | None = None) -> list[tuple[Any, Any]]:
    """Every container of a document, with a key in it."""
    found = [] if found is None else found
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, item in items:
        found.append((content, key))
        _places(item, found)
    return found


def _mutate(rng: random.Random, content: Any, names: list[str]) -> Any:
    """Change one place of a document; returns it, or what took its place."""
    places = _places(content)
    if not places or rng.random() < 0.02:
        names.append("json whole")
        return deepcopy(rng.choice(_VALUES))
    inside, key = rng.choice(places)
    kind = rng.choice(("value", "value", "value", "near", "missing", "extra", "other", "nested", "swapped"))
    names.append(f"json {kind}")
    if kind == "value":
        # A copy: what one case does to it must not reach the next.
        inside[key] = deepcopy(rng.choice(_VALUES))
    elif kind == "near":
        inside[key] = _near(rng, inside[key])
    elif kind == "missing":
        del inside[key]
    elif kind == "extra":
        extra = deepcopy(rng.choice(_VALUES))
        inside.append(extra) if isinstance(inside, list) else inside.update({str(rng.choice(_VALUES)): extra})
    elif kind == "nested":
        inside[key] = rng.choice(([inside[key]], {"content": inside[key]}, [inside[key], inside[key]]))
    else:
        other, other_key = rng.choice(places)
        # As text and back: a document that holds itself cannot be written.
        copied = json.loads(json.dumps(other[other_key]))
        if kind == "swapped":
            other[other_key] = json.loads(json.dumps(inside[key]))
        inside[key] = copied
    return content


def _near(rng: random.Random, value: Any) -> Any:
    """A value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return rng.choice((value + 1, value - 1, -value, value * 2, value * 10**9, float(value)))
    if isinstance(value, str):
        number = json.dumps(rng.choice([value for value in _VALUES if not isinstance(value, str | list | dict)]))
        return rng.choice((value + value, value[:-1], value.upper(), number, f"{value}\n", f" {value}"))
    if isinstance(value, list):
        return rng.choice((value + value, value[:-1], value[::-1], value[1:]))
    return value


def _dumped(content: Any) -> bytes:
    text = json.dumps(content)
    return text.replace(json.dumps(_DEEP), "[" * 20_000 + "]" * 20_000).encode()


def _json(rng: random.Random, data: bytes, names: list[str]) -> bytes:
    content = json.loads(data)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        content = _mutate(rng, content, names)
    return _dumped(content)


# Mutations of what the other files are made of.


def _array(rng: random.Random, data: bytes, names: list[str]) -> bytes:
    """Another array in the place of one."""
    found = np.load(io.BytesIO(data), allow_pickle=False)
    kind = rng.choice(("values", "values", "values", "dtype", "shape", "header"))
    names.append(f"array {kind}")
    if kind == "header":
        at = data.index(b"{")
        words = (
            (b"(", b"(1"),
            (b"(", b"(-"),
            (b"(", b"(99999999999,"),
            (b"<f8", b"|O8"),
            (b"<", b">"),
            (b"False", b"True"),
        )
        old, new = rng.choice(words)
        changed = data[at:].replace(old, new, 1)
        return data[:at] + changed
    if kind == "dtype":
        wanted = rng.choice(("<f4", "<i8", "<i4", "|u1", "<U3", "|b1", "<c16", "<M8[s]", ">f8", "|S2", "<f8"))
        with contextlib.suppress(TypeError, ValueError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = found.astype(wanted) if rng.random() < 0.7 else np.zeros(found.shape, wanted)
    elif kind == "shape":
        shapes = (found.ravel(), found[None], found[..., None], found[:0], found[:-1] if found.ndim else found)
        found = rng.choice((*shapes[:3], *((shapes[3], shapes[4]) if found.ndim else ()), found.T, np.resize(found, 7)))
    elif found.size:
        found = found.copy()
        part = found
        if found.dtype.names:
            part = found[rng.choice(found.dtype.names)]
        values = (-1, 0, 1, 2, 7, 255, 2**31 - 1, -(2**31), 2**62, math.nan, math.inf, -math.inf, 1e300, "\0", "x")
        with contextlib.suppress(TypeError, ValueError, OverflowError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            where = rng.choice((slice(None), rng.randrange(part.size), rng.randrange(part.size)))
            part.flat[where] = rng.choice(values)
    buffer = io.BytesIO()
    np.save(buffer, found, allow_pickle=False)
    return buffer.getvalue()


def _schema(rng: random.Random, data: bytes, names: list[str]) -> bytes:
    """Types, addresses and contents in the description of a model."""
    schema = json.loads(data)
    nodes = [inside for inside, key in _places(schema) if key == "__loader__"]
    for _ in range(rng.choice((1, 1, 2, 4))):
        one, other = rng.choice(nodes), rng.choice(nodes)
        kind = rng.choice(("type", "address", "content", "loader", "number", "json", "json"))
        names.append(f"schema {kind}")
        wanted = {"type": ("__class__", "__module__"), "address": ("__id__",), "content": ("content",)}
        wanted["loader"] = ("__loader__",)
        if kind == "json":
            schema = _mutate(rng, schema, names)
            if not isinstance(schema, dict):
                break
        elif kind == "number":
            plain = [node for node in nodes if node.get("__loader__") == "JsonNode"]
            node = rng.choice(plain or nodes)
            # Under an address of its own: equal numbers share one.
            node |= {
                "content": json.dumps(rng.choice([v for v in _VALUES if v != _DEEP])),
                "__id__": rng.getrandbits(40),
            }
        else:
            for key in wanted[kind]:
                if key in other:
                    one[key] = json.loads(json.dumps(other[key]))
    return _dumped(schema)


def _model(rng: random.Random, data: bytes, names: list[str]) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    arrays = sorted(name for name in contents if name.endswith(".npy"))
    packing = zipfile.ZIP_STORED
    for _ in range(rng.choice((1, 1, 2))):
        kind = rng.choice(("array", "array", "array", "schema", "schema", "schema", "member", "packed"))
        name = rng.choice(arrays)
        if kind == "array" and name in contents:
            with contextlib.suppress(ValueError):
                contents[name] = _array(rng, contents[name], names)
        elif kind == "schema":
            with contextlib.suppress(ValueError, RecursionError):
                contents["schema.json"] = _schema(rng, contents["schema.json"], names)
        elif kind == "member":
            name = rng.choice(sorted(contents))
            names.append("member")
            change = rng.choice(("bytes", "gone", "other"))
            if change == "bytes":
                contents[name] = _bytes(rng, contents[name], names)
            elif change == "gone" and len(contents) > 1 and name != "schema.json":
                del contents[name]
                arrays = [array for array in arrays if array != name] or arrays
            else:
                contents[name] = contents[rng.choice(sorted(contents))]
        elif rng.random() < 0.2:
            names.append("packed")
            packing = zipfile.ZIP_DEFLATED
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name), content, packing)
    return buffer.getvalue()


def _tensors(rng: random.Random, data: bytes, names: list[str]) -> bytes:
    size = int.from_bytes(data[:8], "little")
    header, numbers = data[8 : 8 + size], data[8 + size :]
    kind = rng.choice(("header", "header", "length", "numbers", "numbers"))
    names.append(f"tensors {kind}")
    if kind == "header":
        header = _json(rng, header, names)
        size = len(header)
    elif kind == "length":
        size = rng.choice((0, 1, size - 1, size + 1, 2**31, 2**63, 2**64 - 1))
    else:
        values = np.frombuffer(numbers[: len(numbers) // 4 * 4], "<f4").copy()
        values[rng.choice((slice(None), rng.randrange(len(values))))] = rng.choice((math.nan, math.inf, 1e38, 0))
        numbers = values.tobytes()
    return size.to_bytes(8, "little") + header + numbers


_STATEMENTS = (
    "DROP TABLE records",
    "DROP TABLE claims",
    "ALTER TABLE records RENAME TO others",
    "ALTER TABLE records RENAME COLUMN result TO outcome",
    "ALTER TABLE records DROP COLUMN peak_bytes",
    "ALTER TABLE records ADD COLUMN more TEXT",
    "CREATE TRIGGER t AFTER DELETE ON claims BEGIN DELETE FROM records; END",
    "DROP TABLE records; CREATE TABLE records (key, result, provenance, seconds, peak_bytes, finished_at)",
    "DROP TABLE records; CREATE VIEW records AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
    "SELECT x AS key, x AS result, x AS provenance, x AS seconds, x AS peak_bytes, x AS finished_at FROM n",
    "DROP TABLE claims; CREATE VIEW claims AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
    "SELECT x AS key, x AS owner, x AS until FROM n",
    "CREATE TRIGGER t BEFORE INSERT ON claims BEGIN INSERT INTO claims WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL "
    "SELECT x + 1 FROM n) SELECT x, x, x FROM n; END",
    "PRAGMA user_version = 77",
    "PRAGMA application_id = 5",
    "PRAGMA journal_mode=WAL",
)


def _store(rng: random.Random, path: Path, names: list[str]) -> None:
    """Records and claims of another kind, and another layout."""
    with contextlib.closing(sqlite3.connect(path)) as connection, contextlib.suppress(sqlite3.Error, OverflowError):
        if rng.random() < 0.25:
            names.append("store layout")
            connection.executescript(rng.choice(_STATEMENTS))
        for _ in range(rng.choice((1, 1, 3))):
            names.append("store record")
            column = rng.choice(("result", "result", "provenance", "seconds", "peak_bytes", "key", "finished_at"))
            value = rng.choice(_VALUES)
            if column in ("result", "provenance"):
                plain = {"transductive_last": 60.0, "curve": [1, 2.5]}
                value = _json(rng, json.dumps(plain).encode(), names).decode()
            value = value if isinstance(value, str | int | float) else json.dumps(value).encode()
            if rng.random() < 0.3 and isinstance(value, str):
                value = value.encode("utf-8", "surrogatepass") + b"\xff"
            if rng.random() < 0.3:
                names[-1] = "store claim"
                # Numbers of processes that nobody has, besides.
                word = rng.choice((value, f"{_node()}:{rng.choice((0, 4194305, 10**30, '9' * 5000))}:x", "a:b"))
                connection.execute(f"UPDATE claims SET {rng.choice(('owner', 'until', 'key'))} = ?", (word,))
            else:
                row = rng.choice(("1", "rowid = 1", "rowid = 2"))
                connection.execute(f"UPDATE records SET {column} = ? WHERE {row}", (value,))
            connection.commit()


def _node() -> str:
    import platform

    return platform.node()


# Cases.


def spoil(rng: random.Random, subject: str, folder: Path) -> list[str]:
    """Change one file of a subject or two, and often the hashes to fit; returns what was done."""
    names: list[str] = []
    files = sorted(path for path in folder.iterdir())
    liked = {".skops": 8, ".json": 3, ".safetensors": 4, ".parquet": 1, ".sqlite": 1}
    for _ in range(rng.choice((1, 1, 1, 2))):
        path = rng.choices(files, [liked[file.suffix] for file in files])[0]
        names.append(path.name)
        data = path.read_bytes()
        how = {".skops": _model, ".json": _json, ".safetensors": _tensors}.get(path.suffix)
        try:
            if path.suffix == ".sqlite" and rng.random() < 0.5:
                _store(rng, path, names)
            else:
                path.write_bytes(
                    _bytes(rng, data, names) if how is None or rng.random() < 0.15 else how(rng, data, names)
                )
        except (ValueError, zipfile.BadZipFile, KeyError, RecursionError, IndexError, OverflowError):  # spoiled already
            path.write_bytes(_bytes(rng, data, names))
    if subject in RUNS and names[0] != "manifest.json" and rng.random() < 0.9:
        from driftfit.app.folder import write_manifest

        names.append("rehash")
        write_manifest(folder, [path for path in files if path.name != "manifest.json"])
    return names


def use(subject: str, folder: Path) -> None:
    """Read a subject and ask something of it."""
    if subject == "store":
        from driftfit.lab.store import Store, new_owner

        store, cells = Store(folder / "cells.sqlite"), _cells()
        assert set(store.results(cells)) == store.finished(cells)
        for cell in store.claim(cells, new_owner()):
            store.add(cell, {"transductive_last": 1.0}, {}, 1.0, 1)
    elif subject == "torch":
        from driftfit.models.torch.files import load_classifier

        classifier = load_classifier(folder / "model", device="cpu")
        samples = np.zeros((3, 4), dtype=np.float32)
        assert len(classifier.predict(samples)) == len(classifier.predict_proba(samples)) == 3
    else:
        from driftfit.app import load_run

        run = load_run(folder)
        labels, probability = run.predictor.predict(pd.DataFrame(FIRST_ROWS))
        assert len(labels) == len(probability) == 4


def case(seed: int, base: Path) -> Outcome:
    """Spoil a copy of a subject and read it."""
    from driftfit.errors import InputError, SolverError

    rng = random.Random(seed)
    subject = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    names: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "RUN"
        shutil.copytree(base / subject, folder)
        names = spoil(rng, subject, folder)
        started, before = time.perf_counter(), _peak()
        end, text = "loaded", ""
        try:
            use(subject, folder)
        except (InputError, SolverError) as error:
            end, text = "refused", str(error)
            if len(text.splitlines()) != 1 or len(text) > LONGEST_LINE or not text.isprintable():
                end, text = "complaint", f"not one short line: {text[:300]!r}"
        except Exception:
            end, text = "complaint", traceback.format_exc()[-1500:]
        if time.perf_counter() - started > SLOWEST or _peak() - before > MOST_BYTES:
            end = "complaint"
            text = f"took {time.perf_counter() - started:.0f} s and {(_peak() - before) / 2**20:.0f} MiB. {text}"
    return Outcome(seed, subject, names, end, text.replace(place, ""))


def _peak() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _child(base: Path) -> None:
    """Cases whose seeds come line by line; an outcome each."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    np.seterr(all="ignore")
    for line in sys.stdin:
        print(f"seed {int(line)}", flush=True)
        faulthandler.dump_traceback_later(SLOWEST, exit=True)
        outcome = case(int(line), base)
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps(asdict(outcome)), flush=True)


def batch(seeds: list[int], base: Path) -> list[Outcome]:
    """Outcomes of cases in a child. One that ends the interpreter is tried alone, and the others go on behind it."""
    outcomes: list[Outcome] = []
    left = list(seeds)
    while left:
        command = [sys.executable, "-X", "faulthandler", __file__, "--child", str(base)]
        done = subprocess.run(command, input="\n".join(map(str, left)), capture_output=True, text=True)
        lines = [line for line in done.stdout.splitlines() if line.startswith(("seed ", "{"))]
        found = [Outcome(**json.loads(line)) for line in lines if line.startswith("{")]
        outcomes += found
        left = left[len(found) :]
        if done.returncode or left:
            if not left:
                raise RuntimeError(done.stderr[-2000:])
            hung = "Timeout" in done.stderr
            alone = len(left) > 1 and bool(found) and batch([left[0]], base)[0].end in ("hang", "crash")
            what = "hang" if hung else "crash"
            text = f"code {done.returncode}, again when alone: {alone or not found}. {done.stderr[-1500:]}"
            outcomes.append(Outcome(left.pop(0), "?", [], what, text))
    return outcomes


def corpus() -> list[int]:
    """Seeds that once failed, or were the first with their message."""
    return [entry["seed"] for entry in json.loads(CORPUS.read_text())] if CORPUS.exists() else []


def _keep(outcomes: list[Outcome]) -> None:
    entries = json.loads(CORPUS.read_text()) if CORPUS.exists() else []
    known = {entry["seed"] for entry in entries}
    for outcome in outcomes:
        if outcome.seed not in known:
            about = {"seed": outcome.seed, "subject": outcome.subject, "mutations": outcome.mutations}
            entries.append({**about, "first": outcome.message.splitlines()[-1] if outcome.message else outcome.end})
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    CORPUS.write_text(f"[\n{lines}\n]\n")


def main(seconds: float, seed: int, cases: int | None = None, keep: bool = False) -> int:
    """Cases until the time or their number is up; returns the number of complaints."""
    ends: Counter[str] = Counter()
    subjects: Counter[str] = Counter()
    messages: set[str] = set()
    started, done = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as place:
        base = Path(place)
        build(base)
        if cases is None:
            messages = {outcome.message for outcome in batch(corpus(), base)}
        while time.monotonic() - started < seconds and (cases is None or done < cases):
            size = BATCH if cases is None else min(BATCH, cases - done)
            outcomes = batch(list(range(seed + done, seed + done + size)), base)
            done += size
            new = []
            for outcome in outcomes:
                ends[outcome.end] += 1
                subjects[outcome.subject] += 1
                if outcome.end not in ("loaded", "refused"):
                    print(f"seed {outcome.seed}, {outcome.subject}, {outcome.mutations}: {outcome.text}", flush=True)
                if outcome.message not in messages:
                    messages.add(outcome.message)
                    new.append(outcome)
            if keep:
                _keep(new)
    spent = time.monotonic() - started
    print(f"{done} cases in {spent:.0f} s, {dict(ends)}, {len(messages)} messages; {dict(subjects)}", flush=True)
    return ends["complaint"] + ends["hang"] + ends["crash"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int)
    parser.add_argument("--keep", action="store_true", help="write new seeds into the corpus")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        _child(chosen.child)
    else:
        sys.exit(1 if main(60 * chosen.minutes, chosen.seed, chosen.cases, chosen.keep) else 0)
