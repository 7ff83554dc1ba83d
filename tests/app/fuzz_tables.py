"""Tables in every dialect against the same tables as typed Parquet: ``python tests/app/fuzz_tables.py --tables 20000``.

A made-up table of typed columns is written as one or more CSV files by pandas, polars, DuckDB or in a dialect of Excel,
perhaps after a way through another library, and read back. What is compared is the table that a model would get. It
must be the same, cell by cell, or refused, or the output must say what is missing, unreadable, unknown or left out.
Whatever else differs is printed with the seed that makes it again, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import sys
import tempfile
import time
import warnings
from collections import Counter
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from driftfit.app import open_table
from driftfit.app.columns import ColumnPlan, Kind, conform, plan_columns
from driftfit.app.labels import read_labels
from driftfit.app.windows import comparable
from driftfit.errors import InputError

WORDS = [
    ["true", "false", "maybe"],
    ["True", "False", "1"],
    ["01", "02", "03", "AB"],
    ["1.50", "2.25", "3.00", "none of them"],
    ["1e5", "2e3", "3a7", "7b1"],
    ["001", "002", "010", "100"],
    ["Köln", "Zürich", "東京", "Ürgüp"],
    ["a,b", "c;d", 'say "so"', "tab\there"],
    ["two\nlines", "one", "three\nlong\nlines"],
    [" in front", "behind ", "in between", "x"],
    ["NA", "None", "yes, really", "no"],
    ["yes", "no"],
    ["2024-01-05", "2024-01-06", "soon"],
    ["5 kg", "10 kg", "1,5 kg"],
    ["=1+1", "@home", "-", "+x"],
    ["0x1F", "0x2A", "inf", "1_000"],
    ["'", "''", "\\", "\\n", "#"],
]
ZONES = [None, "UTC", "Europe/Berlin", "America/New_York"]


def _column(rng: np.random.Generator, n: int) -> pa.Array:
    """A typed column, perhaps with missing values."""
    kind = int(rng.integers(11))
    if kind == 0:
        values = pa.array(rng.integers(-50, 50, n))
    elif kind == 1:
        base = [2**53, 2**60, 2**63 - 200, 2**63 + 5][rng.integers(4)]
        values = pa.array([base + int(k) for k in rng.integers(0, 99, n)], pa.uint64() if base > 2**63 else pa.int64())
    elif kind == 2:
        values = pa.array(rng.normal(size=n) * 10.0 ** rng.integers(-8, 20))
    elif kind == 3:
        values = pa.array(np.round(rng.normal(size=n) * 100, int(rng.integers(3))))
    elif kind == 4:
        values = pa.array(rng.random(n) < 0.5)
    elif kind == 5:
        days = np.datetime64("2019-11-20", "D") + rng.integers(0, 900, n)
        values = pa.array(days.astype("datetime64[D]"), pa.date32())
    elif kind == 6:
        moments = np.datetime64("2019-11-20", "s") + rng.integers(0, 9 * 10**7, n)
        values = pa.array(moments.astype("datetime64[us]"), pa.timestamp("us", ZONES[rng.integers(4)]))
    else:
        words = WORDS[rng.integers(len(WORDS))]
        values = pa.array([words[k] for k in rng.integers(0, len(words), n)])
    if rng.random() < 0.4:
        gaps = rng.random(n) < [0.1, 0.5][rng.integers(2)]
        values = pa.array(
            [None if gap else value for gap, value in zip(gaps, values.to_pylist(), strict=True)], values.type
        )
    return values


def made(seed: int) -> pa.Table:
    """A table of two to five columns."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 60))
    names = ["x", "größe", "a;b", "c,d", 'say "q"', "last"]
    chosen = rng.permutation(names)[: rng.integers(2, 6)]
    return pa.table({str(name): _column(rng, n) for name in chosen})


