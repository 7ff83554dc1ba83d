"""`TorchClassifier`: any torch module with scikit-learn's conventions."""

from __future__ import annotations

from copy import copy, deepcopy
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from driftfit.checks import check_weights
from driftfit.errors import InputError
from driftfit.models.networks import AUTO, mlp
from driftfit.models.torch.learner import TorchLearner
from driftfit.models.torch.samples import dtype_of, pick_device
from driftfit.models.torch.training import Adam, EarlyStopping, OptimiserFactory, Recipe
from driftfit.progress import long_call
from driftfit.seeds import as_seed


class TorchClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A torch module as a scikit-learn classifier, with an encoder that the methods can freeze.

    Parameters
    ----------
    module : nn.Module, callable or None
        A module (its weights are the starting point), a function ``(sample_shape, n_classes)
        -> module``, or None for a small multi-layer perceptron in double
        precision. It must map a batch to one score per class.
    encoder : str
        Named layer at which `GOATClassifier` and others cut the module: everything up to
        and including it is the encoder. ``"input"``: no encoder. ``"auto"``: `AutoAdaptedClassifier`
        cuts in front of the last layer with weights, the others have no encoder.
    epochs : int
        Of training from scratch.
    refit_epochs : int or None
        When a student goes on from its teacher; None: as ``epochs``.
    batch_size : int or None
        None: all samples at once. A last batch of a single sample is left out.
    optimiser : callable or None
        From parameters to an optimiser; ``Adam(lr=1e-3, weight_decay=0)`` by default. A new
        one is made for every training.
    early_stopping : EarlyStopping or None
    rho : float
        Radius of sharpness-aware minimisation (SAM, Foret et al. 2021), of every training from scratch and of every
        student: each step takes two passes and seeks weights whose neighbourhood is good. 0.05 is the paper's; 0: off.
    random_state : int, generator or None
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``. Data are moved there once and indexed there.

    Attributes
    ----------
    module_ : nn.Module
        The trained module.
    classes_ : array
    n_features_in_ : int

    Examples
    --------
    >>> X = np.array([[0.0], [0.2], [1.0], [1.2]] * 5)
    >>> clf = TorchClassifier(epochs=100, random_state=0).fit(X, [0, 0, 1, 1] * 5)
    >>> clf.predict([[0.1], [1.1]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        module: Any = None,
        *,
        encoder: str = AUTO,
        epochs: int = 50,
        refit_epochs: int | None = None,
        batch_size: int | None = 128,
        optimiser: OptimiserFactory | None = None,
        early_stopping: EarlyStopping | None = None,
        rho: float = 0.0,
        random_state: Any = None,
        device: str = "auto",
    ) -> None:
        self.module = module
        self.encoder = encoder
        self.epochs = epochs
        self.refit_epochs = refit_epochs
        self.batch_size = batch_size
        self.optimiser = optimiser
        self.early_stopping = early_stopping
        self.rho = rho
        self.random_state = random_state
        self.device = device

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train from scratch.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            Tables, images, or anything the module takes.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], allow_nd=True)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"TorchClassifier needs samples of at least 2 classes, got one class: {str(classes[0])!r}")
        weights = None if sample_weight is None else check_weights(sample_weight, len(X), "sample_weight")
        with long_call():
            learner = self.make_learner(classes).fit(X, codes, weights)
        self.module_, self.classes_ = learner.trained, classes
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The most likely class of each sample."""
        scores = self._scores(X)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities, one column for each of ``classes_``."""
        return np.asarray(softmax(self._scores(X), axis=1))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of the classes; with two classes, by how much the second exceeds the first."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def make_learner(self, classes: NDArray[Any]) -> TorchLearner:
        """The `Learner` of this classifier, trained if the classifier is."""
        optimiser = self.optimiser or Adam(1e-3, 0.0)
        recipe = Recipe(self.epochs, self.batch_size, optimiser, self.early_stopping, self.rho)
        refit = recipe if self.refit_epochs is None else replace(recipe, epochs=self.refit_epochs)
        return TorchLearner(
            build=partial(_build, self.module),
            classes=classes,
            recipe=recipe,
            refit_recipe=refit,
            device=pick_device(self.device),
            seed=as_seed(self.random_state),
            encoder_layer=self.encoder,
            owner=self,
            module=getattr(self, "module_", None),
        )

    def with_module(self, module: nn.Module, classes: NDArray[Any]) -> TorchClassifier:
        """A fitted copy of this classifier around a trained module."""
        fitted = copy(self)
        fitted.module_, fitted.classes_ = module, classes
        shape = getattr(module, "sample_shape", None)
        if shape is not None:
            fitted.n_features_in_ = int(shape[0])
        return fitted

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "module_")
        X = validate_data(self, X, dtype=[np.float64, np.float32], allow_nd=True, reset=False)
        shape = getattr(self.module_, "sample_shape", X.shape[1:])
        if tuple(X.shape[1:]) != tuple(shape):
            raise InputError(f"the classifier was fitted on samples of shape {tuple(shape)}, got {X.shape[1:]}")
        return self.make_learner(self.classes_).logits(X)


def _build(module: Any, sample_shape: tuple[int, ...], n_classes: int) -> nn.Module:
    """A fresh copy of what the user named as the module."""
    if isinstance(module, nn.Module):
        return deepcopy(module)
    if module is None:
        flat = int(np.prod(sample_shape))
        net = mlp(flat, n_classes, hidden=(64,), dropout=0.0, batch_norm=False).double()
        return net if len(sample_shape) == 1 else nn.Sequential(nn.Flatten(), *net)
    built = module(sample_shape, n_classes) if callable(module) else None
    if not isinstance(built, nn.Module):
        raise InputError(
            f"module must be a torch module, a function (sample_shape, n_classes) -> module, or None, got {module!r}"
        )
    with torch.no_grad():
        was_training = built.training
        scores = built.eval()(torch.zeros((1, *sample_shape), dtype=dtype_of(built)))
        built.train(was_training)
    if tuple(scores.shape) != (1, n_classes):
        raise InputError(f"the module gives scores of shape {tuple(scores.shape[1:])} for {n_classes} classes")
    return built
