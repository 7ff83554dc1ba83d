"""Any scikit-learn classifier or pipeline as a `Learner`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone, is_clusterer, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from driftfit.domains import Interpolated, is_frame, is_tensor, take_rows
from driftfit.errors import AdaptationWarning, InputError
from driftfit.seeds import derive_seed

# With fewer values than this, threads wait more than they work.
_FEW_VALUES = 5e6
Training = tuple[Any, NDArray[Any], "NDArray[np.float64] | None"]
# Mixtures that a sample starts, where they are made once for a whole training.
_MIXTURES = 2
# Probabilities below this are as good as zero; their logarithm stays finite.
_LEAST_PROBABILITY = 1e-12


@dataclass(frozen=True, eq=False)
class ScikitLearner:
    """A scikit-learn classifier; in a pipeline, all steps but the last are the encoder.

    ``estimator``: a template before training, the fitted model afterwards. ``classes``: all classes of the problem. A
    model that has seen only some of them gives the others the lowest score.
    """

    estimator: Any
    classes: NDArray[Any]

    @property
    def takes_weights(self) -> bool:
        return bool(has_fit_parameter(_last_step(self.estimator), "sample_weight"))

    def fit(self, samples: Any, labels: NDArray[Any], weights: NDArray[np.float64] | None = None) -> Self:
        return self._trained(clone(self.estimator), *self._usable(samples, labels, weights))

    @property
    def learns_in_batches(self) -> bool:
        """Whether `fit_batches` can be used: no encoder, and a classifier that goes on where it was."""
        return not has_encoder(self.estimator) and hasattr(_last_step(self.estimator), "partial_fit")

    def fit_batches(self, batches: Iterable[tuple[Any, NDArray[np.int64]]]) -> Self:
        """One pass over more samples than memory holds; each batch comes with the numbers of its classes."""
        model = _last_step(clone(self.estimator))
        for samples, labels in batches:
            with calm_threads(model, samples):
                model.partial_fit(samples, self.classes[labels], classes=self.classes)
        return self.with_head(replace(self, estimator=model))

    def fit_mixed(self, samples: Any, labels: NDArray[Any], weights: NDArray[np.float64] | None, alpha: float) -> Self:
        """Each sample mixed with two others, once for the whole training; a mixture stands once for each of its labels.

        That is two rows of one mixture, weighted by its shares, so that any classifier with weights can learn from it.
        """
        if not self.takes_weights:
            raise InputError(
                f"mixup needs weights, which {type(_last_step(self.estimator)).__name__} does not take; "
                "choose another classifier or leave mixup out"
            )
        return self.fit(*_mixed(samples, labels, weights, alpha, len(self.classes)))

    def refit(self, samples: Any, labels: NDArray[Any], weights: NDArray[np.float64] | None = None) -> Self:
        model = self.estimator
        samples, labels, weights = self._usable(samples, labels, weights)
        goes_on = _continues(model) and set(self.classes[labels]) == set(model.classes_)
        return self._trained(_copy_with_state(model) if goes_on else clone(model), samples, labels, weights)

    def logits(self, samples: Any) -> NDArray[np.float64]:
        with calm_threads(self.estimator, samples):
            scores = _log_probabilities(self.estimator, samples)
        if not np.isfinite(scores).all():
            raise InputError(
                f"{type(_last_step(self.estimator)).__name__} gave scores that are not finite; "
                "rescale the features, for instance with StandardScaler in front of it"
            )
        return columns_of_all(scores, self.estimator.classes_, self.classes, absent=float(np.log(_LEAST_PROBABILITY)))

    def place(self, samples: Any) -> Any:
        """As an array where they are tensors or to be formed: scikit-learn reads nothing else."""
        if isinstance(samples, Interpolated):
            samples = samples.whole()
        return samples.cpu().numpy() if is_tensor(samples) else samples

    def encode(self, samples: Any) -> Any:
        if not has_encoder(self.estimator):
            return samples
        return self.estimator[:-1].transform(samples)

    def head(self) -> ScikitLearner:
        return replace(self, estimator=_last_step(self.estimator))

    def with_head(self, head: ScikitLearner) -> Self:
        if not isinstance(self.estimator, Pipeline):
            return replace(self, estimator=head.estimator)
        name = self.estimator.steps[-1][0]
        steps = [*self.estimator.steps[:-1], (name, head.estimator)]
        return replace(self, estimator=_with_steps(self.estimator, steps))

    def _usable(self, samples: Any, labels: NDArray[Any], weights: NDArray[np.float64] | None) -> Training:
        """Samples with one class each, none of which the classifier would stumble over."""
        if labels.ndim == 2:
            samples, labels, weights = _spread_soft_labels(samples, labels, weights)
        counts = np.bincount(labels, minlength=len(self.classes))
        if not _holds_out(self.estimator, len(labels)) or not (counts == 1).any() or (counts > 1).sum() < 2:
            return samples, labels, weights
        # A class with a single sample, such as one stray pseudo-label, cannot be in both parts of a split.
        single = ", ".join(repr(str(name)) for name in self.classes[counts == 1])
        warnings.warn(
            f"{type(_last_step(self.estimator)).__name__} stops early on held-out samples and needs two of each class; "
            f"a step left out the single sample of class {single}: early_stopping=False would keep it",
            AdaptationWarning,
            stacklevel=4,
        )
        kept = np.flatnonzero(counts[labels] > 1)
        return take_rows(samples, kept), labels[kept], None if weights is None else weights[kept]

    def _trained(self, model: Any, samples: Any, labels: NDArray[Any], weights: NDArray[np.float64] | None) -> Self:
        if weights is not None:
            # scikit-learn's regularisation assumes weights of mean 1.
            weights = weights * (len(weights) / weights.sum())
        try:
            with calm_threads(model, samples):
                fitted = fit_weighted(model, samples, self.classes[labels], weights)
        except InputError:
            raise
        except ValueError as error:
            counts = np.bincount(labels, minlength=len(self.classes))
            fewest = int(counts.argmin())
            raise InputError(
                f"{type(_last_step(model)).__name__} could not be trained on {len(labels)} samples, of which "
                f"{counts[fewest]} are of class {str(self.classes[fewest])!r} ({error}); "
                "widen the windows or choose another classifier"
            ) from error
        return replace(self, estimator=fitted)


def columns_of_all(
    values: NDArray[np.float64], known: NDArray[Any], classes: NDArray[Any], *, absent: float = 0.0
) -> NDArray[np.float64]:
    """One column for each of all classes, where a model has seen only some of them.

    >>> columns_of_all(np.array([[0.25, 0.75]]), np.array([0, 2]), np.array([0, 1, 2])).tolist()
    [[0.25, 0.0, 0.75]]
    """
    if len(known) == len(classes):
        return values
    full = np.full((len(values), len(classes)), absent)
    full[:, np.searchsorted(classes, known)] = values
    return full


def check_classifier(estimator: Any) -> None:
    """Raise where an estimator predicts numbers, finds clusters or only transforms: it would never have classes."""
    last = _last_step(estimator)
    wrong = [word for word, check in (("regressor", is_regressor), ("cluster model", is_clusterer)) if check(estimator)]
    if not wrong and not hasattr(last, "predict"):
        wrong = ["estimator without predict"]
    if wrong:
        raise InputError(
            f"{type(last).__name__} is a {wrong[0]}, not a classifier; give a classifier such as LogisticRegression()"
        )


def fit_weighted(model: Any, samples: Any, labels: Any, weights: Any) -> Any:
    """Fit a classifier or pipeline; weights go to the last step, whatever scikit-learn's routing is set to."""
    if weights is None:
        return model.fit(samples, labels)
    last = _last_step(model)
    if not has_fit_parameter(last, "sample_weight"):
        raise InputError(
            f"{type(last).__name__} does not take sample weights; use hard labels "
            "without weights, or a classifier whose fit has sample_weight"
        )
    if not has_encoder(model):
        last.fit(samples, labels, sample_weight=weights)
        return model
    encoder = model[:-1]
    last.fit(encoder.fit_transform(samples, labels), labels, sample_weight=weights)
    return _with_steps(model, [*encoder.steps, model.steps[-1]])


