"""Tables from files: CSV, Parquet, several of either, a folder of images, or a data frame that is already there.

A `Table` never has to be in memory as a whole: label and order are read as columns, everything else as batches of rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradapt.errors import InputError

__all__ = [
    "FileInfo",
    "FrameTable",
    "ParquetTable",
    "Table",
    "check_names",
    "check_same_names",
    "exact_integers",
    "first_line",
    "hash_file",
    "open_table",
    "table_of",
]

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

    @property
    def guessed(self) -> bool:
        """Whether the types of columns were guessed from the text of all rows, as for CSV."""
        ...

    def features(self, *used: str) -> list[str]:
        """The columns that may be features beside label and order."""
        ...

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
    guessed: bool = False
    image_shape: tuple[int, int] | None = None

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.frame.columns]

    @property
    def n_rows(self) -> int:
        return len(self.frame)

    def features(self, *used: str) -> list[str]:
        return [name for name in self.names if name not in used]

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
    guessed: bool = False

    @property
    def n_rows(self) -> int:
        return sum(file.rows for file in self.files)

    def features(self, *used: str) -> list[str]:
        return [name for name in self.names if name not in used]

    def columns(self, names: Sequence[str]) -> pd.DataFrame:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            parts = [pq.read_table(path, columns=list(names)) for path in self.paths]
            whole = pa.concat_tables(parts, promote_options="permissive")
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"the Parquet files cannot be read together ({first_line(error)})") from None
        _check_categories(whole)
        return _to_pandas(whole)

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
                raise InputError(f"{str(path)!r} cannot be read ({first_line(error)})") from None


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
        if not path.is_dir() and not path.is_file():
            # Whoever opens a pipe waits for a writer who may never come.
            raise InputError(f"{str(path)!r} is a pipe or a device; write the table to a file first")
    if len(paths) == 1 and paths[0].is_dir():
        from gradapt.tables.images import open_images

        return open_images(paths[0])
    kinds = {_kind(path) for path in paths}
    if len(kinds) > 1:
        raise InputError("several files must all be CSV or all be Parquet; convert one kind to the other")
    if kinds == {"parquet"}:
        return _open_parquet(tuple(paths))
    from gradapt.tables.csv_file import open_csv

    return open_csv(tuple(paths))


def table_of(frame: Any) -> FrameTable:
    """A data frame (pandas, polars, pyarrow) as a table.

    >>> table_of(pd.DataFrame({"x": [1.0, 2.0]})).n_rows
    2
    """
    import narwhals.stable.v1 as nw

    wrapped = nw.from_native(frame, eager_only=True, pass_through=True)
    if not isinstance(wrapped, nw.DataFrame):
        raise InputError(f"table must be a data frame, got {type(frame).__name__}; pandas.DataFrame(...) makes one")
    check_names([str(name) for name in wrapped.columns], "the data frame")
    known = wrapped.to_pandas().reset_index(drop=True)
    for name in wrapped.columns:
        # pandas makes floats of whole numbers beside gaps, and floats end at 2**53.
        series = wrapped.get_column(name)
        if series.dtype.is_integer() and known[name].dtype.kind == "f":
            known[name] = exact_integers(series.to_list(), known.index)
    known.columns = pd.Index([str(name) for name in known.columns])
    return FrameTable(known, (FileInfo("data frame", _hash_frame(known), len(known)),))


def hash_file(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
            raise InputError(f"{str(path)!r} is not a Parquet table ({first_line(error)})") from None
        check_names(own, repr(str(path)))
        names = names or own
        check_same_names(names, own, paths[0], path)
        files.append(FileInfo(path.name, hash_file(path), rows))
    return ParquetTable(paths, [name for name in names if not name.startswith("__index_level_")], tuple(files))


def exact_integers(values: Sequence[Any], index: Any = None) -> pd.Series:
    """Whole numbers and None as a column with gaps that keeps every digit."""
    known = [value for value in values if value is not None]
    dtype = "UInt64" if known and max(known) >= 2**63 else "Int64"
    return pd.Series(values, index=index, dtype=dtype)


def _to_pandas(table: Any) -> pd.DataFrame:
    import pyarrow as pa

    try:
        # The pandas metadata may name an index; rows are numbered by their place here.
        plain = table.replace_schema_metadata(None)
        frame = plain.to_pandas(date_as_object=False, timestamp_as_object=False)
        for number, field in enumerate(plain.schema):
            if pa.types.is_integer(field.type) and frame.iloc[:, number].dtype.kind == "f":
                frame[field.name] = exact_integers(plain.column(number).to_pylist(), frame.index)
    except (pa.ArrowException, ValueError, OverflowError, NotImplementedError) as error:
        raise InputError(f"the Parquet table holds values that cannot be used ({first_line(error)})") from None
    assert isinstance(frame, pd.DataFrame)
    return frame


def _check_categories(table: Any) -> None:
    """Raise where ordered categories differ between files: joined, they would be in no order at all."""
    import pyarrow as pa

    for field, column in zip(table.schema, table.columns, strict=True):
        if pa.types.is_dictionary(field.type) and field.type.ordered:
            found = {tuple(chunk.dictionary.to_pylist()) for chunk in column.chunks}
            if len(found) > 1:
                raise InputError(
                    f"the ordered categories of column {field.name!r} differ between files or parts of a file; "
                    "give all of them the same categories"
                )


def _kind(path: Path) -> str:
    name = path.name.lower()
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; give one folder of images, or files")
    if name.endswith(_PARQUET):
        return "parquet"
    if name.endswith(_CSV):
        return "csv"
    raise InputError(f"{str(path)!r} is neither .csv nor .parquet; rename or convert it")


def check_names(names: list[str], who: str) -> None:
    """Raise where two columns have one name."""
    repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if repeated:
        raise InputError(f"{who} has several columns named {repeated[0]!r}; give every column its own name")


def check_same_names(first: list[str], other: list[str], first_path: Path, other_path: Path) -> None:
    """Raise unless two files have the same columns."""
    if set(first) != set(other):
        differing = sorted(set(first) ^ set(other), key=str)[0]
        raise InputError(f"{first_path.name} and {other_path.name} differ in column {differing!r}; give both the same")


def _hash_frame(frame: pd.DataFrame) -> str:
    """A hash of the values; equal frames have equal hashes."""
    digest = hashlib.sha256()
    for name in frame.columns:
        try:
            values = np.asarray(pd.util.hash_pandas_object(frame[name], index=False))
        except (
            TypeError,
            ValueError,
        ):  # lists and dictionaries have no hash of their own, nor have bytes beside numbers
            values = np.asarray(pd.util.hash_pandas_object(frame[name].map(repr), index=False))
        digest.update(str(name).encode())
        digest.update(values.tobytes())
    return digest.hexdigest()


def first_line(error: BaseException) -> str:
    """What an error says, short enough to stand in brackets."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
