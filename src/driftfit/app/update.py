"""Rows and labels that arrive later: which rows they belong to, and what became of what was said before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.app.labels import has_labels
from driftfit.app.parquet_files import write_frames
from driftfit.app.read import Table, open_table
from driftfit.app.settings import Column, FilePosition, Settings
from driftfit.app.windows import as_dates, exact_number
from driftfit.errors import InputError
from driftfit.files import atomic_file
from driftfit.selection import Metric, default_metric

_MOST_NAMED = 3
_UPDATED = ", updated"


@dataclass(frozen=True, eq=False)
class Arrived:
    """A table with what arrived.

    ``rows``: the rows of before in their places, then the new ones. ``n_new``: rows that were not there before.
    ``labels``: rows of before that have a label only now. ``said``: what came and what it was matched by, a sentence
    each.
    """

    rows: pd.DataFrame
    n_new: int
    labels: NDArray[np.int64]
    n_changed: int
    said: tuple[str, ...]

    @property
    def nothing(self) -> bool:
        """Whether everything was there before."""
        return not (self.n_new or len(self.labels) or self.n_changed)


def whole_frame(table: Table) -> pd.DataFrame:
    """A table in memory."""
    if table.image_shape is not None:
        raise InputError("pictures are not updated; run adapt on the whole folder")
    frames = [frame for _, frame in table.batches(None, table.names)]
    whole = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=table.names)
    return whole.reset_index(drop=True)


def arrived(old: pd.DataFrame, new: pd.DataFrame, settings: Settings) -> Arrived:
    """Put new rows below the old ones, and labels to the rows that they belong to.

    Rows are the same where all columns of ``settings.id`` and the order have the same values; without such columns
    where all values but the label are the same.

    >>> old = pd.DataFrame({"x": [0.0, 1.0, 2.0], "kind": ["b", "a", None], "year": [1, 1, 2]})
    >>> new = pd.DataFrame({"x": [2.0, 3.0], "kind": ["b", None], "year": [2, 3]})
    >>> found = arrived(old, new, Settings("kind", Column("year")))
    >>> found.rows["kind"].fillna("?").tolist(), found.n_new, found.labels.tolist()
    (['b', 'a', 'b', '?'], 1, [2])
    """
    label, order = settings.label, settings.order
    if len(new) == 0:
        raise InputError("the new table has no rows; there is nothing to update with")
    if isinstance(order, FilePosition):
        raise InputError("windows that are files cannot be matched; run adapt with all files, or give an order column")
    keys = _keys(old, new, settings)
    place = _places(old, new, keys, unique=bool(settings.id))
    known = place >= 0
    lacking = [name for name in old.columns if name != label and name not in new.columns]
    if lacking and not known.all():
        raise InputError(
            f"{int((~known).sum())} of {len(new)} new rows are not in the table yet, and the new table has no column "
            f"{lacking[0]!r}; give all columns, or the rows' own values of {_listed(keys)}"
        )
    labels, arriving, changed, said = _labels(old, new, label, place)
    added = new.loc[~known].reindex(columns=old.columns)
    # An empty frame would have its own types taken into account.
    rows = pd.concat([old, _like(added, old, label)], ignore_index=True) if len(added) else old.reset_index(drop=True)
    rows[label] = pd.Series(labels, dtype=object).infer_objects()
    sentences = _sentences(len(added), len(arriving), len(changed), int(known.sum()), keys, bool(settings.id))
    extra = [name for name in new.columns if name not in old.columns]
    if extra:
        said.append(f"The table has no column {_listed(extra)}; left out.")
    said += _late_rows(old, added, settings, len(keys))
    return Arrived(rows, len(added), arriving, len(changed), (*sentences, *said))


def _keys(old: pd.DataFrame, new: pd.DataFrame, settings: Settings) -> list[str]:
    """The columns by which rows are matched."""
    order = [settings.order.name] if isinstance(settings.order, Column) else []
    if settings.id:
        absent = [name for name in settings.id if name not in new.columns]
        if absent:
            raise InputError(f"the new table has no column {absent[0]!r}, by which rows are told apart (--id)")
        return [*settings.id, *(name for name in order if name in new.columns)]
    keys = [name for name in old.columns if name != settings.label and name in new.columns]
    lacking = [name for name in old.columns if name != settings.label and name not in new.columns]
    if lacking:
        raise InputError(
            f"the new table has no column {lacking[0]!r}, so that its rows cannot be matched by their values; give all "
            "columns, or run adapt with --id COLUMN, a column that tells rows apart"
        )
    return keys


def _places(old: pd.DataFrame, new: pd.DataFrame, keys: Sequence[str], *, unique: bool) -> NDArray[np.int64]:
    """For each new row the old one that it is; -1 where there is none."""
    pairs = {str(number): _alike(old[name], new[name]) for number, name in enumerate(keys)}
    here, there = (pd.DataFrame({name: pair[side] for name, pair in pairs.items()}) for side in (0, 1))
    for frame, who in ((here, "the table"), (there, "the new table")):
        again = frame.duplicated().to_numpy()
        if unique and again.any():
            shown = ", ".join(str(value) for value in frame.iloc[int(again.argmax())])
            raise InputError(
                f"{who} has several rows with {_listed(keys)} = {shown}; name columns that tell rows apart (--id)"
            )
        # Rows that are equal in everything are told apart by their order.
        frame["again"] = frame.groupby(list(pairs), dropna=False, sort=False).cumcount()
    places = here.assign(place=np.arange(len(here)))
    found = there.merge(places, how="left", on=[*pairs, "again"])["place"]
    return np.asarray(found.fillna(-1), dtype=np.int64)


def _alike(old: pd.Series, new: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Two columns with equal values written alike, whatever file they come from."""
    kinds = {old.dtype.kind, new.dtype.kind}
    if isinstance(old.dtype, pd.DatetimeTZDtype) or isinstance(new.dtype, pd.DatetimeTZDtype) or "M" in kinds:
        return tuple(as_dates(own.astype(object)).map(str) for own in (old, new))  # type: ignore[return-value]
    if kinds <= set("iufb") and old.dtype == new.dtype:
        return old, new
    return _texts(old), _texts(new)


