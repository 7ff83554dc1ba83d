"""The user's metric: any classification scorer of scikit-learn by its name, or a table of costs."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer, get_scorer_names

from driftfit.errors import InputError, meant

# Below this share of the rows a class is rare: a model that never names it is right on nearly all of them.
RARE = 0.1
# Scorers that look at the named class alone; the others look at probabilities, or at their order.
_OF_ANSWERS = (
    "accuracy", "balanced_accuracy", "f1", "precision", "recall", "jaccard", "matthews_corrcoef",
)  # fmt: skip
_OF_CLASSES = (
    *_OF_ANSWERS, "top_k_accuracy", "average_precision", "roc_auc", "neg_brier_score", "neg_log_loss", "d2_log_loss",
    "d2_brier", "positive_likelihood_ratio", "neg_negative_likelihood_ratio",
)  # fmt: skip
_BINARY_ALONE = ("f1", "precision", "recall", "jaccard", "average_precision", "roc_auc", "neg_brier_score")
_REMEDY = "use one for several classes, such as f1_macro, balanced_accuracy, roc_auc_ovr or neg_log_loss"


@dataclass(frozen=True)
class Metric:
    """What counts: higher is better.

    Parameters
    ----------
    name : str
        A classification scorer of scikit-learn, such as ``roc_auc``, ``average_precision``, ``f1_macro``,
        ``balanced_accuracy`` or ``neg_log_loss``; ``cost`` with a table of costs.
    costs : sequence of sequences of float, optional
        What it costs to answer class ``j`` (column) where class ``i`` (row) is true; the metric is the mean cost of a
        row, below 0.
    classes : tuple of str, optional
        Names of the classes of ``costs``, where they are not in the order of the labels yet (`for_labels`).
    positive : int, optional
        Number of the class that a metric of two classes asks for; the second one by default.

    Examples
    --------
    >>> shares, codes = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]), np.array([0, 1, 1])
    >>> [round(Metric(name).of(shares, codes), 3) for name in ("accuracy", "roc_auc", "f1")]
    [0.667, 1.0, 0.667]
    >>> Metric("cost", ((0.0, 1.0), (5.0, 0.0))).answers(shares).tolist()
    [0, 1, 1]
    """

    name: str = "accuracy"
    costs: Sequence[Sequence[float]] | None = None
    classes: tuple[str, ...] | None = None
    positive: int | None = None
    _scorer: Any = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if (self.name == "cost") != (self.costs is not None):
            raise InputError("the metric 'cost' goes with a table of costs, and only with one: cost:FILE")
        if self.costs is not None:
            table = np.asarray(self.costs, dtype=np.float64)
            if table.ndim != 2 or table.shape[0] != table.shape[1] or not np.isfinite(table).all():
                raise InputError(f"costs must be a square table of finite numbers, got shape {table.shape}")
            return
        try:
            if not str(self.name).startswith(_OF_CLASSES):
                raise ValueError
            object.__setattr__(self, "_scorer", get_scorer(self.name))
        except ValueError:
            raise InputError(
                f"there is no metric {self.name!r}; take the name of a classification scorer of scikit-learn, such as "
                "accuracy, balanced_accuracy, f1_macro, roc_auc, average_precision or neg_log_loss, or cost:FILE"
                + meant(str(self.name), get_scorer_names())
            ) from None

    @classmethod
    def from_word(cls, word: str) -> Metric:
        """A scorer by its name, or ``cost:FILE``: a CSV with the true classes down and the answers across.

        >>> Metric.from_word("roc_auc").name
        'roc_auc'
        """
        kind, separator, path = word.partition(":")
        if kind != "cost" or not separator:
            return cls(word)
        try:
            with Path(path).open(newline="", encoding="utf-8-sig") as file:
                head, *rows = [row for row in csv.reader(file) if row]
            table = {row[0]: dict(zip(head[1:], map(float, row[1:]), strict=True)) for row in rows}
            names = tuple(table)
            return cls("cost", tuple(tuple(table[row][column] for column in names) for row in names), names)
        except (OSError, ValueError, KeyError) as error:
            raise InputError(
                f"{path!r} is no table of costs ({type(error).__name__}: {error}); it needs the classes in its "
                "head and first column, and a number for each pair"
            ) from None

    def for_labels(self, codes: NDArray[np.int64], classes: Sequence[Any]) -> Metric:
        """The same for these classes: costs in their order, and the rarer of two classes as the one that is looked for.

        >>> Metric("cost", ((0.0, 1.0), (5.0, 0.0)), ("yes", "no")).for_labels(np.array([0, 1]), ["no", "yes"]).costs
        ((0.0, 5.0), (1.0, 0.0))
        """
        names = [str(name) for name in classes]
        found = self
        if self.costs is not None and self.classes is not None:
            strange = sorted(set(names) ^ set(self.classes))
            if strange:
                raise InputError(
                    f"the table of costs must name each class once ({', '.join(names)}), look at {strange[0]!r}"
                )
            place = [self.classes.index(name) for name in names]
            found = Metric("cost", tuple(tuple(float(self.costs[i][j]) for j in place) for i in place))
        found.check(len(names))
        if len(names) == 2 and self.name in _BINARY_ALONE and self.positive is None:
            found = replace(found, positive=int(np.bincount(codes, minlength=2).argmin()))
        return found

    @property
    def of_answers(self) -> bool:
        """Whether only the named class counts, so that a threshold can be chosen for it."""
        return self.costs is not None or self.name.startswith(_OF_ANSWERS)

    @property
    def in_points(self) -> bool:
        """Whether it is a share, which reads as a percentage."""
        return self.costs is None and not self.name.startswith(("neg_", "d2_", "matthews"))

    def check(self, n_classes: int) -> None:
        """Raise unless the metric can be had of so many classes."""
        if self.costs is not None and len(self.costs) != n_classes:
            raise InputError(f"the table of costs has {len(self.costs)} classes, the labels have {n_classes}")
        if n_classes > 2 and self.name in _BINARY_ALONE:
            raise InputError(f"the metric {self.name!r} is for two classes, the labels have {n_classes}; {_REMEDY}")
        codes = np.arange(2 * n_classes) % n_classes
        try:
            self.of(np.eye(n_classes)[codes] * 0.5 + 0.5 / n_classes, codes)
        except ValueError as error:
            raise InputError(
                f"the metric {self.name!r} cannot be had of {n_classes} classes ({error}); {_REMEDY}"
            ) from None

    def answers(self, shares: NDArray[np.float64]) -> NDArray[np.int64]:
        """The class to name: the likeliest one, or the cheapest where there are costs."""
        if self.costs is not None:
            return np.asarray((shares @ np.asarray(self.costs)).argmin(axis=1))
        return np.asarray(shares.argmax(axis=1))

    def of(
        self, shares: NDArray[np.float64], codes: NDArray[np.int64], answers: NDArray[np.int64] | None = None
    ) -> float:
        """The metric of class probabilities, and of other answers than the likeliest class where these are given.

        NaN where it is not defined, such as an area under a curve with a single class.
        """
        said = self.answers(shares) if answers is None else answers
        if self.costs is not None:
            return -float(np.asarray(self.costs)[codes, said].mean())
        if self.name == "accuracy" and len(codes):
            # The same as the scorer says, a hundred times as fast: backtests count it thousands of times.
            return float((said == codes).mean())
        stored = _Stored(shares, said)
        truth = codes
        if shares.shape[1] == 2 and self.positive == 0:
            stored, truth = _Stored(shares[:, ::-1], 1 - said), 1 - codes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            warnings.simplefilter("ignore", UserWarning)
            try:
                return float(self._scorer(stored, np.arange(len(truth))[:, None], truth))
            except ValueError:
                if len(np.unique(truth)) < shares.shape[1]:
                    return float("nan")
                raise

    def shown(self, value: float, *, signed: bool = False) -> str:
        """A value in words: a share in percent, or points of it where it is a difference; a loss without its minus.

        >>> Metric("roc_auc").shown(0.8312), Metric("roc_auc").shown(0.021, signed=True)
        ('83.1 %', '+2.1 points')
        """
        if self.in_points:
            return f"{100 * value:+.1f} points" if signed else f"{100 * value:.1f} %"
        return f"{value:+.3f}" if signed else f"{-value if self.is_loss else value:.3f}"

    @property
    def is_loss(self) -> bool:
        """Whether less of it is better, as one would say it; the metric itself is then minus the loss."""
        return self.costs is not None or self.name.startswith("neg_")

    @property
    def words(self) -> str:
        """The metric as one would say it."""
        return "cost per row" if self.costs is not None else self.name.removeprefix("neg_").replace("_", " ")


class _Stored(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Stored answers as the classifier that a scorer asks: a sample is the number of its row."""

    def __init__(self, shares: NDArray[np.float64], said: NDArray[np.int64]) -> None:
        self.shares, self.said = shares, said
        self.classes_ = np.arange(shares.shape[1])

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(self.said[X[:, 0]])

    def predict_proba(self, X: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(self.shares[X[:, 0]])


def default_metric(codes: NDArray[np.int64], n_classes: int) -> tuple[Metric, str]:
    """Accuracy, or balanced accuracy where a class is rare; and the sentence that says so.

    >>> default_metric(np.repeat([0, 1], [95, 5]), 2)[1]
    'counted by balanced accuracy: the rarest class has 5.0 % of the labelled rows (--metric takes another)'
    """
    shares = np.bincount(codes, minlength=n_classes) / max(len(codes), 1)
    if n_classes > 1 and shares.min() < RARE:
        rarest = f"{100 * shares.min():.1f} %"
        return Metric("balanced_accuracy"), (
            f"counted by balanced accuracy: the rarest class has {rarest} of the labelled rows (--metric takes another)"
        )
    return Metric("accuracy"), "counted by accuracy (--metric takes another)"
