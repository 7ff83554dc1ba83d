"""Classifiers, encoders and methods by the words of the command line."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.neural_network import MLPClassifier
from sklearn.utils.validation import check_is_fitted, validate_data

from driftfit.domains import LabelledDomain
from driftfit.errors import InputError, meant
from driftfit.methods import GOAT, Method, named
from driftfit.methods.held_out import held_out
from driftfit.models import as_learner
from driftfit.models.scikit import seed_open
from driftfit.selection import ChosenGOAT

_WORDS = ("logistic", "forest", "boosting", "mlp", "sgd")


def model_from_word(word: str) -> Any:
    """An untrained classifier.

    ``logistic``, ``forest``, ``boosting``, ``mlp``, ``sgd``, or ``PATH.py:NAME``: a classifier in a file of the user's
    own, or a function without arguments that makes one. The file is run.
    """
    if word == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=1000)
    if word == "forest":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(n_estimators=100, min_samples_leaf=3)
    if word == "boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        # Early stopping would split off a part of the rows, which rare classes do not survive.
        return HistGradientBoostingClassifier(early_stopping=False)
    if word == "mlp":
        from sklearn.neural_network import MLPClassifier

        return MLPClassifier((64,), max_iter=100, early_stopping=False)
    if word == "sgd":
        from sklearn.linear_model import SGDClassifier

        return SGDClassifier(loss="log_loss", average=True)
    path, separator, name = word.rpartition(":")
    if not separator or not path.endswith(".py"):
        raise InputError(f"there is no model {word!r}; choose {', '.join(_WORDS)} or PATH.py:NAME{meant(word, _WORDS)}")
    return _from_file(Path(path), name)


def encoder_from_word(word: str) -> Any:
    """An untrained transformer in whose space domains are generated, or None.

    >>> encoder_from_word("none"), encoder_from_word("pca:8")
    (None, PCA(n_components=8))
    """
    if word == "none":
        return None
    if word == "mlp":
        from driftfit.app.models import MLPEncoder

        return MLPEncoder()
    kind, _, number = word.partition(":")
    if kind == "pca" and (number or "32").isdecimal() and int(number or 32) > 0:
        from sklearn.decomposition import PCA

        return PCA(n_components=int(number or 32))
    raise InputError(f"there is no encoder {word!r}; choose none, pca:32 (or another number) or mlp")


def method_from_word(word: str) -> Method | None:
    """A method by its word; None for ``auto``, which the settings know more about.

    >>> method_from_word("source")
    SourceOnly()
    """
    if word == "auto":
        return None
    method = named(word)
    # On somebody's own table the number of generated domains is chosen.
    return ChosenGOAT(method) if isinstance(method, GOAT) else method


def make_model(classifier: Any, encoder: Any, n_samples: int, n_features: int, seed: int) -> Any:
    """The encoder and the classifier as one untrained model with its seeds set.

    A PCA of more components than the data has dimensions gets as many as there are.
    """
    from sklearn.base import clone
    from sklearn.decomposition import PCA
    from sklearn.pipeline import Pipeline

    for part in (classifier, encoder):
        if part is not None and not _is_estimator(part):
            raise InputError(f"{part!r} is no untrained scikit-learn estimator; give a word, or a value such as PCA(8)")
    head = seed_open(clone(classifier), seed)
    if is_network(head):
        if encoder is not None:
            raise InputError("a torch classifier brings its own encoder; use --encoder none with it")
        return head
    steps = [("model", head)]
    if encoder is not None:
        front = seed_open(clone(encoder), seed)
        if isinstance(front, PCA) and isinstance(front.n_components, int):
            # Two thirds of the source are the smallest part it is fitted on.
            front.set_params(n_components=max(1, min(front.n_components, n_features, n_samples // 2)))
        steps.insert(0, ("encoder", front))
    return Pipeline(steps)


def is_network(model: Any) -> bool:
    """Whether a classifier is a torch network, which is written as safetensors instead of skops."""
    return hasattr(model, "make_learner")


def _is_estimator(model: Any) -> bool:
    return not isinstance(model, type) and hasattr(model, "fit") and hasattr(model, "get_params")


def _from_file(path: Path, name: str) -> Any:
    found = object_in_file(path, name)
    try:
        makes_one = isinstance(found, type) or not hasattr(found, "fit")
        model = found() if makes_one and callable(found) else found
    except Exception as error:
        raise InputError(f"{str(path)!r} failed: {type(error).__name__}: {error}") from None
    if not _is_estimator(model):
        raise InputError(f"{name!r} in {str(path)!r} is {type(model).__name__}, not a scikit-learn classifier")
    return model


def object_in_file(path: Path, name: str) -> Any:
    """What a Python file of the user's own calls by a name; the file is run."""
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r} to take the model {name!r} from")
    spec = importlib.util.spec_from_file_location(f"driftfit_user_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"{str(path)!r} cannot be run as Python code")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{str(path)!r} failed: {type(error).__name__}: {error}") from None
    if not hasattr(module, name):
        raise InputError(f"{str(path)!r} defines no {name!r}")
    return getattr(module, name)


class MLPEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Activations of the hidden layer of an `MLPClassifier`.

    ``n_units``: width of the hidden layer, and number of features behind it.

    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 3.0], [3.0, 4.0]])
    >>> MLPEncoder(n_units=4, max_iter=5000, random_state=0).fit(X, [0, 0, 1, 1]).transform(X).shape
    (4, 4)
    """

    def __init__(self, n_units: int = 32, *, max_iter: int = 100, random_state: Any = None) -> None:
        self.n_units = n_units
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train the network on labelled samples."""
        X = validate_data(self, X, reset=True)
        network = MLPClassifier((self.n_units,), max_iter=self.max_iter, random_state=self.random_state)
        network.fit(X, y)
        self.weights_: NDArray[np.float64] = network.coefs_[0]
        self.offsets_: NDArray[np.float64] = network.intercepts_[0]
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """What the hidden layer says about each sample."""
        check_is_fitted(self, "weights_")
        X = validate_data(self, X, reset=False)
        return np.asarray(np.maximum(X @ self.weights_ + self.offsets_, 0.0))


_N_FOLDS = 3


@dataclass(frozen=True)
class BestModel:
    """Stands for the best of several classifiers; of equal ones the first.

    ``words``: as for `model_from_word`, the simplest first.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 2))
    >>> source = LabelledDomain(x, (x[:, 0] * x[:, 1] > 0).astype(int))
    >>> BestModel(("logistic", "forest")).pick(source)[0]
    'forest'
    """

    words: tuple[str, ...] = ("logistic", "forest", "boosting")

    def pick(self, source: LabelledDomain, seed: int = 0) -> tuple[str, str]:
        """The word of the best one, and a sentence on all of them."""
        scores = {}
        for word in self.words:
            model = make_model(model_from_word(word), None, len(source), source.samples.shape[1], seed)
            held = held_out(as_learner(model, source.classes), source, _N_FOLDS, seed)
            scores[word] = float((held.logits.argmax(axis=1) == held.codes).mean())
        best = max(scores, key=lambda word: scores[word])
        largest = float(np.bincount(source.codes()).max() / len(source))
        shown = ", ".join(f"{word} {100 * value:.1f} %" for word, value in scores.items())
        words = f"{best} is the best model of {shown} by cross-validation on the first window"
        return best, f"{words} (its largest class: {100 * largest:.1f} %)"
