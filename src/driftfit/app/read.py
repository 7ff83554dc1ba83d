"""Tables from files: CSV, Parquet, several of either, a folder of images, or a data frame that is already there.

A `Table` never has to be in memory as a whole: label and order are read as columns, everything else as batches of rows.
"""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.checks import without_mask
from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError, meant

BATCH_ROWS = 65_536
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

    def streams(self, name: str, *, ordered: bool = False) -> bool:
        """Whether a column is better read in parts: the table is long, and one type holds all of its values.

        With ``ordered`` they must be numbers or dates.
        """
        ...

    def parts(self, name: str) -> Iterator[pd.Series]:
        """A column from its beginning, a part at a time."""
        ...

    def spans(self) -> list[int]:
        """First rows of the pieces that are best read at once, and the number of rows behind them."""
        ...

    def batches(self, rows: NDArray[np.int64] | None, names: Sequence[str]) -> Iterator[tuple[NDArray[np.int64], Any]]:
        """Frames with the given rows (ascending; None: all) and columns, a batch at a time, with their row numbers."""
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

    def streams(self, name: str, *, ordered: bool = False) -> bool:
        return False

    def parts(self, name: str) -> Iterator[pd.Series]:
        yield self.frame[name]

    def spans(self) -> list[int]:
        return [*range(0, self.n_rows, BATCH_ROWS), self.n_rows]

    def batches(self, rows: NDArray[np.int64] | None, names: Sequence[str]) -> Iterator[tuple[NDArray[np.int64], Any]]:
        rows = np.arange(self.n_rows) if rows is None else rows
        for start in range(0, len(rows), BATCH_ROWS):
            part = rows[start : start + BATCH_ROWS]
            yield part, self.frame[list(names)].iloc[part]


def open_table(paths: Sequence[Path], texts: Collection[str] = ()) -> Table:
    """Open one or more files of the same kind, or a folder of images.

    Parameters
    ----------
    paths : sequence of Path
        CSV or Parquet files with the same columns, one after the other; folders and patterns such as ``data/*.parquet``
        stand for the files in them, by name. Or one folder of images with a CSV.
    texts : collection of str
        Columns of CSV files that hold words, whatever they look like; those of a model are `Predictor.texts`.
    """
    if not paths:
        raise InputError("no table given; name a CSV or Parquet file, or a folder of images")
    paths = [found for path in paths for found in _found(path)]
    real = [path.resolve() for path in paths]
    if len(set(real)) < len(real):
        twice = next(path for path in paths if real.count(path.resolve()) > 1)
        raise InputError(f"{str(twice)!r} is named twice; name each file once")
    if len(paths) == 1 and paths[0].is_dir():
        from driftfit.app.images import open_images

        return open_images(paths[0])
    kinds = {_kind(path) for path in paths}
    if len(kinds) > 1:
        raise InputError("several files must all be of one kind, CSV or Parquet; convert one kind to the other")
    if kinds == {"parquet"}:
        from driftfit.app.parquet_files import open_parquet

        return open_parquet(tuple(paths))
    if kinds == {"npz"}:
        from driftfit.app.images import open_npz

        if len(paths) > 1:
            raise InputError("several .npz files cannot be read as one table; join their arrays first")
        return open_npz(paths[0])
    from driftfit.app.csv_files import open_csv

    return open_csv(tuple(paths), texts)


def table_of(frame: Any) -> FrameTable:
    """A data frame as a table: pandas, polars (lazy too), pyarrow, or a DuckDB relation.

    >>> table_of(pd.DataFrame({"x": [1.0, 2.0]})).n_rows
    2
    """
    import narwhals.stable.v1 as nw

    if isinstance(frame, pd.DataFrame):
        check_names([str(name) for name in frame.columns], "the data frame")
    wrapped = nw.from_native(frame, pass_through=True)
    if isinstance(wrapped, nw.LazyFrame):
        wrapped = wrapped.collect()
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


def exact_integers(values: Sequence[Any], index: Any = None) -> pd.Series:
    """Whole numbers and None as a column with gaps that keeps every digit."""
    known = [value for value in values if value is not None]
    dtype = "UInt64" if known and max(known) >= 2**63 else "Int64"
    return pd.Series(values, index=index, dtype=dtype)


def _found(path: Path) -> list[Path]:
    """The files that a path stands for: itself, those of a folder, or those that fit a pattern."""
    if not path.exists() and any(mark in str(path) for mark in "*?["):
        fitting = sorted(glob.glob(str(path), recursive=True))
        if not fitting:
            raise InputError(f"no file fits the pattern {str(path)!r}")
        return [found for name in fitting for found in _found(Path(name))]
    if not path.exists():
        beside = [own.name for own in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InputError(f"there is no file {str(path)!r}{meant(path.name, beside)}")
    if not path.is_dir() and not path.is_file():
        # Whoever opens a pipe waits for a writer who may never come.
        raise InputError(f"{str(path)!r} is a pipe or a device; write the table to a file first")
    if path.is_dir():
        below = sorted(own for own in path.rglob("*") if own.is_file() and not own.name.startswith((".", "_")))
        tables = [own for own in below if own.name.lower().endswith((*_PARQUET, *_CSV))]
        # Pictures come with one table that names them.
        if tables and len(tables) == len(below):
            return tables
    return [path]


def _kind(path: Path) -> str:
    name = path.name.lower()
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; give one folder of images, or files")
    if name.endswith(_PARQUET):
        return "parquet"
    if name.endswith(_CSV):
        return "csv"
    if name.endswith(".npz"):
        return "npz"
    raise InputError(f"{str(path)!r} is neither .csv nor .parquet nor .npz; rename or convert it")


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


def broken_csv(path: Path, error: BaseException) -> InputError:
    """What is said of a CSV file that could not be read."""
    remedy = "; save it as UTF-8" if isinstance(error, UnicodeDecodeError) or "UTF8" in str(error) else ""
    return InputError(f"{str(path)!r} is not a CSV table ({first_line(error)}){remedy}")


def from_skada(X: Any, y: Any, sample_domain: Any) -> DomainSequence:
    """The arrays that skada's data sets give, as a path from source to target.

    skada marks source domains with positive numbers and target domains with negative ones. Here
    the sources, taken together, come first, then the targets in the order of their absolute numbers; the last
    one is adapted to. Labels of targets are dropped.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    sample_domain : int array of shape (n_samples,)

    Examples
    --------
    >>> from_skada([[0.0], [1.0], [2.0], [3.0]], [0, 1, -1, -1], [1, 1, -2, -2])
    DomainSequence([Domain('1', 2 x 1, labelled), Domain('-2', 2 x 1, unlabelled)])
    """
    samples, labels, domain = (np.asarray(without_mask(values)) for values in (X, y, sample_domain))
    if domain.shape != (len(samples),) or labels.shape != (len(samples),):
        raise InputError(
            f"y and sample_domain need one entry for each of the {len(samples)} samples, "
            f"got shapes {labels.shape} and {domain.shape}"
        )
    if domain.dtype.kind not in "iu" or (domain == 0).any():
        raise InputError("skada numbers domains with whole numbers, positive for sources and negative for targets")
    sources = np.unique(domain[domain > 0])
    targets = sorted(np.unique(domain[domain < 0]), key=abs)
    if not len(sources) or not targets:
        raise InputError(f"sample_domain needs positive and negative numbers, got {np.unique(domain).tolist()}")
    first = domain > 0
    name = ",".join(str(number) for number in sources)
    path = [Domain(samples[first], labels=labels[first], name=name)]
    path += [Domain(samples[domain == number], name=str(number)) for number in targets]
    return DomainSequence(path)