def _excel(table: pa.Table, rng: np.random.Generator) -> bytes:
    """The table as Excel writes it in one of its languages."""
    german = bool(rng.random() < 0.5)
    day = "%d.%m.%Y" if german else "%m/%d/%Y"

    def cell(value):
        if value is None:
            return ""
        if isinstance(value, bool):
            return ("WAHR" if value else "FALSCH") if german else str(value).upper()
        if isinstance(value, float):
            text = f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)
            return text.replace(".", ",") if german else text
        if hasattr(value, "hour"):
            return value.strftime(f"{day} %H:%M:%S") if value.tzinfo is None else value.isoformat()
        return value.strftime(day) if hasattr(value, "year") else str(value)

    quoting = [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC][rng.integers(3)]
    out = io.StringIO(newline="")
    ending = ["\r\n", "\n"][rng.integers(2)]
    writer = csv.writer(
        out, delimiter=";" if german else ",\t"[rng.integers(2)], lineterminator=ending, quoting=quoting
    )
    writer.writerow(table.column_names)
    writer.writerows([cell(value) for value in row.values()] for row in table.to_pylist())
    encoding = ["utf-8", "utf-8-sig", "utf-8-sig", "cp1252", "utf-16"][rng.integers(5)]
    try:
        return out.getvalue().encode(encoding)
    except UnicodeEncodeError:
        return out.getvalue().encode("utf-8-sig")


def text_of(table: pa.Table, rng: np.random.Generator, folder: Path, database, n_writers: int = 4) -> bytes:
    """A CSV file of the table by one of the writers."""
    kind = int(rng.integers(n_writers))
    separator = ",;\t"[rng.integers(3)]
    if kind == 0:
        options = {
            "quoting": [csv.QUOTE_MINIMAL, csv.QUOTE_ALL][rng.integers(2)],
            "lineterminator": ["\n", "\r\n"][rng.integers(2)],
        }
        text = table.to_pandas(integer_object_nulls=True).to_csv(index=False, sep=separator, **options)
        return text.encode("utf-8-sig" if rng.random() < 0.3 else "utf-8")
    if kind == 1:
        frame = pl.from_arrow(table)
        return frame.write_csv(separator=separator, include_bom=bool(rng.random() < 0.3)).encode()
    if kind == 2:
        database.register("own", table)
        path = folder / "own.csv"
        database.execute(f"COPY own TO '{path}' (FORMAT csv, HEADER, DELIMITER '{separator}')")
        database.unregister("own")
        return path.read_bytes()
    return _excel(table, rng)


def travelled(text: bytes, rng: np.random.Generator, folder: Path, database) -> bytes:
    """CSV -> the types that a library guesses -> Parquet -> CSV."""
    (folder / "way.csv").write_bytes(text)
    kind = int(rng.integers(3))
    if kind == 0:
        pd.read_csv(folder / "way.csv", sep=None, engine="python").to_parquet(folder / "way.parquet")
    elif kind == 1:
        header = text.decode().partition("\n")[0]
        mark = max(",;\t", key=lambda own: len(next(csv.reader([header], delimiter=own))))
        pl.read_csv(folder / "way.csv", separator=mark, infer_schema_length=None, try_parse_dates=True).write_parquet(
            folder / "way.parquet"
        )
    else:
        database.execute(f"COPY (FROM read_csv('{folder / 'way.csv'}')) TO '{folder / 'way.parquet'}'")
    return text_of(pq.read_table(folder / "way.parquet"), rng, folder, database)


def written(table: pa.Table, rng: np.random.Generator, folder: Path, database, *, way: bool = False) -> list[Path]:
    """The rows of a table in one to four CSV files, each by a writer and with an order of columns of its own."""
    ends = np.sort(rng.integers(0, len(table) + 1, rng.integers(0, 4)))
    ends = np.unique([0, *ends, len(table)])
    paths = []
    for number, (start, stop) in enumerate(pairwise(ends)):
        part = table.slice(int(start), int(stop - start)).select([str(n) for n in rng.permutation(table.column_names)])
        # Other libraries take 03/04/2020 of a spreadsheet for whatever they like.
        text = text_of(part, rng, folder, database, 3 if way else 4)
        if way:
            text = travelled(text, rng, folder, database)
        packed = rng.random() < 0.1
        paths.append(folder / f"part-{number}.csv{'.gz' if packed else ''}")
        paths[-1].write_bytes(gzip.compress(text) if packed else text)
    return paths


