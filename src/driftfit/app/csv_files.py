"""CSV files, whose types are guessed: what the guess would lose is read again as text.

Those that are too large to be held are read once, a block at a time, into Parquet files of a temporary folder.
"""

from __future__ import annotations

import csv
import gzip
import io
import logging
import re
import shutil
import tempfile
import weakref
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from driftfit.app.parquet_files import ParquetTable
from driftfit.app.read import FileInfo, FrameTable, broken_csv, check_names, check_same_names, exact_integers, hash_file
from driftfit.app.windows import exact_number
from driftfit.errors import InputError
from driftfit.files import cannot_write

__all__ = ["MOST_HELD", "open_csv", "read_csv", "without_formulas"]

# Text that is unpacked to more than this and to so many times its size is no table: gzip packs at most 1,032 times.
_MOST_UNPACKED = 256 * 2**20
_MOST_TIMES = 200
# Bytes of text that are held in memory, and how many times its size a packed file is taken to have.
MOST_HELD, _PACKED = 2**30, 4
# Beyond this floats no longer tell neighbouring whole numbers apart.
_EXACT = 2.0**53
# Words for a missing value.
_GAPS = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None")
_BROKEN = (ValueError, OSError, EOFError, zlib.error, pd.errors.ParserError, MemoryError, OverflowError)


def open_csv(paths: tuple[Path, ...]) -> FrameTable | ParquetTable:
    """CSV files with the same columns, one after the other; large ones are not held in memory."""
    if sum(path.stat().st_size * (_PACKED if path.name.endswith(".gz") else 1) for path in paths) > MOST_HELD:
        separators = {_separator(path) for path in paths}
        if len(separators) > 1:
            raise InputError("large CSV files must have one separator; commas, semicolons or tabs in all of them")
        return _open_large(paths, separators.pop())
    frames = [read_csv(path) for path in paths]
    for path, frame in zip(paths, frames, strict=True):
        check_same_names(list(frames[0].columns), list(frame.columns), paths[0], path)
    files = tuple(FileInfo(p.name, hash_file(p), len(f)) for p, f in zip(paths, frames, strict=True))
    return FrameTable(frames[0] if len(frames) == 1 else _joined(frames), files, guessed=True)


def read_csv(path: Path) -> pd.DataFrame:
    """A CSV file with a header; commas, semicolons or tabs."""
    separator = _separator(path)
    try:
        with _opened(path) as text:
            frame = pd.read_csv(text, sep=separator, low_memory=False)
        if isinstance(frame.index, pd.RangeIndex):
            frame = _with_all_digits(frame, path, separator)
    except InputError:
        raise
    except _BROKEN as error:
        raise broken_csv(path, error) from None
    if not isinstance(frame.index, pd.RangeIndex):
        raise InputError(f"{str(path)!r} has rows with more values than the header has names; name every column")
    frame.columns = pd.Index([str(name) for name in frame.columns])
    return frame