def seed_open(estimator: Any, seed: int) -> Any:
    """Set every ``random_state`` that the user left open, in place; returns the estimator.

    >>> from sklearn.linear_model import LogisticRegression
    >>> seed_open(LogisticRegression(), 3).random_state, seed_open(LogisticRegression(random_state=1), 3).random_state
    (3, 1)
    """
    parameters = estimator.get_params(deep=True)
    names = [
        name
        for name, value in parameters.items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    estimator.set_params(**dict.fromkeys(names, seed % 2**31))
    return estimator


def _spread_soft_labels(
    samples: Any, shares: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> tuple[Any, NDArray[np.int64], NDArray[np.float64]]:
    """One copy of a sample for each class it may belong to, weighted by the class share."""
    rows, labels = np.nonzero(shares > 1e-3)
    share = shares[rows, labels]
    total = share if weights is None else share * weights[rows]
    return take_rows(samples, rows), labels.astype(np.int64), total


def _mixed(
    samples: Any, labels: NDArray[Any], weights: NDArray[np.float64] | None, alpha: float, n_classes: int
) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
    """Mixtures of rows with shares of both labels; a mixture weighs as much as its parts."""
    if is_frame(samples):
        raise InputError("mixup mixes numbers, got a data frame; give an array, or leave mixup out")
    n = len(labels)
    rng = np.random.default_rng(derive_seed("mixup", n))
    rows = np.tile(np.arange(n), _MIXTURES)
    partners = (rows + rng.integers(1, max(n, 2), len(rows))) % n
    own = rng.beta(alpha, alpha, len(rows))
    shares = labels if labels.ndim == 2 else np.eye(n_classes)[labels]
    heavy = np.full(n, 1.0) if weights is None else weights
    parts = [(rows, own * heavy[rows]), (partners, (1.0 - own) * heavy[partners])]
    total = parts[0][1] + parts[1][1]
    kept = np.flatnonzero(total > 0)
    soft = sum(mass[kept, None] * shares[chosen[kept]] for chosen, mass in parts) / total[kept, None]
    first, second = take_rows(samples, rows[kept]), take_rows(samples, partners[kept])
    if sp.issparse(first):
        mixtures: Any = sp.diags_array(own[kept]) @ first + sp.diags_array(1.0 - own[kept]) @ second
        return sp.csr_array(mixtures), np.asarray(soft), total[kept]
    wide = own[kept].reshape(-1, *[1] * (len(first.shape) - 1))
    return wide * first + (1.0 - wide) * second, np.asarray(soft), total[kept]


def _log_probabilities(model: Any, samples: Any) -> NDArray[np.float64]:
    if hasattr(model, "predict_proba"):
        probabilities = np.asarray(model.predict_proba(samples), dtype=np.float64)
        return np.asarray(np.log(np.maximum(probabilities, _LEAST_PROBABILITY)))
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(samples), dtype=np.float64)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        if scores.shape[1] != len(model.classes_):
            raise InputError(
                f"{type(_last_step(model)).__name__} gives {scores.shape[1]} scores for {len(model.classes_)} classes; "
                "for SVC set decision_function_shape='ovr'"
            )
        return np.asarray(np.maximum(scores - _log_sum_exp(scores), np.log(_LEAST_PROBABILITY)))
    predicted = np.searchsorted(model.classes_, model.predict(samples))
    one_hot = np.full((len(predicted), len(model.classes_)), np.log(_LEAST_PROBABILITY))
    one_hot[np.arange(len(predicted)), predicted] = 0.0
    return one_hot


def _log_sum_exp(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    top = scores.max(axis=1, keepdims=True)
    return np.asarray(top + np.log(np.exp(scores - top).sum(axis=1, keepdims=True)))


@contextmanager
def calm_threads(model: Any, samples: Any) -> Iterator[None]:
    """One thread for boosting on small tables.

    Its threads wait for each other after every few thousand values, and a core that is busy elsewhere keeps all of
    them waiting: a hundred times longer than one thread takes.
    """
    small = np.prod([float(size) for size in getattr(samples, "shape", ())]) < _FEW_VALUES
    if not small or not type(_last_step(model)).__name__.startswith("HistGradientBoosting"):
        yield
        return
    with _controller().limit(limits=1, user_api="openmp"):
        yield


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _holds_out(model: Any, n_samples: int) -> bool:
    """Whether training splits off samples of each class to stop early."""
    asked = getattr(_last_step(model), "early_stopping", False)
    return n_samples > 10_000 if asked == "auto" else bool(asked)


def _with_steps(pipeline: Pipeline, steps: list[tuple[str, Any]]) -> Pipeline:
    """The same pipeline, options and all, with other steps."""
    changed = copy(pipeline)
    changed.steps = steps
    return changed


def has_encoder(model: Any) -> bool:
    """Whether a model is a pipeline with something in front of its classifier."""
    return isinstance(model, Pipeline) and len(model.steps) > 1


def _last_step(model: Any) -> Any:
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def _continues(model: Any) -> bool:
    """Whether ``warm_start`` means to go on from the coefficients (for trees it means more trees)."""
    has_coefficients = hasattr(model, "coef_") or hasattr(model, "coefs_")
    return not has_encoder(model) and has_coefficients and "warm_start" in model.get_params()


def _copy_with_state(model: Any) -> Any:
    """A copy that continues from the model's coefficients; the model itself stays as it is."""
    student = deepcopy(model).set_params(warm_start=True)
    # scikit-learn's MLP would compare the loss on the new samples with its best loss on the
    # old ones and stop at once: let it begin counting anew.
    fresh = {"best_loss_": np.inf, "_no_improvement_count": 0, "loss_curve_": [], "validation_scores_": []}
    if getattr(student, "best_validation_score_", None) is not None:
        fresh |= {"best_validation_score_": -np.inf}
    for name, value in fresh.items():
        if getattr(student, name, None) is not None:
            setattr(student, name, value)
    return student
