"""CSV files as Parquet would hold them: one type for each column, found in all files before any of them is used.

A value is text until its column is known. Files that are too large to be held go, a block at a time, into Parquet files
of a temporary folder.
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
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pandas as pd

from driftfit.app.parquet_files import ParquetTable, to_pandas
from driftfit.app.read import FileInfo, FrameTable, broken_csv, check_names, check_same_names, hash_file
from driftfit.app.windows import TRUTH, exact_number
from driftfit.domains.words import GROUPED, MONTH_YEAR
from driftfit.errors import InputError
from driftfit.files import cannot_write

# Text that is unpacked to more than this and to so many times its size is no table: gzip packs at most 1,032 times.
_MOST_UNPACKED = 256 * 2**20
_MOST_TIMES = 200
# Bytes of text that are held in memory, and how many times its size a packed file is taken to have.
MOST_HELD, _PACKED = 2**30, 4
_BLOCK = 16 * 2**20
_LONGEST_HEADER, _LOOKED_AT = 10_000_000, 2**16
# Beyond this floats no longer tell neighbouring whole numbers apart.
_EXACT = 2**53
# Words for a missing value; among words only those that are not quoted.
_GAPS = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None")
# A zero in front belongs to a code: it says nothing in a number, and would be lost in one.
_CODE, _WHOLE = "^[+-]?0[0-9xX]", "^[+-]?[0-9]+$"
# What other files begin with that are named like text.
_PACKINGS = {b"\x1f\x8b": "packed by gzip; name it .csv.gz", b"PK\x03\x04": "a workbook or a ZIP file; save it as CSV"}
_LOG = logging.getLogger("driftfit")


def open_csv(paths: tuple[Path, ...], texts: Collection[str] = ()) -> FrameTable | ParquetTable:
    """CSV files with the same columns, one after the other; large ones are not held in memory.

    ``texts`` names columns that hold words, whatever they look like in these files.
    """
    sources = tuple(_source(path) for path in paths)
    for source in sources:
        check_same_names(sources[0].names, source.names, paths[0], source.path)
    types = _types(sources, frozenset(texts))
    if sum(path.stat().st_size * (_PACKED if path.name.endswith(".gz") else 1) for path in paths) > MOST_HELD:
        return _through_parquet(sources, types)
    frames = [_frame(source, types) for source in sources]
    files = tuple(FileInfo(p.name, hash_file(p), len(f)) for p, f in zip(paths, frames, strict=True))
    return FrameTable(frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True), files, guessed=True)


def read_csv(path: Path) -> pd.DataFrame:
    """A CSV file with a header; commas, semicolons or tabs."""
    source = _source(path)
    return _frame(source, _types((source,), frozenset()))


def without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Words that a spreadsheet would run get an apostrophe in front, names of columns too; numbers stay.

    >>> safe = without_formulas(pd.DataFrame({"=a": ["=1+1", "-2", "a"]}))
    >>> safe.columns.tolist(), safe["'=a"].tolist()
    (["'=a"], ["'=1+1", '-2', 'a'])
    """
    words = [name for name in frame.columns if frame[name].dtype.kind == "O"]
    safe = frame.assign(**{name: frame[name].map(_without_formula) for name in words})
    return safe.rename(columns=_without_formula)


def _without_formula(value: Any) -> Any:
    risky = isinstance(value, str) and value.lstrip()[:1] in ("=", "+", "-", "@") and exact_number(value) is None
    return f"'{value}" if risky or (isinstance(value, str) and value[:1] in ("\t", "\r")) else value


def as_it_was(word: str) -> str:
    """A word without the apostrophe that `without_formulas` put in front.

    >>> as_it_was("'=1+1"), as_it_was("'tis")
    ('=1+1', "'tis")
    """
    return word[1:] if word[:1] == "'" and _without_formula(word[1:]) == word else word


@dataclass(frozen=True)
class _Source:
    """A file, how its fields are separated, and what its header names."""

    path: Path
    separator: str
    names: list[str]


