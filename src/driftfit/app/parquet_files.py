"""Parquet files one after the other, read in batches of rows; frames written one below the other."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.app.read import BATCH_ROWS, FileInfo, check_names, check_same_names, first_line, hash_file
from driftfit.errors import InputError
from driftfit.files import cannot_write

# Tables with more rows are read in parts: whole columns of them would fill the memory.
IN_MEMORY_ROWS = 2_000_000
# Rows of a part, where a single column is read.
_PART_ROWS = 1 << 20


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """Parquet files one after the other, read in batches of rows and only the columns asked for."""

    paths: tuple[Path, ...]
    names: list[str]
    files: tuple[FileInfo, ...]
    image_shape: tuple[int, int] | None = None
    guessed: bool = False
    # A temporary folder that is to live as long as the table.
    keeps: Any = None

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
            fields = [field for part in parts for field in part.schema]
            zoned = {own.name for own in fields if pa.types.is_timestamp(own.type) and own.type.tz is not None}
            if any(part.schema != parts[0].schema for part in parts):
                # Times of any zone, or of none, are the same times of UTC.
                in_utc = {own.name: pa.timestamp(own.type.unit, "UTC") for own in fields if own.name in zoned}
                parts = [_cast(part, lambda own: in_utc.get(own.name)) for part in parts]
            whole = pa.concat_tables(parts, promote_options="permissive")
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"the Parquet files cannot be read together ({first_line(error)})") from None
        _check_categories(whole)
        return to_pandas(whole)

    def streams(self, name: str, *, ordered: bool = False) -> bool:
        import pyarrow as pa

        if self.n_rows <= IN_MEMORY_ROWS:
            return False
        types = {self.schema_of(path).field(name).type for path in self.paths}
        if len(types) > 1:
            return False
        kind = types.pop()
        simple = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
        if ordered:
            return bool(simple or pa.types.is_timestamp(kind) or pa.types.is_date(kind))
        return bool(simple or pa.types.is_string(kind) or pa.types.is_large_string(kind))

    def parts(self, name: str) -> Iterator[pd.Series]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        for path in self.paths:
            try:
                with pq.ParquetFile(path) as file:
                    for batch in file.iter_batches(batch_size=_PART_ROWS, columns=[name]):
                        yield to_pandas(pa.Table.from_batches([batch]))[name]
            except (pa.ArrowException, OSError) as error:
                raise InputError(f"{str(path)!r} cannot be read ({first_line(error)})") from None

    def schema_of(self, path: Path) -> Any:
        """Names and types of a file's columns."""
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            return file.schema_arrow

    def spans(self) -> list[int]:
        import pyarrow.parquet as pq

        found = [0]
        for path in self.paths:
            with pq.ParquetFile(path) as file:
                for group in range(file.num_row_groups):
                    found.append(found[-1] + file.metadata.row_group(group).num_rows)
        return found

    def batches(self, rows: NDArray[np.int64] | None, names: Sequence[str]) -> Iterator[tuple[NDArray[np.int64], Any]]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        start = 0
        for path in self.paths:
            try:
                with pq.ParquetFile(path) as file:
                    for group in range(file.num_row_groups):
                        end = start + file.metadata.row_group(group).num_rows
                        own = None if rows is None else rows[slice(*np.searchsorted(rows, [start, end]))]
                        # Row groups without a row that is asked for are not read at all.
                        if own is None or len(own):
                            parts = file.iter_batches(BATCH_ROWS, row_groups=[group], columns=list(names))
                            yield from _taken(parts, start, own, list(names))
                        start = end
            except (pa.ArrowException, OSError) as error:
                raise InputError(f"{str(path)!r} cannot be read ({first_line(error)})") from None


