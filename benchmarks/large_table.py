"""Time and peak memory of `gradapt adapt` and `gradapt predict` on a large made-up Parquet table, on two cores.

    python benchmarks/large_table.py [--rows 1000000] [--columns 20] [--model logistic]

Classes drift along the first column with time; every value is a float32, the last column is a word. The commands run
as processes of their own; the peak is the largest resident set of either, as the kernel counts it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

BATCH = 100_000
CORES = 2


def write_table(path: Path, n_rows: int, n_columns: int) -> None:
    """Write the table a batch at a time; labels are known for the first fifth alone."""
    names = [f"x{number}" for number in range(n_columns - 1)]
    schema = pa.schema(
        [*((name, pa.float32()) for name in names), ("word", pa.string()), ("label", pa.int8()), ("time", pa.float64())]
    )
    rng = np.random.default_rng(0)
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n_rows, BATCH):
            n = min(BATCH, n_rows - start)
            when = (start + np.arange(n)) / n_rows
            label = rng.integers(0, 2, n).astype(np.int8)
            values = rng.normal(size=(n, len(names))).astype(np.float32)
            values[:, 0] += (4 * label + 3 * when).astype(np.float32)
            columns: list[object] = [values[:, number] for number in range(len(names))]
            columns.append(pa.array(np.array(["red", "green", "blue"])[rng.integers(0, 3, n)]))
            columns.append(pa.array(label, mask=when >= 0.2))
            columns.append(when)
            writer.write_table(pa.table(columns, schema=schema))


def timed(arguments: list[str], folder: Path) -> tuple[float, str]:
    """Seconds and standard output of a command on two cores."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), str(CORES))
    allowed = sorted(os.sched_getaffinity(0))[:CORES]
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "gradapt.cli", *arguments],
        cwd=folder,
        env={**os.environ, **threads},
        preexec_fn=lambda: os.sched_setaffinity(0, allowed),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return time.perf_counter() - started, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--model", default="logistic")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder / "big.parquet", options.rows, options.columns)
        size = (folder / "big.parquet").stat().st_size / 2**30
        print(f"{options.rows:,} rows x {options.columns} columns, {size:.2f} GiB of Parquet, {CORES} cores")
        adapt = ["adapt", "big.parquet", "--label", "label", "--order", "time", "--model", options.model]
        seconds, text = timed([*adapt, "-o", "RUN", "--json"], folder)
        result = json.loads(text)
        processor = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"adapt:   {seconds:.0f} s ({processor.ru_utime + processor.ru_stime:.0f} s of processor time)")
        print(f"         {result['data']['n_target']:,} rows predicted; {result['kept_reason']}")
        for sentence in result["sampled"]:
            print(f"         {sentence}")
        seconds, _ = timed(["predict", "RUN", "big.parquet", "-o", "all.parquet"], folder)
        print(f"predict: {seconds:.0f} s for all {options.rows:,} rows")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        print(f"peak memory: {peak:.2f} GiB")


if __name__ == "__main__":
    main()
