"""What each column is, decided once and written down, and frames brought to that form and to features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from enum import Enum
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.app.windows import TRUTH, as_dates, exact_number
from driftfit.app.written import Form, Unclear, check_examples, form_of_dates, form_of_numbers
from driftfit.domains.words import nearly_alike, unclear_numbers
from driftfit.errors import InputError

# Text with more distinct values than this keeps only the most frequent ones.
MOST_CATEGORIES = 20
# Beyond this the squares in a variance overflow.
_LARGEST = 1e100
# Share of the values that must read as numbers or dates for the column to count as such.
_MOSTLY = 0.95
# Text of two words on average, and of more different values than this, is read; other text is a name.
_MOST_NAMES, _A_WORD, _FEWEST_WORDS = 100, r"[^\W\d_]{2,}", 2
# How much of each text is read, and the features that are made of it.
_LETTERS, TOPICS = 500, 24
# Numbers in one list of a column of lists.
_MOST_NUMBERS = 1_000
_DATE_PARTS = ("month", "weekday", "hour")
_TRUE = frozenset({"true", "yes", "t", "y"})
_FALSE = frozenset({"false", "no", "f", "n"})
# How truth values are written once a column of them has become numbers.
_ONE, _ZERO = frozenset({"1", "1.0"}), frozenset({"0", "0.0"})


class Kind(Enum):
    """How a column is used."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    CATEGORY = "category"
    MANY_CATEGORIES = "many categories"
    DATE = "date"
    TEXT = "text"
    NUMBERS = "list of numbers"
    DROPPED = "dropped"


