"""Tables from files: CSV, Parquet, several of either, a folder of images, or a data frame that is already there.

A `Table` never has to be in memory as a whole: label and order are read as columns, everything else as batches of rows.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradapt.errors import InputError

__all__ = ["FileInfo", "FrameTable", "ParquetTable", "Table", "open_table", "table_of"]

_BATCH_ROWS = 65_536
_PARQUET = (".parquet", ".pq")
_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt")


@dataclass(frozen=True)
class FileInfo:
    """A file that a table was read from, with the hash of its bytes and its number of rows."""

    name: str
    sha256: str
    rows: int


class Table(Protocol):
    """Rows and named columns, read on demand."""

    @property
    def names(self) -> list[str]: ...

    @property
    def files(self) -> tuple[FileInfo, ...]: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def image_shape(self) -> tuple[int, int] | None: ...

    def columns(self, names: Sequence[str]) -> pd.DataFrame:
        """Some columns of every row."""
        ...

    def batches(self, rows: NDArray[np.int64], names: Sequence[str]) -> Iterator[tuple[NDArray[np.int64], Any]]:
        """Frames with the given rows (ascending) and columns, a batch at a time, each with its row numbers."""
        ...


@dataclass(frozen=True, eq=False)
class FrameTable:
    """A table that is in memory."""

    frame: pd.DataFrame
    files: tuple[FileInfo, ...]
    image_shape: tuple[int, int] | None = None

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.frame.columns]

    @property
    def n_rows(self) -> int:
        return len(self.frame)

    def columns(self, names: Sequence[str]) -> pd.DataFrame:
        return self.frame[list(names)]

    def batches(self, rows: NDArray[np.int64], names: Sequence[str]) -> Iterator[tuple[NDArray[np.int64], Any]]:
        for start in range(0, len(rows), _BATCH_ROWS):
            part = rows[start : start + _BATCH_ROWS]
            yield part, self.frame[list(names)].iloc[part]


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """Parquet files one after the other, read in batches of rows and only the columns asked for."""

    paths: tuple[Path, ...]
    names: list[str]
    files: tuple[FileInfo, ...]
    image_shape: tuple[int, int] | None = None

    @property
    def n_rows(self) -> int:
        return sum(file.rows for file in self.files)

    def columns(self, names: Sequence[str]) -> pd.DataFrame:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            parts = [pq.read_table(path, columns=list(names)) for path in self.paths]
            return _to_pandas(pa.concat_tables(parts, promote_options="permissive"))
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"the Parquet files cannot be read together ({_first_line(error)})") from None

    def batches(self, rows: NDArray[np.int64], names: Sequence[str]) -> Iterator[tuple[NDArray[np.int64], Any]]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        start = 0
        for path in self.paths:
            try:
                with pq.ParquetFile(path) as file:
                    for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=list(names)):
                        low, high = np.searchsorted(rows, [start, start + len(batch)])
                        own = rows[low:high]
                        if len(own):
                            table = pa.Table.from_batches([batch]).take(pa.array(own - start))
                            yield own, _to_pandas(table)[list(names)]
                        start += len(batch)
            except (pa.ArrowException, OSError) as error:
                raise InputError(f"{str(path)!r} cannot be read ({_first_line(error)})") from None


def open_table(paths: Sequence[Path]) -> Table:
    """Open one or more files of the same kind, or a folder of images.

    Parameters
    ----------
    paths : sequence of Path
        CSV or Parquet files with the same columns, one after the other, or one folder of images with a CSV.
    """
    if not paths:
        raise InputError("no table given; name a CSV or Parquet file, or a folder of images")
    for path in paths:
        if not path.exists():
            raise InputError(f"there is no file {str(path)!r}")
    if len(paths) == 1 and paths[0].is_dir():
        from gradapt.tables.images import open_images

        return open_images(paths[0])
    kinds = {_kind(path) for path in paths}
    if len(kinds) > 1:
        raise InputError("several files must all be CSV or all be Parquet; convert one kind to the other")
    return _open_parquet(tuple(paths)) if kinds == {"parquet"} else _open_csv(tuple(paths))


def table_of(frame: Any) -> FrameTable:
    """A data frame (pandas, polars, pyarrow) as a table.

    >>> table_of(pd.DataFrame({"x": [1.0, 2.0]})).n_rows
    2
    """
    import narwhals.stable.v1 as nw

    wrapped = nw.from_native(frame, eager_only=True, pass_through=True)
    if not isinstance(wrapped, nw.DataFrame):
        raise InputError(f"table must be a data frame, got {type(frame).__name__}; pandas.DataFrame(...) makes one")
    _check_names([str(name) for name in wrapped.columns], "the data frame")
    known = wrapped.to_pandas().reset_index(drop=True)
    known.columns = pd.Index([str(name) for name in known.columns])
    return FrameTable(known, (FileInfo("data frame", _hash_frame(known), len(known)),))


def hash_file(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_csv(path: Path) -> pd.DataFrame:
    """A CSV file with a header; commas, semicolons or tabs."""
    separator = _separator(path)
    try:
        frame = pd.read_csv(path, sep=separator, low_memory=False)
    except (ValueError, OSError, pd.errors.ParserError, MemoryError, OverflowError) as error:
        raise InputError(f"{str(path)!r} is not a CSV table ({_first_line(error)})") from None
    if not isinstance(frame.index, pd.RangeIndex):
        raise InputError(f"{str(path)!r} has rows with more values than the header has names; name every column")
    frame.columns = pd.Index([str(name) for name in frame.columns])
    return frame


def _open_csv(paths: tuple[Path, ...]) -> FrameTable:
    frames = [read_csv(path) for path in paths]
    for path, frame in zip(paths, frames, strict=True):
        _check_same_names(list(frames[0].columns), list(frame.columns), paths[0], path)
    files = tuple(FileInfo(p.name, hash_file(p), len(f)) for p, f in zip(paths, frames, strict=True))
    return FrameTable(frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True), files)


def _open_parquet(paths: tuple[Path, ...]) -> ParquetTable:
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = []
    names: list[str] = []
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                own = list(file.schema_arrow.names)
                rows = file.metadata.num_rows
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InputError(f"{str(path)!r} is not a Parquet table ({_first_line(error)})") from None
        _check_names(own, repr(str(path)))
        names = names or own
        _check_same_names(names, own, paths[0], path)
        files.append(FileInfo(path.name, hash_file(path), rows))
    return ParquetTable(paths, [name for name in names if not name.startswith("__index_level_")], tuple(files))


def _to_pandas(table: Any) -> pd.DataFrame:
    import pyarrow as pa

    try:
        # The pandas metadata may name an index; rows are numbered by their place here.
        frame = table.replace_schema_metadata(None).to_pandas(date_as_object=False, timestamp_as_object=False)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise InputError(f"the Parquet table holds values that cannot be used ({_first_line(error)})") from None
    assert isinstance(frame, pd.DataFrame)
    return frame


def _kind(path: Path) -> str:
    name = path.name.lower()
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; give one folder of images, or files")
    if name.endswith(_PARQUET):
        return "parquet"
    if name.endswith(_CSV):
        return "csv"
    raise InputError(f"{str(path)!r} is neither .csv nor .parquet; rename or convert it")


def _separator(path: Path) -> str:
    """The separator that splits the header; checks the header on the way."""
    try:
        with path.open("rb") as raw:
            lines = gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw
            header = lines.readline(10_000_000).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, EOFError) as error:
        raise InputError(f"{str(path)!r} is not a CSV table in UTF-8 ({_first_line(error)})") from None
    if not header.strip():
        raise InputError(f"{str(path)!r} has no header line; the first line must name the columns")
    if "\x00" in header:
        raise InputError(f"{str(path)!r} holds binary data, not text; is it a CSV file?")
    separator = max(",;\t", key=header.count)
    try:
        names = next(csv.reader([header], delimiter=separator))
    except csv.Error as error:
        raise InputError(f"the header of {str(path)!r} cannot be read ({error})") from None
    _check_names(names, repr(str(path)))
    return separator


def _check_names(names: list[str], who: str) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if repeated:
        raise InputError(f"{who} has several columns named {repeated[0]!r}; give every column its own name")


def _check_same_names(first: list[str], other: list[str], first_path: Path, other_path: Path) -> None:
    if set(first) != set(other):
        differing = sorted(set(first) ^ set(other), key=str)[0]
        raise InputError(f"{first_path.name} and {other_path.name} differ in column {differing!r}; give both the same")


def _hash_frame(frame: pd.DataFrame) -> str:
    """A hash of the values; equal frames have equal hashes."""
    digest = hashlib.sha256()
    for name in frame.columns:
        try:
            values = np.asarray(pd.util.hash_pandas_object(frame[name], index=False))
        except TypeError:  # lists and dictionaries have no hash of their own
            values = np.asarray(pd.util.hash_pandas_object(frame[name].map(repr), index=False))
        digest.update(str(name).encode())
        digest.update(values.tobytes())
    return digest.hexdigest()


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
