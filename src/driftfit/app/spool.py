"""Predictions of long tables: written to a temporary file as they are made, and read back a batch at a time."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import pandas as pd

from driftfit.app.parquet_files import IN_MEMORY_ROWS
from driftfit.files import cannot_write

__all__ = ["Spooled", "collected", "write_frames"]


class Spooled:
    """Frames one below the other in a temporary file, which ends with this object."""

    def __init__(self, frames: Iterable[pd.DataFrame]) -> None:
        self._file = tempfile.TemporaryFile(prefix="driftfit-")  # noqa: SIM115 - closed with this object
        weakref.finalize(self, self._file.close)
        try:
            self._rows = write_frames(frames, self._file, csv=False)
        except OSError as error:
            raise cannot_write(Path(tempfile.gettempdir()), error) from None

    def __len__(self) -> int:
        return self._rows

    def frames(self) -> Iterator[pd.DataFrame]:
        """The frames again, in batches."""
        import pyarrow.parquet as pq

        self._file.seek(0)
        for batch in pq.ParquetFile(self._file).iter_batches():
            yield batch.to_pandas()


def collected(frames: Iterable[pd.DataFrame], n_rows: int) -> pd.DataFrame | Spooled:
    """Frames as one, in memory where there are few rows."""
    if n_rows > IN_MEMORY_ROWS:
        return Spooled(frames)
    parts = list(frames)
    return parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)


def write_frames(frames: Iterable[pd.DataFrame], file: IO[bytes], *, csv: bool) -> int:
    """Write frames one below the other as CSV or Parquet, each as it comes; returns the number of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n_rows = 0
    writer: Any = None
    try:
        for frame in frames:
            if csv:
                frame.to_csv(file, index=False, header=n_rows == 0)
            else:
                schema = None if writer is None else writer.schema
                table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
                writer = writer or pq.ParquetWriter(file, table.schema)
                writer.write_table(table)
            n_rows += len(frame)
    finally:
        if writer is not None:
            writer.close()
    return n_rows
