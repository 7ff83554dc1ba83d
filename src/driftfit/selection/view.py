"""`PathView`: a sequence of domains without any label but the source's, with means and shares by weight."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from driftfit.domains import DomainSequence, take_rows
from driftfit.errors import InputError
from driftfit.methods import GradualSelfTraining, StepRecord
from driftfit.methods.pseudo_labels import Weights, class_shares, total_variation
from driftfit.models import Learner, as_learner
from driftfit.seeds import derive_seed

_HELD_OUT = 1 / 3

Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class PathView:
    """Domains with masked labels, and a source model with a part of the source held out of its training.

    A view is made once and shared: whatever is expensive (students, features, prepared estimators, the
    verdict) is computed when it is first asked for and kept with the view.

    Attributes
    ----------
    sequence : DomainSequence
        Labels of every domain but the source removed.
    template : Learner
        Not trained.
    learner : Learner
        Trained on the ``fit_rows`` of the source, with the source's weights.
    codes : int array
        Source labels as indices into the learner's classes.
    fit_rows, held_rows : int arrays
        Rows of the source used for training, and those held out for calibration.
    seed : int
    """

    sequence: DomainSequence
    template: Learner
    learner: Learner
    codes: NDArray[np.int64]
    fit_rows: NDArray[np.int64]
    held_rows: NDArray[np.int64]
    seed: int
    _made: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, sequence: DomainSequence, model: Any, seed: int = 0) -> PathView:
        """Mask the labels, split the source and train the model on one part of it.

        Parameters
        ----------
        sequence : DomainSequence
            Weights are used; a model that cannot be trained with the source's weights is refused.
        model : classifier or Learner
            Cloned and trained anew.
        seed : int
        """
        masked = sequence.masked()
        source = masked.source
        if len(source.classes) < 2:
            raise InputError(
                f"the source has the single class {str(source.classes[0])!r}; a classifier needs at least two"
            )
        template = model if isinstance(model, Learner) else as_learner(model, source.classes)
        # A sample of the source may lack a class that the learner knows: the learner's classes count.
        codes = source.codes(template.classes)
        fit_rows, held_rows = _split(codes, seed)
        weights = source.uneven_weights
        if weights is not None and not template.takes_weights:
            classifier = type(template.head().estimator).__name__
            raise InputError(
                f"the source has sample weights, which {classifier} cannot be trained with; "
                "choose a classifier whose fit takes sample_weight, or leave the weights out"
            )
        fit_weights = None if weights is None else weights[fit_rows]
        learner = template.fit(take_rows(source.samples, fit_rows), codes[fit_rows], fit_weights)
        return cls(masked, template, learner, codes, fit_rows, held_rows, seed)

    @property
    def n_classes(self) -> int:
        """Number of classes that the model knows."""
        return len(self.learner.classes)

    @property
    def last(self) -> int:
        """Number of the target."""
        return len(self.sequence) - 1

    @property
    def students(self) -> list[Learner]:
        """The source model and its students, one after each domain, by gradual self-training."""
        return self.once("students", lambda: students_along(self.learner, self.sequence))

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What ``make`` gives, made at the first call and the same for everybody who shares the view."""
        if key not in self._made:
            self._made[key] = make()
        return cast(Made, self._made[key])

    def weights(self, number: int, rows: NDArray[np.int64] | None = None) -> Weights:
        """Weights of (some rows of) a domain; None where all are equal."""
        weights = self.sequence[number].uneven_weights
        return weights if weights is None or rows is None else weights[rows]

    def held_samples(self) -> Any:
        """Source samples that the model was not trained on."""
        return take_rows(self.sequence.source.samples, self.held_rows)

    def held_weights(self) -> Weights:
        """Their weights."""
        return self.weights(0, self.held_rows)

    def held_predicted(self) -> NDArray[np.int64]:
        """What the source model says about them, as class codes."""
        return self.once("held", lambda: np.asarray(self.learner.logits(self.held_samples()).argmax(axis=1)))

    def source_predicted(self, number: int) -> NDArray[np.int64]:
        """What the source model says about a domain, as class codes."""
        return self.once(("source predicted", number), lambda: self.predicted(self.learner, number))

    def predicted(self, learner: Learner, number: int) -> NDArray[np.int64]:
        """Class codes that a learner predicts on a domain."""
        return np.asarray(learner.logits(self.sequence[number].samples).argmax(axis=1))

    def features(self, number: int, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Features of (some rows of) a domain, in the space of the source model's encoder."""
        whole = self.once(("features", number), lambda: encoded_rows(self.learner, self.sequence[number].samples))
        return whole if rows is None else whole[rows]

    def rng(self, *names: Any) -> np.random.Generator:
        """A random stream of its own for each use."""
        return np.random.default_rng(derive_seed(self.seed, "trust", *names))


def students_along(learner: Learner, sequence: DomainSequence) -> list[Learner]:
    """A trained learner and its students, one after each domain, by gradual self-training."""
    learners = [learner]

    def collect(record: StepRecord, student: Learner) -> None:
        learners.append(student)

    GradualSelfTraining(measure_shift=False).adapt(learner, sequence, collect)
    return learners


def encoded_rows(learner: Learner, samples: Any) -> NDArray[np.float64]:
    """Encoded samples as one row of numbers each."""
    encoded = learner.encode(samples)
    if hasattr(encoded, "toarray"):
        encoded = encoded.toarray()
    if hasattr(encoded, "detach"):
        encoded = encoded.detach().cpu().numpy()
    try:
        matrix = np.asarray(encoded, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the samples hold other than numbers ({error}); put an encoder such as a ColumnTransformer in front of "
            "the classifier, in one pipeline"
        ) from None
    return matrix.reshape(len(matrix), -1)


def _split(codes: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A third of each class held out."""
    rng = np.random.default_rng(derive_seed(seed, "trust", "split"))
    held: list[NDArray[np.int64]] = []
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        held.append(rows[: int(len(rows) * _HELD_OUT)])
    held_rows = np.sort(np.concatenate(held))
    if len(held_rows) == 0:
        raise InputError(f"the source has only {len(codes)} samples; give at least three of each class")
    fit_rows = np.setdiff1d(np.arange(len(codes)), held_rows)
    return fit_rows, held_rows


__all__ = ["Weights", "class_shares", "effective_size", "mean", "quantile", "total_variation"]


def mean(values: NDArray[Any], weights: Weights = None) -> float:
    """The mean; of truth values, the share that is true.

    >>> mean(np.array([True, False])), mean(np.array([1.0, 3.0]), np.array([0.75, 0.25]))
    (0.5, 1.5)
    """
    return float(values.mean()) if weights is None else float(np.average(values, weights=weights))


def effective_size(n: int, weights: Weights = None) -> float:
    """How many samples of equal weight say as much (Kish): ``(sum w)^2 / sum w^2``.

    >>> effective_size(4), effective_size(4, np.array([0.5, 0.5, 0.0, 0.0]))
    (4.0, 2.0)
    """
    return float(n) if weights is None else float(weights.sum() ** 2 / np.square(weights).sum())


def quantile(values: NDArray[np.float64], share: float, weights: Weights = None) -> float:
    """The value that a share of the weight does not exceed.

    >>> quantile(np.array([1.0, 2.0, 3.0]), 0.5), quantile(np.array([1.0, 2.0, 3.0]), 0.5, np.array([0.8, 0.1, 0.1]))
    (2.0, 1.0)
    """
    if weights is None:
        return float(np.quantile(values, share))
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) / weights.sum()
    return float(values[order[min(int(np.searchsorted(reached, share - 1e-12)), len(order) - 1)]])