@dataclass(eq=False)
class _Column:
    """What the values of a column are, as far as they were seen."""

    kinds: set[str] = field(default_factory=set)
    low: int = 0  # of whole numbers
    high: int = 0

    def type(self) -> Any:
        """The narrowest type that holds every value as it is written."""
        import pyarrow as pa

        large = max(-self.low, self.high) > _EXACT
        if not self.kinds:
            return pa.float64()
        if self.kinds == {"truth"}:
            return pa.bool_()
        if self.kinds == {"whole"} and self.high < 2**63:
            return pa.int64()
        if self.kinds == {"whole"} and self.low >= 0:
            return pa.uint64()
        thousands = self.kinds == {"whole", "grouped"} and max(-self.low, self.high) < 1000
        numbers = self.kinds <= {"whole", "number", "grouped"} and not large and not thousands
        return pa.float64() if numbers else pa.string()

    def add(self, words: Any) -> None:
        """Look at more values."""
        import pyarrow as pa
        import pyarrow.compute as pc

        numbers = _as_numbers(words.drop_null())
        if numbers is None or (pa.types.is_floating(numbers.type) and pc.any(pc.is_nan(numbers)).as_py()):
            # Spaces and quoted gaps are looked for only where there may be some: most columns have none.
            words = _without_gaps(words)
            numbers = _as_numbers(words.drop_null())
        words = words.drop_null()
        if len(words) == 0:
            return
        if words[0].as_py().lower() in TRUTH:
            all_truth = pc.all(pc.is_in(pc.utf8_lower(words), pa.array(list(TRUTH)))).as_py()
            self.kinds.add("truth" if all_truth else "text")
            return
        if numbers is None or _fits(words, _CODE, pc.any):
            self.kinds.add("text")
        elif pa.types.is_integer(numbers.type):
            self.kinds.add("whole")
            ends = pc.min_max(numbers).as_py()
            self.low, self.high = min(self.low, ends["min"]), max(self.high, ends["max"])
        else:
            grouped = _fits(words, f"^{GROUPED}$", pc.all)
            self.kinds.add("grouped" if grouped else "number")
            # Which of two things they are shows in the words alone.
            unclear = (grouped and _fits(words, _WHOLE, pc.any)) or _fits(words, f"^{MONTH_YEAR}$", pc.all)
            if unclear or _fits(words.filter(pc.greater(pc.abs(numbers), float(_EXACT))), _WHOLE, pc.any):
                self.kinds.add("text")


def _fits(words: Any, pattern: str, which: Callable[[Any], Any]) -> bool:
    """Whether any, or all, of some words fit a pattern; where all must, the first tells most columns apart."""
    import pyarrow.compute as pc

    if which is pc.all and re.match(pattern, words[0].as_py()) is None:
        return False
    return bool(which(pc.match_substring_regex(words, pattern)).as_py())


def _as_numbers(words: Any) -> Any:
    """Words as whole numbers or else as floats; None where one of them is neither."""
    import pyarrow as pa

    for kind in (pa.int64(), pa.uint64(), pa.float64()):
        try:
            return words.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None


def _types(sources: tuple[_Source, ...], texts: frozenset[str]) -> dict[str, Any]:
    """The type of each column, from every value of every file."""
    import pyarrow as pa

    found = {name: _Column({"text"} if name in texts else set()) for name in sources[0].names}
    for source in sources:
        for batch in _batches(source):
            for name, column in found.items():
                if "text" not in column.kinds:
                    column.add(batch.column(name))
    return {name: pa.string() if name in texts else column.type() for name, column in found.items()}


def _without_gaps(words: Any) -> Any:
    """Values of a column that may hold numbers: without spaces around them, and missing where they say so."""
    import pyarrow as pa
    import pyarrow.compute as pc

    words = pc.utf8_trim_whitespace(words)
    return pc.if_else(pc.is_in(words, pa.array(_GAPS)), pa.scalar(None, pa.string()), words)