def _texts(values: pd.Series) -> pd.Series:
    return values.astype(object).map(_word)


def _word(value: Any) -> str:
    """A value as text: numbers alike whatever holds them, words without the blanks around them."""
    if value is None or (not isinstance(value, list | dict | np.ndarray) and bool(pd.isna(value))):
        return ""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    number = None if isinstance(value, str) else exact_number(value)
    return str(value).strip() if number is None else repr(number)


def _labels(
    old: pd.DataFrame, new: pd.DataFrame, label: str, place: NDArray[np.int64]
) -> tuple[list[Any], NDArray[np.int64], NDArray[np.int64], list[str]]:
    """All labels, the rows of before that have one only now, those that have another one, and what is odd."""
    had = has_labels(old[label])
    before = [value if own else None for value, own in zip(old[label].astype(object), had, strict=True)]
    known = {_word(value).lower(): value for value in before if value is not None}
    column = new[label] if label in new.columns else pd.Series([None] * len(new), index=new.index, dtype=object)
    has = has_labels(column)
    # The same class may be written as another type, such as 1 and 1.0.
    words = [_word(value).lower() if own else "" for value, own in zip(column, has, strict=True)]
    strange = sorted(set(words) - {"", *known})
    if strange and not set(words) & set(known):
        raise InputError(
            f"no label of the new table is one of {_listed(sorted(map(str, known.values())))}, such as {strange[0]!r}; "
            "write labels as before"
        )
    values = [known.get(word, value) if own else None for word, value, own in zip(words, column, has, strict=True)]
    arriving, changed = [], []
    for row, value, own in zip(place, values, has, strict=True):
        if row < 0 or not own:
            continue
        if not had[row]:
            arriving.append(row)
        elif before[row] != value:
            changed.append(row)
        before[row] = value
    said = [f"{_listed(strange)} was no class before."] if strange else []
    added = [value for row, value in zip(place, values, strict=True) if row < 0]
    return [*before, *added], np.array(arriving, dtype=np.int64), np.array(changed, dtype=np.int64), said


def _like(added: pd.DataFrame, old: pd.DataFrame, label: str) -> pd.DataFrame:
    """New rows with the types of the old ones, whatever file they come from."""
    done = added.copy()
    for name in old.columns.drop(label):
        own, new = old[name].dtype, added[name]
        if own == new.dtype:
            continue
        if isinstance(own, pd.DatetimeTZDtype) or own.kind == "M":
            dates = as_dates(new.astype(object))
            done[name] = (dates if isinstance(own, pd.DatetimeTZDtype) else dates.dt.tz_localize(None)).astype(own)
        elif isinstance(own, pd.CategoricalDtype):
            done[name] = new.where(new.isin(own.categories)).astype(own)
        elif own.kind in "OT" or isinstance(own, pd.StringDtype):
            done[name] = new.astype(object).map(lambda value: None if pd.isna(value) else _word(value)).astype(own)
        elif own.kind in "biuf" and new.dtype.kind not in "biuf":
            done[name] = pd.to_numeric(new, errors="coerce")
        elif own.kind == "f":
            # Text of a short number has more digits than it.
            done[name] = new.astype(own)
        lost = (done[name].isna() & new.notna()).to_numpy()
        if lost.any():
            value = str(new.iloc[int(lost.argmax())])[:40]
            raise InputError(f"column {name!r} has the value {value!r} in the new table, which is no {own} as before")
    return done