def _taken(
    parts: Iterator[Any], start: int, rows: NDArray[np.int64] | None, names: list[str]
) -> Iterator[tuple[NDArray[np.int64], pd.DataFrame]]:
    """The rows that are asked for out of batches that begin at one, with their numbers."""
    import pyarrow as pa

    for batch in parts:
        table = pa.Table.from_batches([batch])
        own = np.arange(start, start + len(batch))
        if rows is not None:
            own = rows[slice(*np.searchsorted(rows, [start, start + len(batch)]))]
        if len(own):
            table = table if len(own) == len(batch) else _cast(table, _viewed).take(pa.array(own - start))
            yield own, to_pandas(table)[names]
        start += len(batch)


def _cast(table: Any, other: Callable[[Any], Any]) -> Any:
    """A table with other types, where ``other`` gives one for a column."""
    import pyarrow as pa

    return table.cast(pa.schema([own.with_type(other(own) or own.type) for own in table.schema]))


def _viewed(field: Any) -> Any:
    """Words that pyarrow cannot take rows of as words that it can."""
    import pyarrow as pa

    return pa.large_string() if str(field.type) == "string_view" else None


def open_parquet(paths: tuple[Path, ...]) -> ParquetTable:
    """Parquet files with the same columns, one after the other."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = []
    names: list[str] = []
    types: dict[str, tuple[str, Path]] = {}
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                schema = file.schema_arrow
                own = list(schema.names)
                rows = file.metadata.num_rows
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InputError(f"{str(path)!r} is not a Parquet table ({first_line(error)})") from None
        check_names(own, repr(str(path)))
        names = names or own
        check_same_names(names, own, paths[0], path)
        for name, kind in zip(own, schema.types, strict=True):
            word = _held(kind)
            known, where = types.setdefault(name, (word, path)) if word != "nothing" else (word, path)
            if known != word:
                raise InputError(
                    f"column {name!r} holds {known} in {where.name} and {word} in {path.name}; write one type"
                )
        files.append(FileInfo(path.name, hash_file(path), rows))
    return ParquetTable(paths, [name for name in names if not name.startswith("__index_level_")], tuple(files))


def _held(kind: Any) -> str:
    """What a type of pyarrow holds; columns of numbers may be whole in one file and not in another."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    known = {
        "nothing": pa.types.is_null,
        "true and false": pa.types.is_boolean,
        "dates": lambda own: pa.types.is_timestamp(own) or pa.types.is_date(own),
        "words": lambda own: str(own) in ("string", "large_string", "string_view"),
        "numbers": lambda own: pa.types.is_integer(own) or pa.types.is_floating(own) or pa.types.is_decimal(own),
    }
    return next((word for word, fits in known.items() if fits(kind)), str(kind))


def to_pandas(table: Any) -> pd.DataFrame:
    """A table of pyarrow with every digit of its whole numbers, rows numbered by their place."""
    import pyarrow as pa

    try:
        # The pandas metadata may name an index; rows are numbered by their place here.
        plain = table.replace_schema_metadata(None)
        frame = plain.to_pandas(date_as_object=False, timestamp_as_object=False)
        for number, field in enumerate(plain.schema):
            if pa.types.is_integer(field.type) and frame.iloc[:, number].dtype.kind == "f":
                frame[field.name] = _exact(plain.column(number), frame.index)
    except (pa.ArrowException, ValueError, OverflowError, NotImplementedError) as error:
        raise InputError(f"the Parquet table holds values that cannot be used ({first_line(error)})") from None
    assert isinstance(frame, pd.DataFrame)
    return frame


def _exact(column: Any, index: Any) -> pd.Series:
    """A column of whole numbers beside gaps, with every digit."""
    import pyarrow as pa

    column = column.combine_chunks()
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    values = column.fill_null(0).to_numpy(zero_copy_only=False)
    wide = values.dtype.kind == "u" and len(values) > 0 and int(values.max()) >= 2**63
    gaps = column.is_null().to_numpy(zero_copy_only=False)
    return pd.Series(pd.arrays.IntegerArray(values.astype(np.uint64 if wide else np.int64), gaps), index=index)


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