def frame_of(paths: list[Path], names: list[str], texts=()) -> pd.DataFrame:
    """All rows of some files."""
    table = open_table(paths, texts)
    if set(names) - set(table.names):
        raise InputError("a column is gone")
    return pd.concat([own for _, own in table.batches(None, names)], ignore_index=True)


def _said(plan: ColumnPlan) -> bool:
    """Whether the output names the column as one that could not be read as it is."""
    return any(word in plan.note for word in ("decimal commas", "two ways", "nearly alike"))


def _cells(frame: pd.DataFrame, plans) -> dict[str, np.ndarray]:
    """What a model gets of a frame, column by column."""
    done = conform(frame, tuple(plans))
    return {name: done[name].to_numpy() for name in done}


def _gap(values: np.ndarray) -> np.ndarray:
    return values == "missing" if values.dtype.kind == "O" else np.isnan(values)


def _differ(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    return (mine != theirs) & ~(_gap(mine) & _gap(theirs))


def training(plans, others, true: pd.DataFrame, read: pd.DataFrame) -> list[str]:
    """Columns that a model would be trained on otherwise, and nobody says it."""
    wrong = []
    mine, theirs = _cells(true, plans), _cells(read, others)
    for own, other in zip(plans, others, strict=True):
        if _said(other):
            continue
        # A gap where the typed table has a value is counted in the note.
        counted = "missing" in other.note
        if own.kind is other.kind:
            outputs = [(mine[name], theirs[name]) for name in own.outputs]
            if not any((_differ(one, two) & ~(_gap(two) & counted)).any() for one, two in outputs):
                continue
        elif counted and other.kind is Kind.DROPPED:
            continue
        wrong.append(f"{own.column!r} is {own.kind.value} and was read as {other.kind.value} ({other.note})")
    return wrong


def prediction(plans, true: pd.DataFrame, read: pd.DataFrame, whole: pd.DataFrame, *, gaps: bool = False) -> list[str]:
    """Cells that a model would be asked about otherwise, and no count has them.

    With ``gaps`` a cell that was missing in training may have a value now: the gap was counted there.
    """
    wrong = []
    mine, theirs, known = (_cells(frame, plans) for frame in (true, read, whole))
    for plan in (own for own in plans if not _said(own)):
        for name in plan.outputs:
            one, two = mine[name], theirs[name]
            other = _differ(one, two) & ~_gap(two)
            if two.dtype.kind == "O":
                other &= np.isin(two.astype(str), known[name].astype(str))
            if gaps and "missing" in plan.note:
                other &= ~_gap(one)
            if other.any():
                row = int(np.argmax(other))
                wrong.append(f"{name!r} ({plan.kind.value}): {one[row]!r} was read as {two[row]!r}")
    return wrong


def roles(true: pd.Series, read: pd.Series) -> list[str]:
    """What a column would be as the label or the order, where it can be either."""
    wrong = []
    with_labels = []
    for column, guessed in ((true, False), (read, True)):
        try:
            found = read_labels(column, np.arange(len(column)), "label", guessed=guessed)[0]
            with_labels.append((found.rows.tolist(), [_plain(value) for value in found.values]))
        except InputError:
            with_labels.append(None)
    if (
        None not in with_labels
        and with_labels[0] != with_labels[1]
        and len(with_labels[0][0]) == len(with_labels[1][0])
    ):
        wrong.append(f"as the label {with_labels[0][1][:4]} became {with_labels[1][1][:4]}")
    present = true.notna().to_numpy() & read.notna().to_numpy()
    if present.any():
        values = [[_moment(value) for value in comparable(own[present], "order")] for own in (true, read)]
        kinds = [isinstance(own[0], str) for own in values]
        if kinds == [False, False] and values[0] != values[1]:
            pairs = [pair for pair in zip(*values, strict=True) if pair[0] != pair[1]]
            wrong.append(f"as the order {pairs[:3]}")
    return wrong


def _plain(value) -> str:
    """A class as a number where it is one: 2.5 and 2.50 are one class."""
    text = {"wahr": "true", "falsch": "false"}.get(str(value).lower(), str(value).lower())
    try:
        return repr(float(text)) if not text.startswith("0") or text[:2] in ("0", "0.") else text
    except ValueError:
        return text


def _moment(value):
    return pd.Timestamp(value) if isinstance(value, np.datetime64) else value


def case(seed: int, folder: Path, database) -> tuple[str, list[str]]:
    """One table: how it ended, and what differed in silence."""
    rng = np.random.default_rng(seed + 10**9)
    table = made(seed)
    for path in folder.iterdir():
        path.unlink()
    pq.write_table(table, folder / "true.parquet")
    true = frame_of([folder / "true.parquet"], table.column_names)
    try:
        plans = plan_columns(true, categorical=tuple(table.column_names[:1]) if rng.random() < 0.1 else ())
    except InputError:
        return "nothing to learn from", []
    ending, wrong = "the same", []
    try:
        paths = written(table, rng, folder, database)
        read = frame_of(paths, table.column_names)
        if len(read) != len(table):
            return ending, [f"{len(table)} rows became {len(read)}"]
        coded = tuple(plan.column for plan in plans if "as asked for" in plan.note)
        others = plan_columns(read, categorical=coded)
        if any("as asked for" in plan.note for plan in plans):
            ending = "codes"  # words as each file writes them, told apart below
        else:
            wrong += training(plans, others, true, read)
            wrong += [sentence for name in table.column_names for sentence in roles(true[name], read[name])]
        # A model of the CSV files gets a typed table.
        wrong += prediction(others, read, true, read, gaps=True)
    except InputError as error:
        ending = f"refused: {str(error).split('(')[-1][:30]}" if "CSV" in str(error) else "refused"
    # A model of the typed table gets some rows of it as CSV, perhaps after a way through another library.
    start = int(rng.integers(0, len(table) - 3))
    part = table.slice(start, int(rng.integers(3, 20)))
    texts = [plan.column for plan in plans if plan.type == "text"]
    for path in folder.glob("part-*"):
        path.unlink()
    way = bool(rng.random() < 0.4)
    try:
        paths = written(part, rng, folder, database, way=way)
    except (Exception, pl.exceptions.PanicException):  # other libraries refuse what others wrote
        return ending, wrong
    try:
        new = frame_of(paths, table.column_names, texts)
        if len(new) != len(part):
            # Another library may have lost some on the way.
            return ending, wrong if way else [*wrong, f"{len(part)} rows became {len(new)}"]
        wrong += prediction(plans, true.iloc[start : start + len(part)].reset_index(drop=True), new, true)
    except InputError:
        ending = f"{ending}, new rows refused"
    return ending, wrong


def run(n_tables: int, seed: int) -> int:
    """Tables one after the other; returns how many differed in silence."""
    warnings.simplefilter("ignore")
    ends: Counter[str] = Counter()
    silent, started = 0, time.monotonic()
    database = duckdb.connect()
    with tempfile.TemporaryDirectory() as name:
        for number in range(seed, seed + n_tables):
            end, wrong = case(number, Path(name), database)
            ends[end] += 1
            silent += bool(wrong)
            if wrong:
                print(f"seed {number}: {'; '.join(wrong)}", flush=True)
            if (number - seed) % 1000 == 999:
                print(f"{number - seed + 1} tables, {silent} silent differences", flush=True)
    told = ", ".join(f"{end}: {count}" for end, count in ends.most_common())
    print(f"{n_tables} tables in {time.monotonic() - started:.0f} s ({told}); {silent} silent differences", flush=True)
    return silent


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    sys.exit(1 if run(chosen.tables, chosen.seed) else 0)
