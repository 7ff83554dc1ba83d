"""What a user asks for, as one frozen value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from numbers import Integral, Real
from typing import Any

from driftfit.app.own_model import OwnModel
from driftfit.app.written import check_examples
from driftfit.domains import ByQuantile
from driftfit.domains.windows import Windows
from driftfit.errors import InputError
from driftfit.methods import GOAT, Assumption, GivenProportions, Method, Transport
from driftfit.methods.registry import as_method, word_of
from driftfit.selection import ByEvidence, ChosenGOAT, Gate, Keep, Metric

# Rows times columns that all candidates together are trained on. Forests and networks learn from about 0.1 million
# such values in a second, so that this is some eight minutes; logistic regression needs seconds.
_MOST_VALUES = 50_000_000
# Columns of the predictions.
_WRITTEN = ("row", "prediction", "predicted_probability", "imputed_columns")


@dataclass(frozen=True)
class Column:
    """Order rows by a column."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class RowPosition:
    """Order rows as they stand in the table."""

    def __str__(self) -> str:
        return "@row"


@dataclass(frozen=True)
class FilePosition:
    """Each file is a snapshot, in the order they were given."""

    def __str__(self) -> str:
        return "@file"


def check_carried(names: Sequence[str]) -> None:
    """Raise where a column that is to be carried into the predictions has the name of one that is written there."""
    for name in names:
        if name in _WRITTEN or name.startswith(("probability ", "prediction by ", "estimated_accuracy")):
            raise InputError(f"the column {name!r} has the name of one that is written; rename it to carry it along")


class History(Enum):
    """Which labels are used: those of every window that has some, or those of the first window alone."""

    ALL = "all"
    FIRST = "first"


@dataclass(frozen=True)
class Limits:
    """How much is sampled from large tables.

    ``training``: rows of each window that models are trained on. ``transport``: rows of each window that plans are made
    between and that the checks look at.
    """

    training: int = 20_000
    transport: int = 2_000

    def __post_init__(self) -> None:
        given: tuple[Any, ...] = (self.training, self.transport)
        if not all(isinstance(rows, Integral) and int(rows) >= 10 for rows in given):
            raise InputError(f"limits must be at least 10 rows, got {self.training!r} and {self.transport!r}")


# What an option must be, and in words; None is taken where it stands for a choice by evidence.
_COLUMN, _NUMBER = (str, "the name of a column"), (Integral, "a whole number")
_KINDS: dict[str, tuple[Any, str]] = {
    "label": _COLUMN,
    "group": _COLUMN,
    "seed": _NUMBER,
    "late": _NUMBER,
    "n_generated": _NUMBER,
    "sets": (Real, "a share such as 0.9"),
    "labels_until": (str, "the name or number of a window"),
    "history": (History, "'all' or 'first'"),
    "metric": (Metric, "a word such as 'balanced_accuracy'"),
}


def _check_kinds(settings: Settings) -> None:
    for name, (kind, words) in _KINDS.items():
        value = getattr(settings, name)
        if not isinstance(value, kind) and (value is not None or name in ("label", "seed", "history")):
            raise InputError(f"{name} must be {words}, got {value!r}")


def _several(names: Any, option: str) -> tuple[str, ...]:
    """One name or several; the columns of any table are known by their names as text."""
    if isinstance(names, bytes | Mapping) or not isinstance(names, Iterable):
        raise InputError(f"{option} must be one word or several, got {names!r}")
    return (names,) if isinstance(names, str) else tuple(str(name) for name in names)


def _shares(proportions: Any) -> tuple[tuple[str, float], ...]:
    try:
        return tuple((str(name), float(share)) for name, share in dict(proportions).items())
    except (TypeError, ValueError):
        raise InputError(
            f"proportions must be a share for each class, such as {{'no': 0.9, 'yes': 0.1}}, got {proportions!r}"
        ) from None


