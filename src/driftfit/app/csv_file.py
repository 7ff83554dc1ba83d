"""CSV files, whose types are guessed: what the guess would lose is read again as text."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from driftfit.app.large_csv import open_large_csv
from driftfit.app.parquet_files import ParquetTable
from driftfit.app.read import FileInfo, FrameTable, broken_csv, check_names, check_same_names, exact_integers, hash_file
from driftfit.app.windowing import exact_number
from driftfit.errors import InputError

__all__ = ["MOST_HELD", "open_csv", "read_csv", "without_formulas"]

# Text that is unpacked to more than this and to so many times its size is no table: gzip packs at most 1,032 times.
_MOST_UNPACKED = 256 * 2**20
_MOST_TIMES = 200
# Bytes of text that are held in memory, and how many times its size a packed file is taken to have.
MOST_HELD, _PACKED = 2**30, 4
# Beyond this floats no longer tell neighbouring whole numbers apart.
_EXACT = 2.0**53
# Words for a missing value. They are still there only in columns of whole numbers that 63 bits do not hold.
_GAPS = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None")
_BROKEN = (ValueError, OSError, EOFError, zlib.error, pd.errors.ParserError, MemoryError, OverflowError)


def open_csv(paths: tuple[Path, ...]) -> FrameTable | ParquetTable:
    """CSV files with the same columns, one after the other; large ones are not held in memory."""
    if sum(path.stat().st_size * (_PACKED if path.name.endswith(".gz") else 1) for path in paths) > MOST_HELD:
        separators = {_separator(path) for path in paths}
        if len(separators) > 1:
            raise InputError("large CSV files must have one separator; commas, semicolons or tabs in all of them")
        return open_large_csv(paths, _opened, separators.pop())
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
