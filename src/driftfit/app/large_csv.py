"""CSV files that are too large to be held: read once, a block at a time, into Parquet files of a temporary folder."""

from __future__ import annotations

import csv
import logging
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from driftfit.app.parquet_files import ParquetTable
from driftfit.app.read import FileInfo, broken_csv, check_same_names, hash_file
from driftfit.files import cannot_write

__all__ = ["open_large_csv"]

_LOG = logging.getLogger("driftfit")
_BLOCK = 16 * 2**20
# Guessed from the first block; where a later value does not fit, the next type is tried, text in the end.
_WIDER = {"null": "int64", "int64": "double"}
_ALIASES = ("int64", "double", "bool", "string")
_GAPS = ["", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None"]


def open_large_csv(paths: tuple[Path, ...], opened: Callable[[Path], IO[bytes]], separator: str) -> ParquetTable:
    """CSV files with the same columns as a table that is read in parts.

    Parameters
    ----------
    paths : tuple of Path
    opened : callable
        Opens a file, unpacked.
    separator : str
    """
    folder = _Folder()
    _LOG.warning("driftfit: %s is large; it is read through the temporary folder %s", paths[0].name, folder.place)
    types: dict[str, Any] = {}
    found: list[tuple[int, Any]] = []
    while len(found) < len(paths):
        try:
            found = []
            for number, path in enumerate(paths):
                found.append(_converted(path, opened, separator, folder.place / f"{number:05}.parquet", types))
                check_same_names(found[0][1].names, found[-1][1].names, paths[0], path)
                _check_types(found[0][1], found[-1][1])
        except _DoesNotFitError as error:
            found, types[error.column] = [], error.wider
        except OSError as error:
            raise cannot_write(folder.place, error) from None
    counts, names = [rows for rows, _ in found], list(found[0][1].names)
    files = tuple(FileInfo(path.name, hash_file(path), rows) for path, rows in zip(paths, counts, strict=True))
    parts = tuple(sorted(folder.place.iterdir()))
    return ParquetTable(parts, names, files, guessed=True, keeps=folder)


class _Folder:
    """A temporary folder that ends with this object, or with the process."""

    def __init__(self) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="driftfit-csv-"))
        weakref.finalize(self, shutil.rmtree, self.place, True)


class _DoesNotFitError(Exception):
    """A value that the type of its column does not hold."""

    def __init__(self, column: str, wider: Any) -> None:
        super().__init__(column)
        self.column, self.wider = column, wider


def _converted(
    path: Path, opened: Callable[[Path], IO[bytes]], separator: str, target: Path, types: dict[str, Any]
) -> tuple[int, Any]:
    """Write a CSV file as Parquet; its rows, and the names and types of its columns."""
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    read = pc.ReadOptions(block_size=_BLOCK)
    parse = pc.ParseOptions(delimiter=separator, newlines_in_values=True)
    convert = pc.ConvertOptions(column_types=types, null_values=_GAPS, strings_can_be_null=True)
    try:
        with opened(path) as text, pc.open_csv(text, read, parse, convert) as reader:
            known = reader.schema
            with pq.ParquetWriter(target, known) as writer:
                rows = 0
                for batch in reader:
                    writer.write_batch(batch)
                    rows += len(batch)
    except pa.ArrowInvalid as error:
        found = re.search(r"In CSV column #(\d+): .*conversion error to (\S+?):", str(error))
        names = _header(opened(path), separator)
        if found is None or int(found[1]) >= len(names) or types.get(names[int(found[1])]) == pa.string():
            raise broken_csv(path, error) from None
        raise _DoesNotFitError(names[int(found[1])], pa.type_for_alias(_WIDER.get(found[2], "string"))) from None
    except (pa.ArrowException, EOFError, UnicodeDecodeError) as error:
        raise broken_csv(path, error) from None
    return rows, known


def _header(text: IO[bytes], separator: str) -> list[str]:
    with text:
        return next(csv.reader([text.readline().decode("utf-8-sig")], delimiter=separator))


def _check_types(first: Any, other: Any) -> None:
    """Raise where the type of a column differs between files."""
    import pyarrow as pa

    for name in first.names:
        words = {str(first.field(name).type), str(other.field(name).type)}
        if len(words) > 1:
            known = words - {"null"}
            wider = known.pop() if len(known) == 1 else "double" if known == {"int64", "double"} else "string"
            raise _DoesNotFitError(name, pa.type_for_alias(wider) if wider in _ALIASES else pa.string())
