"""`gradapt export`: the kept model as one file for other programs."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["export"]


class Format(Enum):
    """File formats of exported models."""

    SKOPS = "skops"
    ONNX = "onnx"


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder that gradapt adapt wrote.")],
    to: Annotated[Format, typer.Option("--to", help="skops: a scikit-learn pipeline; onnx: for ONNX Runtime.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write. [RUN/export.skops or RUN/export.onnx]")
    ] = None,
) -> None:
    """Export the model of a run, preprocessing included."""
    from gradapt.files import atomic_path
    from gradapt.tables import load_run
    from gradapt.tables.export import to_onnx, to_skops

    predictor = load_run(run).predictor
    data = to_onnx(predictor) if to is Format.ONNX else to_skops(predictor)
    target = out or run / f"export.{to.value}"
    with atomic_path(target) as path:
        path.write_bytes(data)
    print(target)