def without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Words that a spreadsheet would run get an apostrophe in front; numbers, also written as text, stay.

    >>> without_formulas(pd.DataFrame({"prediction": ["=1+1", "-2", "a"]}))["prediction"].tolist()
    ["'=1+1", '-2', 'a']
    """

    def safe(value: Any) -> Any:
        risky = isinstance(value, str) and value.lstrip()[:1] in ("=", "+", "-", "@") and exact_number(value) is None
        return f"'{value}" if risky or (isinstance(value, str) and value[:1] in ("\t", "\r")) else value

    words = [name for name in frame.columns if frame[name].dtype.kind == "O"]
    return frame.assign(**{name: frame[name].map(safe) for name in words})


def _with_all_digits(frame: pd.DataFrame, path: Path, separator: str) -> pd.DataFrame:
    """Large whole numbers beside gaps, which became floats or text with the gaps in it, read again."""
    suspects = [name for name in frame.columns if frame[name].dtype.kind == "f" and _large_and_whole(frame[name])]
    suspects += [name for name in frame.columns if frame[name].dtype.kind == "O" and frame[name].isin(_GAPS).any()]
    if not suspects:
        return frame
    with _opened(path) as text:
        again = pd.read_csv(text, sep=separator, usecols=suspects, dtype=str)
    for name in suspects:
        words = again[name].str.strip()
        frame[name] = again[name] if frame[name].dtype.kind == "O" else frame[name]
        if words.dropna().str.fullmatch(r"[+-]?[0-9]{1,20}").all():
            numbers = [None if pd.isna(word) else int(word) for word in words]
            known = [number for number in numbers if number is not None]
            if min(known) >= (0 if max(known) >= 2**63 else -(2**63)) and max(known) < 2**64:
                frame[name] = exact_integers(numbers)
    return frame


def _large_and_whole(values: pd.Series) -> bool:
    known = values.to_numpy(np.float64)
    known = known[np.isfinite(known)]
    return bool(len(known)) and bool(np.abs(known).max() >= _EXACT) and bool((known == np.round(known)).all())


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """One below the other; large whole numbers do not become floats because another file has gaps."""
    first = frames[0]
    for name in first.columns:
        kinds = {frame[name].dtype.kind for frame in frames}
        if "f" in kinds and kinds & {"i", "u"}:
            whole = [frame[name] for frame in frames if frame[name].dtype.kind in "iu"]
            if any(len(part) and max(abs(int(part.max())), abs(int(part.min()))) >= _EXACT for part in whole):
                frames = [frame.assign(**{name: frame[name].astype(object)}) for frame in frames]
    return pd.concat(frames, ignore_index=True)


def _separator(path: Path) -> str:
    """The separator that splits the header; checks the header on the way."""
    try:
        with _opened(path) as text:
            header = text.readline(10_000_000).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, EOFError, zlib.error) as error:
        raise broken_csv(path, error) from None
    if not header.strip():
        raise InputError(f"{str(path)!r} has no header line; the first line must name the columns")
    if "\x00" in header:
        raise InputError(f"{str(path)!r} holds binary data, not text; is it a CSV file?")
    separator = max(",;\t", key=header.count)
    try:
        names = next(csv.reader([header], delimiter=separator))
    except csv.Error as error:
        raise InputError(f"the header of {str(path)!r} cannot be read ({error})") from None
    check_names(names, repr(str(path)))
    return separator


def _opened(path: Path) -> IO[bytes]:
    if not path.name.lower().endswith(".gz"):
        return path.open("rb")
    most = max(_MOST_UNPACKED, _MOST_TIMES * path.stat().st_size)
    return io.BufferedReader(_Unpacked(path, most))


class _Unpacked(io.RawIOBase):
    """What a gzip file holds, up to a limit."""

    def __init__(self, path: Path, most: int) -> None:
        super().__init__()
        self._name, self._left = str(path), most
        self._file = gzip.open(path, "rb")  # noqa: SIM115 - closed with this object

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._file.read(len(buffer))
        self._left -= len(part)
        if self._left < 0:
            raise InputError(f"{self._name!r} unpacks to far more than a table would; unpack it by hand if it is one")
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._file.close()
        super().close()


_LOG = logging.getLogger("driftfit")
_BLOCK = 16 * 2**20
# Guessed from the first block; where a later value does not fit, the next type is tried, text in the end.
_WIDER = {"null": "int64", "int64": "double"}
_ALIASES = ("int64", "double", "bool", "string")


def _open_large(paths: tuple[Path, ...], separator: str) -> ParquetTable:
    """CSV files with the same columns as a table that is read in parts."""
    folder = _Folder()
    _LOG.warning("driftfit: %s is large; it is read through the temporary folder %s", paths[0].name, folder.place)
    types: dict[str, Any] = {}
    found: list[tuple[int, Any]] = []
    while len(found) < len(paths):
        try:
            found = []
            for number, path in enumerate(paths):
                found.append(_converted(path, separator, folder.place / f"{number:05}.parquet", types))
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


def _converted(path: Path, separator: str, target: Path, types: dict[str, Any]) -> tuple[int, Any]:
    """Write a CSV file as Parquet; its rows, and the names and types of its columns."""
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    read = pc.ReadOptions(block_size=_BLOCK)
    parse = pc.ParseOptions(delimiter=separator, newlines_in_values=True)
    convert = pc.ConvertOptions(column_types=types, null_values=list(_GAPS), strings_can_be_null=True)
    try:
        with _opened(path) as text, pc.open_csv(text, read, parse, convert) as reader:
            known = reader.schema
            with pq.ParquetWriter(target, known) as writer:
                rows = 0
                for batch in reader:
                    writer.write_batch(batch)
                    rows += len(batch)
    except pa.ArrowInvalid as error:
        found = re.search(r"In CSV column #(\d+): .*conversion error to (\S+?):", str(error))
        names = _header(path, separator)
        if found is None or int(found[1]) >= len(names) or types.get(names[int(found[1])]) == pa.string():
            raise broken_csv(path, error) from None
        raise _DoesNotFitError(names[int(found[1])], pa.type_for_alias(_WIDER.get(found[2], "string"))) from None
    except (pa.ArrowException, EOFError, UnicodeDecodeError) as error:
        raise broken_csv(path, error) from None
    return rows, known


def _header(path: Path, separator: str) -> list[str]:
    with _opened(path) as text:
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
