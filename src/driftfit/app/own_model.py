"""The model that somebody has in use: a column of its predictions, an ONNX or a skops file, or Python code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.app.labels import is_true
from driftfit.app.models import object_in_file
from driftfit.app.read import Table
from driftfit.errors import InputError, one_line
from driftfit.extras import need

COLUMN, ONNX, SKOPS, PYTHON = "column", "onnx", "skops", "python"
_ENDINGS = {".onnx": ONNX, ".skops": SKOPS}
# Of the answers so many may be classes that the first window does not have; with more, labels are written otherwise.
_MOST_STRANGE = 0.05
# How truth values are written.
_TRUE, _FALSE = ("True", "true", "1", "1.0"), ("False", "false", "0", "0.0")


@dataclass(frozen=True, eq=False)
class OwnModel:
    """A model that is asked and never changed."""

    word: str  # how it was named: a path or a column
    kind: str  # ``column``, ``onnx``, ``skops`` or ``python``
    # The columns that it reads, by name. None: all features in their order, for a model that knows no names; and for
    # Python code every column but the label.
    columns: tuple[str, ...] | None
    data: bytes = field(default=b"", repr=False)  # the file as it is; empty for a column and for code
    ask: Callable[[pd.DataFrame], Any] = field(default=lambda frame: frame, repr=False)

    @property
    def hidden(self) -> tuple[str, ...]:
        """Columns that are no features."""
        return (self.word,) if self.kind == COLUMN else ()

    def words(self, table: Table, rows: NDArray[np.int64], features: Sequence[str], label: str) -> NDArray[np.str_]:
        """Its answers for some rows of a table (ascending), as they are written."""
        names = self.columns
        if names is None:
            names = tuple(name for name in table.names if name != label) if self.kind == PYTHON else tuple(features)
        absent = [name for name in names if name not in table.names]
        if absent:
            shown = ", ".join(table.names[:10]) + (", ..." if len(table.names) > 10 else "")
            raise InputError(f"the model in use, {self.word!r}, reads the column {absent[0]!r}; the table has {shown}")
        found = [self._asked(frame.reset_index(drop=True)) for _, frame in table.batches(rows, list(names))]
        return np.concatenate(found) if found else np.empty(0, dtype=str)

    def _asked(self, frame: pd.DataFrame) -> NDArray[np.str_]:
        try:
            said = np.asarray(self.ask(frame), dtype=object)
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"the model in use, {self.word!r}, failed on rows of the table: {type(error).__name__}: "
                f"{one_line(error)}; it gets the columns {', '.join(map(str, frame.columns[:10]))}"
            ) from None
        if said.shape != (len(frame),):
            raise InputError(
                f"the model in use, {self.word!r}, must say one label for each row: for {len(frame)} rows it gave "
                f"answers of shape {said.shape}"
            )
        missing = np.asarray(pd.isna(said))
        if missing.any():
            raise InputError(
                f"the model in use, {self.word!r}, says nothing about {int(missing.sum())} of {len(frame)} rows; its "
                "predictions are needed for every row of the first and of the last window"
            )
        return np.array([str(value) for value in said], dtype=str)


def predictions_in(column: str) -> OwnModel:
    """A model that is known by a column of its predictions.

    >>> predictions_in("said").hidden
    ('said',)
    """
    return OwnModel(column, COLUMN, (column,), ask=lambda frame: frame[column])


def own_model(word: Any, data: bytes | None = None) -> OwnModel:
    """A model that somebody has: an object with ``predict``, a function of a data frame, or one in a file.

    An ``.onnx`` file, a ``.skops`` file, or ``PATH.py:NAME``: an object with ``predict``, or a function, of a data
    frame with every column but the label. The Python file is run.
    """
    if not isinstance(word, str | Path):
        return OwnModel(type(word).__name__, PYTHON, None, ask=_asked_by(word, f"a {type(word).__name__}"))
    word = str(word)
    kind = _ENDINGS.get(Path(word).suffix.lower())
    if kind is None:
        path, separator, name = word.rpartition(":")
        if not separator or not path.endswith(".py"):
            raise InputError(f"the model in use must be a .onnx or .skops file or PATH.py:NAME, got {word!r}")
        return OwnModel(word, PYTHON, None, ask=_asked_by(object_in_file(Path(path), name), f"{name!r} in {path!r}"))
    if data is None:
        try:
            data = Path(word).read_bytes()
        except OSError as error:
            raise InputError(f"the model in use cannot be read from {word!r} ({error.strerror})") from None
    return _of_onnx(word, data) if kind == ONNX else _of_skops(word, data)


def _asked_by(model: Any, who: str) -> Callable[[pd.DataFrame], Any]:
    """What is called with a data frame; a model that knows the names of its columns gets these alone."""
    ask = getattr(model, "predict", model)
    if not callable(ask):
        raise InputError(f"{who} is {type(model).__name__}: it has no predict and is no function")
    names = getattr(model, "feature_names_in_", None)
    return ask if names is None else lambda frame: ask(frame[list(names)])


def label_codes(words: NDArray[np.str_], classes: Sequence[Any], boolean: bool) -> NDArray[np.int64]:
    """Labels as class numbers, by how they are written; a class that is not known is -1.

    >>> label_codes(np.array(["1", "0.0", "7"]), [0, 1], False).tolist()
    [1, 0, -1]
    >>> label_codes(np.array(["true", "0", "1.0"]), ["False", "True"], True).tolist()
    [1, 0, 1]
    """
    known: dict[str, int] = {}
    for code, name in enumerate(classes):
        known[str(name)] = code
        if boolean:
            known |= dict.fromkeys(_TRUE if is_true(name) else _FALSE, code)
        elif np.issubdtype(type(name), np.number):
            known[str(float(name))] = code
    return np.array([known.get(word, -1) for word in words], dtype=np.int64)


def answered_codes(
    words: NDArray[np.str_], classes: Sequence[Any], boolean: bool, who: str, most_frequent: int
) -> tuple[NDArray[np.int64], list[str]]:
    """The answers of a model in use as class numbers, and a sentence on those that are no class of the first window."""
    codes = label_codes(words, classes, boolean)
    strange = codes < 0
    if not strange.any():
        return codes, []
    shown = ", ".join(str(name) for name in list(classes)[:5])
    if strange.mean() > _MOST_STRANGE:
        raise InputError(
            f"the model in use, {who!r}, says {str(words[strange][0])!r}, which is no class of the first window "
            f"({shown}); write its labels as the label column does"
        )
    codes = np.where(strange, most_frequent, codes)
    return codes, [
        f"the model in use says {str(words[strange][0])!r} or another class that the first window does not have in "
        f"{int(strange.sum())} rows; in comparisons these count as {str(classes[most_frequent])!r}"
    ]


def _of_skops(word: str, data: bytes) -> OwnModel:
    from driftfit.app.skops_files import check_parts, loaded_skops

    model = loaded_skops(data, word)
    if not hasattr(model, "predict"):
        raise InputError(f"{word!r} holds a {type(model).__name__}, which does not predict; give a trained classifier")
    try:
        check_parts(model)
    except InputError as error:
        raise InputError(f"{word!r} holds a damaged model ({one_line(error)}); it was not used") from None
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return OwnModel(word, SKOPS, tuple(str(name) for name in names), data, model.predict)
    return OwnModel(word, SKOPS, None, data, lambda frame: model.predict(_numbers(frame, word, model.n_features_in_)))


def _of_onnx(word: str, data: bytes) -> OwnModel:
    need("onnxruntime", "onnx", "a model in ONNX")
    import onnxruntime

    try:
        session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise InputError(f"{word!r} is not an ONNX model ({one_line(error)})") from None
    inputs, answer = session.get_inputs(), session.get_outputs()[0]
    if "float" in answer.type or "double" in answer.type:
        raise InputError(
            f"the first output of {word!r}, {answer.name!r}, holds {answer.type}; it must be the label of each row, as "
            "classifiers in ONNX have it"
        )
    if len(inputs) == 1 and (len(inputs[0].shape) != 2 or inputs[0].shape[1] != 1):
        only, wide = inputs[0], inputs[0].shape[-1]
        n = wide if isinstance(wide, int) else None
        kind = np.float64 if "double" in only.type else np.float32
        return OwnModel(
            word, ONNX, None, data, lambda frame: session.run(None, {only.name: _numbers(frame, word, n, kind)})[0]
        )

    def ask(frame: pd.DataFrame) -> Any:
        rows = {own.name: _typed(frame[own.name], own.type).reshape(-1, 1) for own in inputs}
        return np.asarray(session.run(None, rows)[0]).ravel()

    return OwnModel(word, ONNX, tuple(own.name for own in inputs), data, ask)


def _typed(column: pd.Series, kind: str) -> NDArray[Any]:
    """A column as a model in ONNX reads it."""
    if "string" in kind:
        return np.array(["" if pd.isna(value) else str(value) for value in column], dtype=object)
    types = {"int64": np.int64, "int32": np.int32, "double": np.float64, "bool": np.bool_}
    wanted = next((own for name, own in types.items() if name in kind), np.float32)
    return np.asarray(pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan).astype(wanted))


def _numbers(frame: pd.DataFrame, word: str, n_columns: int | None, kind: Any = np.float64) -> NDArray[Any]:
    """The features as a matrix, for a model that knows its columns by their place."""
    if n_columns is not None and frame.shape[1] != n_columns:
        raise InputError(
            f"the model in use, {word!r}, knows {n_columns} columns without their names, and the table has "
            f"{frame.shape[1]} features ({', '.join(map(str, frame.columns[:10]))}); leave others out by --drop, or "
            "train it on a data frame so that it knows their names"
        )
    return np.asarray(frame.to_numpy(dtype=kind, na_value=np.nan))