@dataclass(frozen=True)
class ColumnPlan:
    """One column: its kind, a remark for the user, and what its values were when it was planned."""

    column: str
    kind: Kind
    note: str = ""
    type: str = ""  # text, number, truth, date, duration; nothing where any will do
    form: str = ""  # how numbers or dates are written in it, as an example, where it is text
    length: int = 1  # of its lists of numbers

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the columns it becomes in a conformed frame."""
        if self.kind is Kind.DROPPED:
            return ()
        if self.kind is Kind.DATE:
            return tuple(f"{self.column} {part} {wave}" for part in _DATE_PARTS for wave in ("sin", "cos"))
        if self.kind is Kind.NUMBERS:
            return tuple(f"{self.column}[{place}]" for place in range(self.length))
        return (self.column,)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**asdict(self), "kind": self.kind.value}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> ColumnPlan:
        """The plan that `to_dict` wrote."""
        form, length = str(plain.get("form", "")), int(plain.get("length", 1))
        if not 0 < length <= _MOST_NUMBERS:
            raise InputError(f"lists of {length} numbers are no column; at most {_MOST_NUMBERS} are")
        check_examples([form] if form else [])
        return cls(plain["column"], Kind(plain["kind"]), plain["note"], str(plain["type"]), form, length)


def plan_columns(
    frame: pd.DataFrame,
    *,
    keep_constant: bool = False,
    categorical: tuple[str, ...] = (),
    written: Sequence[str] = (),
) -> tuple[ColumnPlan, ...]:
    """Look at the features of all windows, never at labels, and decide what each column is.

    ``categorical`` names columns whose values are codes, whatever they look like; ``keep_constant`` is for pixels.
    ``written`` has examples of how numbers and dates are written where there are two ways to read a column.

    >>> frame = pd.DataFrame({"x": [1.0, None, 3.0], "city": ["a", "b", "a"], "one": [1, 1, 1]})
    >>> [(plan.column, plan.kind.value) for plan in plan_columns(frame)]
    [('x', 'number'), ('city', 'category'), ('one', 'dropped')]
    """
    given = check_examples(written)
    plans = tuple(
        _plan(str(name), frame[name], keep_constant, str(name) in categorical, given) for name in frame.columns
    )
    if all(plan.kind is Kind.DROPPED for plan in plans):
        why = "; ".join(f"{plan.column!r}: {plan.note}" for plan in plans[:3])
        raise InputError(f"no column is left as a feature ({why or 'there is none besides label and order'})")
    return plans


def conform(frame: pd.DataFrame, plans: tuple[ColumnPlan, ...]) -> pd.DataFrame:
    """Bring a frame to the form the transformers expect: float columns with NaN, and text columns.

    Raises where a column is missing; further columns are left out.
    """
    absent = [plan.column for plan in plans if plan.kind is not Kind.DROPPED and plan.column not in frame.columns]
    if absent:
        raise InputError(f"the table has no column {absent[0]!r}, which the model needs; it has {_some(frame.columns)}")
    done: dict[str, Any] = {}
    for plan in plans:
        if plan.kind is Kind.DROPPED:
            continue
        values = frame[plan.column]
        if plan.kind is Kind.NUMBER:
            # A duration is a number of seconds, and no other number is a duration, nor is a truth value a number.
            alien = plan.type != "" and (
                (plan.type == "duration") != (values.dtype.kind == "m") or (plan.type == "number" and _truths(values))
            )
            done[plan.column] = np.full(len(values), np.nan) if alien else _numbers(values, plan.form)
        elif plan.kind is Kind.BOOLEAN:
            done[plan.column] = _booleans(values)
        elif plan.kind is Kind.DATE:
            done.update(zip(plan.outputs, _date_parts(_iso(values, plan.form)), strict=True))
        elif plan.kind is Kind.NUMBERS:
            done.update(zip(plan.outputs, _lists(values, plan.length).T, strict=True))
        else:
            words = _words(values, plan.type)
            done[plan.column] = [word[:_LETTERS] for word in words] if plan.kind is Kind.TEXT else words
    return pd.DataFrame(done, index=frame.index)


def _plan(name: str, values: pd.Series, keep_constant: bool, coded: bool, given: tuple[Form, ...]) -> ColumnPlan:
    known = values[~missing_in(values)]
    n_missing = len(values) - len(known)
    gaps = f"{n_missing} of {len(values)} values missing" if n_missing else ""
    if known.empty:
        return ColumnPlan(name, Kind.DROPPED, "all values are missing")
    written = _type(known)
    kind, note, *more = _codes(known, written) if coded else _kind(known, given)
    plan = ColumnPlan(name, kind, note, written, *more)
    if kind in (Kind.NUMBER, Kind.NUMBERS):
        numbers = _numbers(known, plan.form)[:, None] if kind is Kind.NUMBER else _lists(known, plan.length)
        n_bad = int(np.isnan(numbers).all(axis=1).sum())
        if n_bad == len(numbers):
            return ColumnPlan(name, Kind.DROPPED, "no finite number", written)
        if n_bad:
            gaps = f"{n_missing + n_bad} of {len(values)} values missing, not numbers, or out of range"
        constant, shown = bool(np.nanmax(numbers) == np.nanmin(numbers)), f"{np.nanmax(numbers):.15g}"
        if constant and n_bad == 0 and known.map(str).nunique() > 1:
            shown = f"as far as float64 can tell, such as {known.iloc[0]}"
    else:
        n_bad = int(as_dates(_iso(known, plan.form)).isna().sum()) if kind is Kind.DATE and written == "text" else 0
        if n_bad:
            gaps = f"{n_missing + n_bad} of {len(values)} values missing or no dates"
        constant, shown = known.map(str).nunique() == 1, str(known.iloc[0])[:40]
    if constant and not keep_constant:
        plan = ColumnPlan(name, Kind.DROPPED, f"constant ({shown})", written)
    return replace(plan, note=", ".join(part for part in (plan.note, gaps) if part))


def without_twins(plans: tuple[ColumnPlan, ...], conformed: pd.DataFrame) -> tuple[ColumnPlan, ...]:
    """The plans without columns that say in every row what one before them says.

    >>> frame = pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.0]})
    >>> [plan.note for plan in without_twins(plan_columns(frame), frame)]
    ['', "the same as 'x' in every row"]
    """
    first: dict[tuple[Any, ...], ColumnPlan] = {}
    done = []
    for plan in plans:
        values = [conformed[name].to_numpy() for name in plan.outputs]
        key = (plan.kind, *(int(pd.util.hash_array(own, categorize=True).sum()) for own in values))
        twin = first.setdefault(key, plan)
        same = twin is not plan and all(
            bool(pd.Series(own).equals(pd.Series(conformed[name].to_numpy())))
            for own, name in zip(values, twin.outputs, strict=True)
        )
        if values and same:
            plan = ColumnPlan(plan.column, Kind.DROPPED, f"the same as {twin.column!r} in every row", plan.type)
        done.append(plan)
    return tuple(done)


def missing_in(values: pd.Series) -> NDArray[np.bool_]:
    """Which values are missing; text without a letter is, since a CSV file cannot tell the two apart.

    >>> missing_in(pd.Series(["a", "", None])).tolist()
    [False, True, True]
    """
    absent = values.isna().to_numpy(dtype=bool)
    if values.dtype.kind in "biufcmM" or isinstance(values.dtype, pd.DatetimeTZDtype):
        return absent
    return np.asarray(absent | np.array([isinstance(value, str) and value == "" for value in values], dtype=bool))


def _type(known: pd.Series) -> str:
    """What values are, whatever holds them."""
    dtype = known.dtype.categories.dtype if isinstance(known.dtype, pd.CategoricalDtype) else known.dtype
    if isinstance(dtype, pd.DatetimeTZDtype):
        return "date"
    if dtype.kind in "biufmM":
        return {"b": "truth", "M": "date", "m": "duration"}.get(dtype.kind, "number")
    kinds = set(known.map(type))
    if kinds <= {bool, np.bool_}:
        return "truth"
    return "number" if all(issubclass(kind, Real | Decimal | np.number) for kind in kinds) else "text"


def _kind(known: pd.Series, given: tuple[Form, ...]) -> tuple[Any, ...]:
    """Kind and note of a column, and perhaps its form and the length of its lists."""
    dtype = known.dtype
    if pd.api.types.is_bool_dtype(dtype):
        return Kind.BOOLEAN, ""
    if isinstance(dtype, pd.DatetimeTZDtype) or dtype.kind == "M":
        return Kind.DATE, "used as month, weekday and hour; the date itself would only repeat the order"
    if dtype.kind in "iufm":
        return Kind.NUMBER, ""
    if dtype.kind == "c":
        return Kind.DROPPED, "complex numbers"
    if (
        not isinstance(dtype, pd.CategoricalDtype)
        and known.map(lambda v: isinstance(v, list | dict | np.ndarray)).any()
    ):
        length = _common_length(known)
        if length:
            return Kind.NUMBERS, f"lists of {length} numbers", "", length
        return (
            Kind.DROPPED,
            "records, or lists that are not of numbers and of one length; spread them into columns",
        )
    counts = known.astype(object).map(str).value_counts(sort=False)
    words, shares = pd.Series(counts.index, dtype=object), counts.to_numpy() / len(known)
    if set(words.str.strip().str.lower()) <= _TRUE | _FALSE | TRUTH.keys():
        return Kind.BOOLEAN, "text read as yes or no"
    read = _read_as_numbers_or_dates(words, shares, given)
    if read is not None:
        return read
    n_distinct = len(words)
    if n_distinct <= MOST_CATEGORIES:
        return Kind.CATEGORY, f"{n_distinct} values{_twins(words)}"
    unique = n_distinct > 0.5 * len(known)
    if (unique or n_distinct > _MOST_NAMES) and words.str.count(_A_WORD) @ shares >= _FEWEST_WORDS:
        return Kind.TEXT, f"free text, read by pieces of three and four letters, as {TOPICS} numbers"
    if not unique:
        return Kind.MANY_CATEGORIES, f"high cardinality: {n_distinct} values, all but the most frequent put together"
    shown = f"{n_distinct} distinct values in {len(known)} rows, such as {words.iloc[0].strip()[:40]!r}"
    return Kind.DROPPED, f"high cardinality: {shown}, like an identifier"


def _common_length(known: pd.Series) -> int:
    """The one length of all lists of numbers; 0 where there is none."""
    lengths = {len(value) if isinstance(value, list | np.ndarray) else 0 for value in known}
    length = lengths.pop()
    if lengths or not 0 < length <= _MOST_NUMBERS:
        return 0
    return 0 if np.isnan(_lists(known.iloc[:100], length)).all() else length


def _lists(values: pd.Series, length: int) -> NDArray[np.float64]:
    """Lists of numbers as rows; gaps where there is no list of that length."""
    rows = np.full((len(values), length), np.nan)
    for place, value in enumerate(values):
        if isinstance(value, list | np.ndarray) and len(value) == length:
            rows[place] = [np.nan if isinstance(own, str) else _float(own) for own in value]
    return rows


def _read_as_numbers_or_dates(
    words: pd.Series, shares: NDArray[np.float64], given: tuple[Form, ...]
) -> tuple[Any, ...] | None:
    """What distinct words are where nearly all rows hold numbers or dates, and None where they are words."""

    def mostly(kinds: Any) -> bool:
        return bool(shares[np.asarray(kinds, dtype=bool)].sum() >= _MOSTLY)

    numbers = words.map(exact_number).notna()
    if mostly(numbers):
        other = unclear_numbers(words[numbers].tolist())
        # Three figures behind every point are no thousands unless a zero is the last of some.
        if other == "months and years" or (other == "thousands" and words.str.fullmatch(r".*\..*0").any()):
            shown = words[words.str.contains(".", regex=False)].iloc[0][:40]
            return Kind.DROPPED, f"numbers to be read in two ways, such as {shown}, which may be {other}"
        return Kind.NUMBER, "text read as numbers"
    if mostly(as_dates(words).notna()):
        return Kind.DATE, "text read as dates; used as month, weekday and hour"
    for kind, found, what in (
        (Kind.NUMBER, form_of_numbers(words, mostly, given), "numbers"),
        (Kind.DATE, form_of_dates(words, mostly, given), "dates; used as month, weekday and hour"),
    ):
        if isinstance(found, Unclear):
            return Kind.DROPPED, f"{found}; --written tells which"
        if found is not None:
            return kind, f"text read as {what}; written as {found.example}", found.example
    return None


def _codes(known: pd.Series, written: str) -> tuple[Kind, str]:
    """A column that somebody says holds codes: as many categories as there are, none of them an identifier."""
    words = np.unique(_words(known, written).astype(str))
    kind = Kind.MANY_CATEGORIES if len(words) > MOST_CATEGORIES else Kind.CATEGORY
    return kind, f"{len(words)} values, as asked for{_twins(words)}"


def _twins(words: Any) -> str:
    twins = nearly_alike(words)
    return "" if twins is None else f", {str(twins[0])!r} and {str(twins[1])!r} written nearly alike"


def _iso(values: pd.Series, form: str) -> pd.Series:
    """Dates in their form as ISO writes them."""
    return values.astype(object).map(Form(form).iso) if form else values


def _numbers(values: pd.Series, form: str = "") -> NDArray[np.float64]:
    if form:
        numbers = Form(form).numbers(values.astype(object))
    elif values.dtype.kind == "m":
        numbers = values.dt.total_seconds().to_numpy(np.float64)
    elif values.dtype.kind in "iufb":
        numbers = values.to_numpy(np.float64, na_value=np.nan)
    else:
        numbers = np.array([_float(value) for value in values], dtype=np.float64)
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(numbers) <= _LARGEST, numbers, np.nan)


def _float(value: Any) -> float:
    number = exact_number(value) if isinstance(value, Real | Decimal | str) else None
    # Longer ones are beyond what counts as a number here.
    return np.nan if number is None or abs(number) > _LARGEST else float(number)


def _booleans(values: pd.Series) -> NDArray[np.float64]:
    if pd.api.types.is_bool_dtype(values.dtype):
        return values.to_numpy(np.float64, na_value=np.nan)
    if values.dtype.kind in "iuf":
        numbers = values.to_numpy(np.float64, na_value=np.nan)
        return np.where((numbers == 0) | (numbers == 1), numbers, np.nan)
    words = values.astype(object).map(lambda value: str(value).strip().lower())
    words = words.map(lambda word: str(TRUTH.get(word, word)).lower())
    return np.where(words.isin(_TRUE | _ONE), 1.0, np.where(words.isin(_FALSE | _ZERO), 0.0, np.nan))


def _words(values: pd.Series, written: str) -> NDArray[np.object_]:
    """Text; numbers and truth values read the same however they are written, words that look like them do not."""
    codes, distinct = pd.factorize(values) if _hashes_apart(values) else (np.arange(len(values)), values)
    texts = np.array(
        [*(_word(value, written) for value in pd.Series(distinct).astype(object)), "missing"], dtype=object
    )
    texts = texts[codes]
    texts[missing_in(values)] = "missing"
    return np.asarray(texts, dtype=object)


def _word(value: Any, written: str) -> str:
    if written == "number" and isinstance(value, str):
        number = exact_number(value)
        value = value if number is None else number
    if written == "truth" and isinstance(value, str):
        value = TRUTH.get(value.strip().lower(), value)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _hashes_apart(values: pd.Series) -> bool:
    """Whether equal values are written alike, so that each is looked at only once; 1 and True are not."""
    return values.dtype.kind in "iufb" or isinstance(values.dtype, pd.StringDtype)


def _truths(values: pd.Series) -> bool:
    """Whether all values that are there are truth values."""
    if values.dtype.kind != "O":
        return bool(pd.api.types.is_bool_dtype(values.dtype))
    present = values.dropna()
    return len(present) > 0 and all(isinstance(value, bool | np.bool_) for value in present)


def _date_parts(values: pd.Series) -> list[NDArray[np.float64]]:
    dates = as_dates(values) if values.dtype.kind != "M" else pd.to_datetime(values, utc=True)
    parts = []
    for values, length in ((dates.dt.month, 12), (dates.dt.day_of_week, 7), (dates.dt.hour, 24)):
        angle = 2 * np.pi * values.to_numpy(np.float64, na_value=np.nan) / length
        parts += [np.sin(angle), np.cos(angle)]
    return parts


def _some(names: Any) -> str:
    shown = [str(name) for name in names][:10]
    return ", ".join(shown) + (", ..." if len(names) > 10 else "")
