"""Time, peak memory and rows per second of `driftfit adapt` and `driftfit predict` on a large made-up Parquet folder.

    python benchmarks/large_table.py [--rows 1000000] [--model logistic] [--json results/large_table.json]
    python benchmarks/large_table.py --rows 60000 --windows 12 --labelled 0.9  # with a backtest over eleven windows

Classes drift along the first column with time; every value is a float32, the last column is a word. The commands run
as processes of their own on two cores; the peak is that of all processes of a command together. Beside
them stands what DuckDB needs to read the same columns once, and to find the windows by their quantiles.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from records import about

from driftfit.files import write_json

BATCH = 500_000
FILE_ROWS = 5_000_000
CORES = 2


def write_folder(folder: Path, n_rows: int, n_columns: int, labelled: float) -> None:
    """Write the files a batch at a time; labels are known for the first rows alone."""
    names = [f"x{number}" for number in range(n_columns - 1)]
    fields = [(name, pa.float32()) for name in names]
    schema = pa.schema([*fields, ("word", pa.string()), ("label", pa.int8()), ("time", pa.float64())])
    rng = np.random.default_rng(0)
    folder.mkdir()
    for number, first in enumerate(range(0, n_rows, FILE_ROWS)):
        with pq.ParquetWriter(
            folder / f"part-{number:03}.parquet", schema, compression="none", use_dictionary=["word"]
        ) as writer:
            for start in range(first, min(first + FILE_ROWS, n_rows), BATCH):
                n = min(BATCH, n_rows - start)
                when = (start + np.arange(n)) / n_rows
                label = rng.integers(0, 2, n).astype(np.int8)
                values = [rng.standard_normal(n, dtype=np.float32) for _ in names]
                values[0] += (4 * label + 3 * when).astype(np.float32)
                words = pa.DictionaryArray.from_arrays(rng.integers(0, 3, n).astype(np.int8), ["red", "green", "blue"])
                columns = [*values, words.cast(pa.string()), pa.array(label, mask=when >= labelled), when]
                writer.write_table(pa.table(columns, schema=schema))


def tree_bytes(number: int) -> int:
    """Memory of a process and of all below it, shared pages counted once."""
    try:
        text = Path(f"/proc/{number}/smaps_rollup").read_text()
        below = Path(f"/proc/{number}/task/{number}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
    own = next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:")), 0)
    return own + sum(tree_bytes(int(child)) for child in below)


def timed(arguments: list[str], folder: Path) -> tuple[float, str, float]:
    """Seconds, standard output and peak GiB of a command on two cores, all of its processes together."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), str(CORES))
    allowed = sorted(os.sched_getaffinity(0))[:CORES]
    started, peak = time.perf_counter(), 0
    with (folder / "out").open("w+") as out:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env={**os.environ, **threads},
            preexec_fn=lambda: os.sched_setaffinity(0, allowed),
            stdout=out,
        )
        while process.poll() is None:
            peak = max(peak, tree_bytes(process.pid))
            time.sleep(0.25)
        seconds = time.perf_counter() - started
        if process.returncode:
            raise SystemExit(f"{arguments} left with code {process.returncode}")
        out.seek(0)
        return seconds, out.read(), peak / 2**30


DUCKDB = """
import duckdb, sys
duckdb.sql("SET threads = 2")
names = ", ".join(f"sum(x{number})" for number in range(int(sys.argv[2])))
print(duckdb.sql(f"SELECT {names}, count(word), count(label), max(time) FROM '{sys.argv[1]}/*.parquet'").fetchall())
"""
QUANTILES = """
import duckdb, sys
duckdb.sql("SET threads = 2")
print(duckdb.sql(f"SELECT quantile_disc(time, [0.2, 0.4, 0.6, 0.8]) FROM '{sys.argv[1]}/*.parquet'").fetchall())
"""


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Run the commands and note what they took."""
    size = sum(path.stat().st_size for path in (folder / "big").iterdir())
    found: dict[str, Any] = {
        "rows": options.rows, "columns": options.columns, "gib_of_parquet": round(size / 2**30, 2), "cores": CORES,
        "model": options.model, "jobs": options.jobs, "machine": platform.processor() or platform.machine(),
        "windows": options.windows, "labelled": options.labelled,
        "duckdb": duckdb.__version__, "load_average_before": round(os.getloadavg()[0], 1), "about": about([0]),
    }  # fmt: skip
    print(f"{options.rows:,} rows x {options.columns} columns, {found['gib_of_parquet']} GiB of Parquet, {CORES} cores")
    reading, _, read_peak = timed(["-c", DUCKDB, "big", str(options.columns - 1)], folder)
    finding = timed(["-c", QUANTILES, "big"], folder)[0]
    found |= {"duckdb_read_seconds": round(reading, 1), "duckdb_quantiles_seconds": round(finding, 1)}
    found |= {"duckdb_rows_per_second": round(options.rows / reading), "duckdb_peak_gib": round(read_peak, 2)}
    command = ["-m", "driftfit.cli"]
    adapt = [*command, "adapt", "big", "--label", "label", "--order", "time", "--model", options.model]
    adapt += ["--windows", str(options.windows)]
    spread = [] if options.jobs == 1 else ["--jobs", str(options.jobs)]
    seconds, text, peak = timed([*adapt, *spread, "-o", "RUN", "--json"], folder)
    result = json.loads(text)
    found |= {"adapt_seconds": round(seconds, 1), "adapt_rows_per_second": round(options.rows / seconds)}
    found |= {"adapt_peak_gib": round(peak, 2), "predicted_by_adapt": result["data"]["n_target"]}
    found |= {"kept_reason": result["kept_reason"], "sampled": result["sampled"]}
    seconds, _, peak = timed([*command, "predict", "RUN", "big", *spread, "-o", "all.parquet"], folder)
    found |= {"predict_seconds": round(seconds, 1), "predict_rows_per_second": round(options.rows / seconds)}
    found |= {"predict_peak_gib": round(peak, 2), "load_average_after": round(os.getloadavg()[0], 1)}
    with pq.ParquetFile(folder / "all.parquet") as file:
        assert file.metadata.num_rows == options.rows
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--model", default="logistic")
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument(
        "--labelled", type=float, default=0.2, help="share of the rows that have a label, the first ones"
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        started = time.perf_counter()
        write_folder(folder / "big", options.rows, options.columns, options.labelled)
        print(f"made in {time.perf_counter() - started:.0f} s")
        found = measure(folder, options)
    print(json.dumps(found, indent=1))
    if options.json is not None:
        known = json.loads(options.json.read_text()) if options.json.exists() else []
        others = [own for own in known if any(own.get(key) != found[key] for key in ("rows", "model", "labelled"))]
        write_json(options.json, sorted([*others, found], key=lambda own: own["rows"]))


if __name__ == "__main__":
    main()
