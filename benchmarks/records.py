"""A file of results: what was measured, and the command, the seeds and the versions that it comes from."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from driftfit.files import write_json
from driftfit.lab.paper import provenance_of


def about(seeds: Iterable[int]) -> dict[str, Any]:
    """The command that runs now, its seeds, and the versions of what it uses."""
    settings = {"command": shlex.join(["python", *sys.argv]), "seeds": sorted(set(seeds))}
    return provenance_of(torch.device("cpu"), settings) | {"scikit-learn": version("scikit-learn")}


def write_record(target: Path, rows: list[dict[str, Any]], seeds: Iterable[int], **others: Any) -> None:
    """Write the rows of a measurement, with ``others`` beside them, as one JSON file."""
    write_json(target, about(seeds) | others | {"rows": rows})
