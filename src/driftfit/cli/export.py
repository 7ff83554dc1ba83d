"""`driftfit export`: the kept model as one file for other programs."""

from __future__ import annotations

import argparse
from pathlib import Path

from driftfit.cli.parsing import Fail, need_tables

HELP = "Export the model of a run, preprocessing included."


def declare(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder that driftfit adapt wrote")
    parser.add_argument(
        "--to", required=True, choices=("skops", "onnx"), help="skops: a scikit-learn pipeline; onnx: for ONNX Runtime"
    )
    parser.add_argument("--out", "-o", type=Path, help="file to write [RUN/export.skops or RUN/export.onnx]")


def run(chosen: argparse.Namespace, fail: Fail) -> int:
    """Export and write."""
    need_tables("export")
    from driftfit.app import load_run
    from driftfit.app.export import read_by, to_onnx, to_skops
    from driftfit.app.folder import check_free, put_file
    from driftfit.files import write_bytes

    if chosen.out is not None:
        check_free(chosen.out)
    predictor = load_run(chosen.run).predictor
    data = to_onnx(predictor) if chosen.to == "onnx" else to_skops(predictor)
    path = chosen.out or put_file(chosen.run, f"export.{chosen.to}", data)
    if chosen.out is not None:
        write_bytes(path, data)
    print(path)
    if chosen.to == "skops":
        print(f"to read it: import skops.io; {read_by(data, path)}")
    return 0