def _sentences(n_new: int, n_labels: int, n_changed: int, n_known: int, keys: Sequence[str], ids: bool) -> list[str]:
    by = _listed(keys) if ids else "all their values"
    said = []
    if n_new:
        said.append(f"{n_new:,} new rows.")
    if n_labels:
        said.append(f"Labels came for {n_labels:,} rows of before, matched by {by}.")
    if n_changed:
        said.append(f"{n_changed:,} rows have another label than before; the new one counts.")
    if n_known and not n_labels and not n_changed:
        said.append(f"{n_known:,} rows were there already, matched by {by}.")
    return said


def _late_rows(old: pd.DataFrame, added: pd.DataFrame, settings: Settings, n_keys: int) -> list[str]:
    """That new rows are no newer than the table, which may mean that they are old ones that were not recognised."""
    if not isinstance(settings.order, Column) or settings.id or not len(added):
        return []
    here, there = _alike(old[settings.order.name], added[settings.order.name])
    inside = int(there.isin(set(here)).sum())
    if inside < len(added):
        return []
    return [
        "All of them are of times that the table has already: if they are old rows, their values differ; "
        "--id COLUMN matches rows by a column that tells them apart."
    ]


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED} more"


def write_rows(rows: pd.DataFrame, target: Path, name: str) -> Table:
    """Write the rows of a run as Parquet and open them, as a table of the name that it had."""
    with atomic_file(target) as file:
        write_frames([rows], file, csv=False)
    table = open_table([target])
    (file_info,) = table.files
    named = replace(file_info, name=f"{name.removesuffix(_UPDATED)}{_UPDATED}")
    return replace(table, files=(named,))  # type: ignore[type-var]


def read_predictions(folder: Path) -> pd.DataFrame:
    """What a run in a folder predicted."""
    return pd.read_parquet(folder / "predictions.parquet")


def told_of(
    found: Arrived, predictions: pd.DataFrame, metric: Metric | None, before: Mapping[str, Any], after: dict[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A new summary with the decisions of the one before it and what came of them; and what is to be said first."""
    log, said = [dict(entry) for entry in before.get("log", ())], found.said
    outcome = outcome_of(predictions, found.rows[before["config"]["label"]], found.labels, metric)
    if outcome is not None and log:
        log[-1]["outcome"] = outcome["words"]
        said = (*said, f"They had been predicted: {outcome['words']}.")
    (last,) = after["log"]
    return {**after, "log": [*log, {**last, "came": " ".join(found.said)}]}, said


def outcome_of(
    predictions: pd.DataFrame, labels: pd.Series, rows: NDArray[np.int64], metric: Metric | None
) -> dict[str, Any] | None:
    """How good the predictions were of rows whose labels have arrived; None where none of them was predicted."""
    known = predictions[predictions["row"].isin(rows)]
    truth = labels.iloc[known["row"]].map(_word).to_numpy()
    prefix = "probability "
    classes = [name.removeprefix(prefix) for name in known.columns if name.startswith(prefix)]
    codes = pd.Categorical(truth, categories=classes).codes.astype(np.int64)
    said = pd.Categorical(known["prediction"].map(_word), categories=classes).codes.astype(np.int64)
    usable = codes >= 0
    shares = known[[prefix + name for name in classes]].to_numpy(np.float64)
    if not usable.any() or not np.isfinite(shares).all():
        return None
    counted = default_metric(codes[usable], len(classes))[0] if metric is None else metric
    counted = counted.for_labels(codes[usable], classes)
    value = counted.of(shares[usable], codes[usable], said[usable])
    words = f"{counted.words} {counted.shown(value)} on {len(known):,} rows"
    if counted.name == "accuracy":
        words = f"{100 * value:.1f} % of {len(known):,} rows were right"
    return {"rows": len(known), "value": value, "metric": counted.name, "words": words}
