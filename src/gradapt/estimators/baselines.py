"""Deep unsupervised domain adaptation as scikit-learn classifiers: DANN, Deep CORAL, DeepJDOT and CoVi."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import clone

from gradapt.domains import DomainSequence
from gradapt.errors import InputError
from gradapt.estimators.base import AdaptedClassifier, _seed
from gradapt.learners import Learner
from gradapt.learners.torch_classifier import TorchClassifier
from gradapt.methods.baselines import DANN, Baseline, BaselineMethod, CoVi, DeepCoral, DeepJDOT
from gradapt.methods.records import Adaptation, OnStep
from gradapt.seeds import as_seed

__all__ = ["CoViClassifier", "DANNClassifier", "DeepCoralClassifier", "DeepJDOTClassifier"]


class _BaselineClassifier(AdaptedClassifier):
    """A `TorchClassifier`, fitted on the source and adapted by one baseline; subclasses name it."""

    layer: str | None
    epochs: int | None
    # The baselines go on from the weights of the source model.
    warm_start = True

    def fit_path(self, sequence: DomainSequence) -> Self:
        self._check_estimator()
        return super().fit_path(sequence)

    def _fit_plain(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._check_estimator()
        return super()._fit_plain(X, y, sample_weight)

    def _adapt(self, learner: Learner, sequence: DomainSequence, on_step: OnStep) -> Adaptation:
        return self._adaptation().adapt(learner, sequence, on_step)

    def _adaptation(self) -> BaselineMethod:
        """What is run, by the parameters."""
        with_given = getattr(self, "with_given", False)
        return BaselineMethod(self._baseline(), with_given=with_given, layer=self.layer, epochs=self.epochs)

    def _baseline(self) -> Baseline:
        raise NotImplementedError

    def _template(self) -> Any:
        estimator = TorchClassifier() if self.estimator is None else clone(self.estimator)
        if self.random_state is not None:
            _seed(estimator, as_seed(self.random_state))
        return estimator

    def _check_estimator(self) -> None:
        if self.estimator is not None and not isinstance(self.estimator, TorchClassifier):
            raise InputError(
                f"{type(self).__name__} trains a torch network and needs a TorchClassifier as its estimator, "
                f"got {type(self.estimator).__name__}; scale or encode the samples before"
            )


class DANNClassifier(_BaselineClassifier):
    """Domain-adversarial training (Ganin et al. 2016).

    Parameters
    ----------
    estimator : TorchClassifier, optional
        The network and how it is trained; a small multi-layer perceptron by default.
    strength : float
        Of the reversed gradient at the end of the training; 0 switches the alignment off.
    hidden : tuple of int
        Neurons of the domain discriminator.
    layer : str, optional
        Named layer whose output is aligned. None: the estimator's ``encoder``; if that is
        ``"input"``, the last layer that leaves something to train on both of its sides.
    with_given : bool
        Take the given domains into the unlabelled side, pooled with the target. By
        default source and target alone are used, as in the original methods.
    epochs : int, optional
        Of the adaptation; None: as when the estimator is refitted.
    keep_if_worse : bool
        Keep the source model, with a warning, where its estimated accuracy on the target is
        higher than the adapted model's (`gradapt.trust.keep_better`, no target labels).
    keep_steps : bool
        Keep the model of every step in ``step_estimators_``.
    on_step : callable, optional
        Called with each `StepRecord` and the learner.
    random_state : int, generator or None
        Seeds the network, its training and the adaptation.

    Attributes
    ----------
    estimator_ : TorchClassifier
        The adapted classifier.
    source_estimator_ : TorchClassifier
        The classifier before adaptation.
    classes_ : array
    path_ : list of StepRecord
        One record for each training.
    plans_ : list
        Empty.
    gate_ : GateDecision or None
        What ``keep_if_worse`` found.

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

    def __init__(
        self,
        estimator: Any = None,
        *,
        strength: float = 1.0,
        hidden: tuple[int, ...] = (100,),
        layer: str | None = None,
        with_given: bool = False,
        epochs: int | None = None,
        keep_if_worse: bool = False,
        keep_steps: bool = False,
        on_step: OnStep | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.strength = strength
        self.hidden = hidden
        self.layer = layer
        self.with_given = with_given
        self.epochs = epochs
        self.keep_if_worse = keep_if_worse
        self.keep_steps = keep_steps
        self.on_step = on_step
        self.random_state = random_state

    def _baseline(self) -> Baseline:
        return DANN(self.strength, self.hidden)


class DeepCoralClassifier(_BaselineClassifier):
    """Deep CORAL (Sun and Saenko 2016): equal covariances of the scores of both domains.

    Parameters
    ----------
    estimator : TorchClassifier, optional
        The network and how it is trained; a small multi-layer perceptron by default.
    weight : float
        Of the CORAL loss; 0 switches the alignment off.
    layer : str or None
        Layer whose features are aligned. None: the scores, as in the paper.
    with_given, epochs, keep_if_worse, keep_steps, on_step, random_state
        As for `DANNClassifier`.

    Attributes
    ----------
    estimator_, source_estimator_, classes_, path_, plans_, gate_
        As for `DANNClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> domain = np.repeat([0, 1], 60)
    >>> y = np.arange(120) % 2
    >>> X = np.random.default_rng(0).normal(size=(120, 1)) * 0.3 + 2.0 * y[:, None] + 0.5 * domain[:, None]
    >>> clf = DeepCoralClassifier(random_state=0).fit(X, y, sample_domain=domain)
    >>> clf.predict([[0.5], [2.5]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        weight: float = 1.0,
        layer: str | None = None,
        with_given: bool = False,
        epochs: int | None = None,
        keep_if_worse: bool = False,
        keep_steps: bool = False,
        on_step: OnStep | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.weight = weight
        self.layer = layer
        self.with_given = with_given
        self.epochs = epochs
        self.keep_if_worse = keep_if_worse
        self.keep_steps = keep_steps
        self.on_step = on_step
        self.random_state = random_state

    def _baseline(self) -> Baseline:
        return DeepCoral(self.weight)


class DeepJDOTClassifier(_BaselineClassifier):
    """DeepJDOT (Damodaran et al. 2018): features and labels carried along the plan of each pair of batches.

    Parameters
    ----------
    estimator : TorchClassifier, optional
        The network and how it is trained; a small multi-layer perceptron by default.
    alpha : float
        Weight of the squared distance of features.
    lambda_t : float
        Weight of the loss of carried labels. Both 0 switch the alignment off.
    layer, with_given, epochs, keep_if_worse, keep_steps, on_step, random_state
        As for `DANNClassifier`.

    Attributes
    ----------
    estimator_, source_estimator_, classes_, path_, plans_, gate_
        As for `DANNClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> domain = np.repeat([0, 1], 60)
    >>> y = np.arange(120) % 2
    >>> X = np.random.default_rng(0).normal(size=(120, 1)) * 0.3 + 2.0 * y[:, None] + 0.5 * domain[:, None]
    >>> clf = DeepJDOTClassifier(random_state=0).fit(X, y, sample_domain=domain)
    >>> clf.predict([[0.5], [2.5]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        alpha: float = 0.001,
        lambda_t: float = 0.0001,
        layer: str | None = None,
        with_given: bool = False,
        epochs: int | None = None,
        keep_if_worse: bool = False,
        keep_steps: bool = False,
        on_step: OnStep | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.lambda_t = lambda_t
        self.layer = layer
        self.with_given = with_given
        self.epochs = epochs
        self.keep_if_worse = keep_if_worse
        self.keep_steps = keep_steps
        self.on_step = on_step
        self.random_state = random_state

    def _baseline(self) -> Baseline:
        return DeepJDOT(self.alpha, self.lambda_t)


class CoViClassifier(_BaselineClassifier):
    """CoVi (Na et al. 2022): mixtures of two domains, from neighbour to neighbour along the given domains.

    Parameters
    ----------
    estimator : TorchClassifier, optional
        The network and how it is trained; a small multi-layer perceptron by default.
    weight : float
        Of the losses on mixtures; 0 switches the alignment off.
    margin : float
        Distance of the two contrastive views from the ratio of largest entropy.
    consensus : float
        Share of the labelled sample in the mixtures of the consensus.
    contrast_weight, consensus_weight : float
        Of the losses on contrastive views and on the consensus, beside the mixture of largest entropy.
    sureness : float
        Standard deviations below the mean confidence down to which views are used.
    epochs : int, optional
        Of each pair of neighbours; None: as when the estimator is refitted.
    keep_if_worse, keep_steps, on_step, random_state
        As for `DANNClassifier`.

    Attributes
    ----------
    estimator_, source_estimator_, classes_, path_, plans_, gate_
        As for `DANNClassifier`; a record for each pair of neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> domain = np.repeat([0, 1], 60)
    >>> y = np.arange(120) % 2
    >>> X = np.random.default_rng(0).normal(size=(120, 1)) * 0.3 + 2.0 * y[:, None] + 0.5 * domain[:, None]
    >>> clf = CoViClassifier(random_state=0).fit(X, y, sample_domain=domain)
    >>> clf.predict([[0.5], [2.5]]).tolist()
    [0, 1]
    """

    # Mixtures are made of samples and judged by scores: it does not matter where the network is cut.
    layer = None

    def __init__(
        self,
        estimator: Any = None,
        *,
        weight: float = 1.0,
        margin: float = 0.1,
        consensus: float = 0.1,
        contrast_weight: float = 1.0,
        consensus_weight: float = 1.0,
        sureness: float = 1.0,
        epochs: int | None = None,
        keep_if_worse: bool = False,
        keep_steps: bool = False,
        on_step: OnStep | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.weight = weight
        self.margin = margin
        self.consensus = consensus
        self.contrast_weight = contrast_weight
        self.consensus_weight = consensus_weight
        self.sureness = sureness
        self.epochs = epochs
        self.keep_if_worse = keep_if_worse
        self.keep_steps = keep_steps
        self.on_step = on_step
        self.random_state = random_state

    def _adaptation(self) -> BaselineMethod:
        baseline = CoVi(
            weight=self.weight,
            margin=self.margin,
            consensus=self.consensus,
            contrast_weight=self.contrast_weight,
            consensus_weight=self.consensus_weight,
            sureness=self.sureness,
        )
        return BaselineMethod(baseline, sequential=True, epochs=self.epochs)
