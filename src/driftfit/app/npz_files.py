"""Arrays of an `.npz` file as a table, such as embeddings with their labels and times."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from driftfit.app.read import FileInfo, FrameTable, first_line, hash_file
from driftfit.errors import InputError


def open_npz(path: Path) -> FrameTable:
    """The arrays of an ``.npz`` file, all with one entry for each row; of two axes they are columns of vectors."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {str(name): file[name] for name in file.files}
    except Exception as error:
        # A damaged archive raises whatever comes to it; arrays of objects would have to be unpickled.
        raise InputError(f"{str(path)!r} is no .npz file of plain arrays ({first_line(error)})") from None
    lengths = {len(values) if values.ndim else 0 for values in arrays.values()}
    if len(lengths) != 1 or any(values.ndim > 2 for values in arrays.values()):
        shapes = ", ".join(f"{name} {values.shape}" for name, values in arrays.items())
        raise InputError(f"the arrays of {path.name} must have one entry or one vector for each row, got {shapes}")
    frame = pd.DataFrame({name: list(values) if values.ndim == 2 else values for name, values in arrays.items()})
    return FrameTable(frame, (FileInfo(path.name, hash_file(path), len(frame)),))
