"""Deep unsupervised domain adaptation as scikit-learn classifiers: DANN, Deep CORAL, DeepJDOT and CoVi."""

from __future__ import annotations

from typing import Any

from driftfit.errors import InputError
from driftfit.estimators.adapted import AdaptedClassifier
from driftfit.methods import Method
from driftfit.methods.baselines import DANN, BaselineMethod, CoVi, DeepCoral, DeepJDOT
from driftfit.models.torch.classifier import TorchClassifier


class _BaselineClassifier(AdaptedClassifier):
    """A `TorchClassifier`, fitted on the source and adapted by one baseline; subclasses name it."""

    def _default_estimator(self) -> Any:
        return TorchClassifier()

    def _template(self) -> Any:
        template = super()._template()
        if not isinstance(template, TorchClassifier):
            raise InputError(
                f"{type(self).__name__} trains a torch network and needs a TorchClassifier as its estimator, "
                f"got {type(template).__name__}; scale or encode the samples before"
            )
        return template


class DANNClassifier(_BaselineClassifier):
    """Domain-adversarial training (Ganin et al. 2016).

    Parameters and attributes are those of `AdaptedClassifier`, but ``estimator`` is a `TorchClassifier`, by default a
    small multi-layer perceptron, and ``method`` is ``BaselineMethod(DANN())`` by default, which has the options:
    strength and discriminator of `DANN`, layer, epochs and pooled domains of `BaselineMethod`.

    Examples
    --------
    >>> import numpy as np
    >>> domain = np.repeat([0, 1], 60)
    >>> y = np.arange(120) % 2
    >>> X = np.random.default_rng(0).normal(size=(120, 1)) * 0.3 + 2.0 * y[:, None] + 0.5 * domain[:, None]
    >>> clf = DANNClassifier(random_state=0).fit(X, y, sample_domain=domain)
    >>> [record.name for record in clf.path_], clf.predict([[0.5], [2.5]]).tolist()
    (['1'], [0, 1])
    """

    def _default_method(self) -> Method:
        return BaselineMethod(DANN())


class DeepCoralClassifier(_BaselineClassifier):
    """Deep CORAL (Sun and Saenko 2016): equal covariances of the scores of both domains.

    As `DANNClassifier`, with ``BaselineMethod(DeepCoral())`` by default.

    Examples
    --------
    >>> DeepCoralClassifier(method=BaselineMethod(DeepCoral(weight=0.5))).method.baseline.weight
    0.5
    """

    def _default_method(self) -> Method:
        return BaselineMethod(DeepCoral())


class DeepJDOTClassifier(_BaselineClassifier):
    """DeepJDOT (Damodaran et al. 2018): features and labels carried along the plan of each pair of batches.

    As `DANNClassifier`, with ``BaselineMethod(DeepJDOT())`` by default.

    Examples
    --------
    >>> DeepJDOTClassifier(method=BaselineMethod(DeepJDOT(alpha=0.01))).method.baseline.alpha
    0.01
    """

    def _default_method(self) -> Method:
        return BaselineMethod(DeepJDOT())


class CoViClassifier(_BaselineClassifier):
    """CoVi (Na et al. 2022): mixtures of two domains, from neighbour to neighbour along the given domains.

    As `DANNClassifier`, with ``BaselineMethod(CoVi(), sequential=True)`` by default; there is a record for each pair
    of neighbours.

    Examples
    --------
    >>> CoViClassifier(method=BaselineMethod(CoVi(margin=0.2), sequential=True)).method.baseline.margin
    0.2
    """

    def _default_method(self) -> Method:
        return BaselineMethod(CoVi(), sequential=True)