@dataclass(frozen=True)
class Settings:
    """One adaptation of a user's table.

    Attributes
    ----------
    label : str
        Column of the labels. Rows with a label are history, rows without one are today's.
    order : Column, RowPosition or FilePosition
    windows : Windows
        `ByQuantile(5)` by default.
    model : classifier or BestModel, optional
        Untrained; logistic regression by default. `BestModel()` compares several on the source first.
    encoder : transformer, optional
        Untrained; domains are generated in its space.
    method : Method, optional
        Anything from `driftfit.methods`. By default the old model stays unless evidence speaks for another one
        (`driftfit.selection.ByEvidence`), and GOAT for images, for networks, and where ``n_generated`` is given.
        Encoders of the methods that the command line offers stay as they were trained on the first window.
    n_generated : int, optional
        Domains that GOAT generates between two neighbours; None: 0 to 4, whichever fits best the labels
        that plans carry to the target; on huge tables by how far the check finds that classes move.
    keep : Keep
    seed : int
    limits : Limits
    categorical : tuple of str
        Columns of codes, which are no measurements even where they are numbers.
    drop : tuple of str
        Columns that are no features.
    proportions : tuple of (str, float)
        Share of each class in the last window, where somebody knows it; for the default method. Proportions then count
        as assumed.
    in_use : OwnModel, optional
        The model that is in use already; for the default method. It is the reference that others are compared with, and
        stays as it is where none is clearly better.
    assume : str, Assumption or sequence of these
        What may have changed (`driftfit.methods.Assumption`), the one that is believed most first; for the default
        method. Nothing by default: then the old model stays.
    history : History
        Whether all labels are used, or those of the first window alone as in the paper.
    labels_until : str, optional
        Name or number (from 1) of the last window whose labels may be used; the last one that has some by default.
    metric : Metric, optional
        What backtests count by; accuracy by default, balanced accuracy where a class is rare.
    sets : float, optional
        Share of the rows that are to have the truth in a set of classes, such as 0.9.
    late : int, optional
        How many windows late labels arrive; by default read off the table.
    group : str, optional
        Column that says what a row belongs to, such as its customer or machine; no feature. Rows of one group may
        resemble each other, so that tests count groups and not rows.
    order_words : tuple of str
        The values of the order column, first to last, where they are words whose order cannot be told.
    written : tuple of str
        How numbers and dates are written where a column of text may be read in two ways, as examples: ``1.234,5``,
        ``31/12/2024``.
    id : str or tuple of str
        Columns that are carried along into the predictions; no features.
    """

    label: str
    order: Column | RowPosition | FilePosition
    windows: Windows = field(default_factory=ByQuantile)
    model: Any = None
    encoder: Any = None
    method: Method | None = None
    n_generated: int | None = None
    keep: Keep = Keep.BETTER
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    categorical: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    proportions: tuple[tuple[str, float], ...] = ()
    in_use: OwnModel | None = None
    labels_until: str | None = None
    history: History = History.ALL
    metric: Metric | None = None
    late: int | None = None
    sets: float | None = None
    assume: Any = ()
    group: str | None = None
    order_words: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    id: Any = ()

    def __post_init__(self) -> None:
        _check_kinds(self)
        for name in ("categorical", "drop", "order_words", "written", "id"):
            object.__setattr__(self, name, _several(getattr(self, name), name))
        object.__setattr__(self, "proportions", _shares(self.proportions))
        object.__setattr__(self, "assume", Assumption.of(self.assume))
        check_carried(self.id)
        if self.method is not None:
            object.__setattr__(self, "method", as_method(self.method))
        if self.assume and (self.method is not None or self.n_generated is not None):
            raise InputError(
                f"assumptions belong to the default method, got {', '.join(self.assume)} beside {self.method_word!r}; "
                "leave one of them out: a method that is named rests on its own"
            )
        check_examples(self.written)
        if self.sets is not None and not 0.5 < self.sets < 1.0:
            raise InputError(f"the coverage of sets must lie above 0.5 and below 1, got {self.sets!r}")
        if self.late is not None and not 0 <= self.late < 100:
            raise InputError(f"late must be a number of windows from 0 to 99, got {self.late!r}")
        if self.n_generated is not None and not 0 <= self.n_generated <= 50:
            raise InputError(f"n_generated must lie between 0 and 50, got {self.n_generated!r}")
        if self.n_generated is not None and self.method is not None:
            raise InputError(
                f"n_generated belongs to GOAT, got {self.n_generated!r} beside {self.method_word!r}; "
                "leave one of them out, or give the number to the method"
            )
        if isinstance(self.order, Column) and self.order.name == self.label:
            raise InputError(f"label and order must be two columns, got {self.label!r} for both")
        if self.order_words and not isinstance(self.order, Column):
            raise InputError(f"order words belong to an order column, got them beside {str(self.order)!r}")
        if len(set(self.order_words)) < len(self.order_words):
            raise InputError(f"order words must differ, got {', '.join(self.order_words)}; name each one once")
        if self.group is not None and self.group == self.label:
            raise InputError(f"label and group must be two columns, got {self.label!r} for both")
        if self.proportions and (self.method is not None or self.n_generated is not None):
            raise InputError(f"proportions belong to the default method, got them beside {self.method_word!r}")
        if self.in_use is not None and (self.method is not None or self.n_generated is not None):
            raise InputError(
                f"a model in use is compared by the default method, got {self.in_use.word!r} beside "
                f"{self.method_word!r}; leave one of them out"
            )
        both = set(self.categorical) & set(self.drop)
        if both:
            raise InputError(f"the column {min(both)!r} is to be dropped and used as categories; leave it out of one")

    @property
    def gate(self) -> Gate:
        """How to decide between the source model and the adapted one."""
        return Gate(keep=self.keep, seed=self.seed, max_samples=self.limits.transport)

    def method_for(self, largest_ratio: float, *, columns: bool = True) -> Method:
        """The method as a value, with plans between samples of the windows.

        ``largest_ratio`` is how far the worst class moves in the largest step, in units of its margin: on huge tables
        the number of generated domains follows from it. With ``columns`` of a table evidence is weighed.
        """
        transport = Transport(max_samples=self.limits.transport, seed=self.seed)
        if isinstance(self.method, GOAT) and self.method.transport == Transport():
            return replace(self.method, transport=transport)
        if self.n_generated is not None:
            return GOAT(self.n_generated, transport=transport)
        if self.method is None and columns:
            return ByEvidence(self.assume, self.seed, self.limits.transport)
        if self.method is None or self.method == ChosenGOAT():
            return ChosenGOAT(GOAT(transport=transport), max_values=_MOST_VALUES, largest_ratio=largest_ratio)
        return self.method

    def given_proportions(self, classes: Sequence[Any]) -> GivenProportions | None:
        """The proportions that were given, in the order of the classes; each class must have one."""
        if not self.proportions:
            return None
        shares, names = dict(self.proportions), [str(name) for name in classes]
        strange = [*(set(shares) - set(names)), *(set(names) - set(shares))]
        if strange:
            raise InputError(f"proportions must name each class once ({', '.join(names)}), look at {min(strange)!r}")
        return GivenProportions(tuple(shares[name] for name in names))

    @property
    def method_word(self) -> str:
        """The method in one word."""
        if self.method is None:
            return "auto" if self.n_generated is None else "goat"
        return word_of(self.method)

    def describe(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "label": self.label,
            "order": str(self.order),
            "order_words": list(self.order_words),
            "written": list(self.written),
            "windows": str(self.windows),
            "model": "LogisticRegression(max_iter=1000)" if self.model is None else " ".join(str(self.model).split()),
            "encoder": "none" if self.encoder is None else " ".join(str(self.encoder).split()),
            "method": self.method_word,
            "n_generated": "auto" if self.n_generated is None else self.n_generated,
            "keep": self.keep.value,
            "categorical": list(self.categorical),
            "assume": list(self.assume),
            "group": self.group,
            "id": list(self.id),
            "proportions": dict(self.proportions),
            "in_use": None if self.in_use is None else self.in_use.word,
            "history": self.history.value,
            "labels_until": self.labels_until or ("the first window" if self.history is History.FIRST else "the last"),
            "metric": "auto" if self.metric is None else self.metric.name,
            "late": "auto" if self.late is None else self.late,
            "sets": self.sets,
            "drop": list(self.drop),
            "training_rows_per_window": self.limits.training,
            "transport_rows_per_window": self.limits.transport,
        }