def _typed(words: Any, kind: Any) -> Any:
    """The values of a column in its type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_string(kind):
        return pc.if_else(pc.equal(words, ""), pa.scalar(None, pa.string()), words)
    if not pa.types.is_boolean(kind):
        with suppress(pa.ArrowInvalid):
            return words.cast(kind)
    words = _without_gaps(words)
    true = pa.array([word for word, truth in TRUTH.items() if truth])
    if pa.types.is_boolean(kind):
        return pc.if_else(pc.is_null(words), pa.scalar(None, pa.bool_()), pc.is_in(pc.utf8_lower(words), true))
    return words.cast(kind)


def _typed_batches(source: _Source, types: dict[str, Any]) -> Iterator[Any]:
    import pyarrow as pa

    for batch in _batches(source):
        yield pa.RecordBatch.from_arrays(
            [_typed(batch.column(name), types[name]) for name in source.names], schema=_schema(source, types)
        )


def _schema(source: _Source, types: dict[str, Any]) -> Any:
    import pyarrow as pa

    return pa.schema([(name, types[name]) for name in source.names])


def _frame(source: _Source, types: dict[str, Any]) -> pd.DataFrame:
    import pyarrow as pa

    return to_pandas(pa.Table.from_batches(list(_typed_batches(source, types)), _schema(source, types)))


def _batches(source: _Source) -> Iterator[Any]:
    """The rows of a file, every field as it is written."""
    import pyarrow as pa
    import pyarrow.csv as pc

    read = pc.ReadOptions(block_size=_BLOCK, column_names=source.names, skip_rows_after_names=1)
    parse = pc.ParseOptions(delimiter=source.separator, newlines_in_values=True)
    convert = pc.ConvertOptions(
        column_types=dict.fromkeys(source.names, pa.string()),
        null_values=list(_GAPS),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    try:
        with _opened(source.path) as text, pc.open_csv(text, read, parse, convert) as reader:
            yield from reader
    except pa.ArrowInvalid as error:
        found = re.search(r"Expected (\d+) columns, got (\d+)", str(error))
        if found is None:
            raise broken_csv(source.path, error) from None
        more = int(found[2]) > int(found[1])
        raise InputError(
            f"{str(source.path)!r} is not a CSV table (a row has {'more' if more else 'fewer'} values than the header "
            f"has names, {found[2]} and {found[1]}); "
            + ("name every column" if more else "give every row a field for each column")
        ) from None
    except (pa.ArrowException, EOFError, zlib.error, OSError) as error:
        raise broken_csv(source.path, error) from None


def _source(path: Path) -> _Source:
    """The separator that splits the header as it splits the rows, and the names in the header."""
    try:
        with _opened(path) as text:
            line = text.readline(_LONGEST_HEADER)
            packed = next((word for mark, word in _PACKINGS.items() if line.startswith(mark)), None)
            if packed is not None:
                raise InputError(f"{str(path)!r} is {packed}")
            header = line.decode("utf-8-sig")
            # A quoted name may go on in the next line.
            while header.count('"') % 2 and len(header) < _LONGEST_HEADER and (more := text.readline(_LONGEST_HEADER)):
                header += more.decode("utf-8")
            rows = text.read(_LOOKED_AT).decode("utf-8", "ignore").splitlines(keepends=True)[:20]
    except (OSError, UnicodeDecodeError, EOFError, zlib.error) as error:
        raise broken_csv(path, error) from None
    if not header.strip():
        raise InputError(f"{str(path)!r} has no header line; the first line must name the columns")
    if "\x00" in header:
        raise InputError(f"{str(path)!r} holds binary data, not text; is it a CSV file?")
    if "\n" not in header and "\r" not in header:
        raise InputError(f"{str(path)!r} is a single line; a table has a header and rows below it")
    split: dict[str, tuple[int, list[str]]] = {}
    for mark in ",;\t":
        try:
            names = next(csv.reader(io.StringIO(header, newline=""), delimiter=mark))
            n_alike = sum(len(row) == len(names) for row in csv.reader(rows, delimiter=mark)) if len(names) > 1 else 0
        except csv.Error as error:
            raise InputError(f"the header of {str(path)!r} cannot be read ({error})") from None
        split[mark] = (n_alike, names)
    separator = max(split, key=lambda mark: (split[mark][0], len(split[mark][1])))
    names = [name or f"Unnamed: {place}" for place, name in enumerate(split[separator][1])]
    check_names(names, repr(str(path)))
    return _Source(path, separator, names)


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


class _Folder:
    """A temporary folder that ends with this object, or with the process."""

    def __init__(self) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="driftfit-csv-"))
        weakref.finalize(self, shutil.rmtree, self.place, True)


def _through_parquet(sources: tuple[_Source, ...], types: dict[str, Any]) -> ParquetTable:
    """CSV files as a table that is read in parts."""
    import pyarrow.parquet as pq

    folder = _Folder()
    name = sources[0].path.name
    _LOG.warning("driftfit: %s is large; it is read through the temporary folder %s", name, folder.place)
    files = []
    for number, source in enumerate(sources):
        rows = 0
        try:
            with pq.ParquetWriter(folder.place / f"{number:05}.parquet", _schema(source, types)) as writer:
                for batch in _typed_batches(source, types):
                    writer.write_batch(batch)
                    rows += len(batch)
        except OSError as error:
            raise cannot_write(folder.place, error) from None
        files.append(FileInfo(source.path.name, hash_file(source.path), rows))
    parts = tuple(sorted(folder.place.iterdir()))
    return ParquetTable(parts, sources[0].names, tuple(files), guessed=True, keeps=folder)
