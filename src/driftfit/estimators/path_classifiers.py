"""Classifiers that choose for themselves what to do, and short forms of single methods."""

from __future__ import annotations

from typing import Any, Literal, Self

from driftfit.domains import DomainSequence
from driftfit.errors import InputError
from driftfit.estimators.adapted import AdaptedClassifier
from driftfit.methods import (
    GOAT,
    Assumption,
    CarriedLabels,
    DirectSelfTraining,
    FromHistory,
    GradualMethod,
    GradualSelfTraining,
    Method,
    OnStep,
    Transport,
)
from driftfit.models import Learner
from driftfit.progress import tell
from driftfit.selection import ALL_LABELS, Backtest, ByEvidence, ByHistory, Choice, ChosenGOAT, Gate, Ladder, Metric


class DirectSelfTrainingClassifier(AdaptedClassifier):
    """Self-training straight from the source to the target, whatever lies between.

    Parameters and attributes are those of `AdaptedClassifier`; ``method`` is
    ``DirectSelfTraining()`` by default.

    Examples
    --------
    >>> import numpy as np
    >>> from driftfit.methods import SelfTraining
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0], [0.6], [1.6], [5.6], [6.6]])
    >>> y = [0, 0, 1, 1, None, None, None, None]
    >>> method = DirectSelfTraining(SelfTraining(drop_fraction=0))
    >>> clf = DirectSelfTrainingClassifier(method=method).fit(X, y, sample_domain=[1] * 4 + [2] * 4)
    >>> clf.predict([[0.8], [6.2]]).tolist()
    [0, 1]
    """

    def _default_method(self) -> Method:
        return DirectSelfTraining()


class GradualSelfTrainingClassifier(AdaptedClassifier):
    """Gradual self-training over the given domains (Kumar, Ma and Liang 2020).

    Parameters and attributes are those of `AdaptedClassifier`; ``method`` is
    ``GradualSelfTraining()`` by default.

    Examples
    --------
    >>> import numpy as np
    >>> year = np.repeat([1999, 2004, 2009], 40)
    >>> X = np.random.default_rng(0).normal(size=(120, 1)) * 0.2 + (year[:, None] - 1999) / 10
    >>> y = np.where(np.arange(120) % 2, 1, 0)
    >>> X[y == 1] += 2
    >>> clf = GradualSelfTrainingClassifier().fit(X, y, sample_domain=year)
    >>> [record.name for record in clf.path_], clf.score(X[year == 2009], y[year == 2009])
    (['2004', '2009'], 1.0)
    """

    def _default_method(self) -> Method:
        return GradualSelfTraining()


class CarriedLabelsClassifier(AdaptedClassifier):
    """A new model of the target, trained on the labels that transport plans carry there.

    Parameters and attributes are those of `AdaptedClassifier`; ``method`` is
    ``CarriedLabels()`` by default. ``adaptation_.carried`` holds the carried shares of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0], [3.0], [4.0], [8.0], [9.0]])
    >>> y = [0, 0, 1, 1, None, None, None, None]
    >>> clf = CarriedLabelsClassifier().fit(X, y, sample_domain=[1] * 4 + [2] * 4)
    >>> clf.predict([[4.0], [8.0]]).tolist(), clf.adaptation_.carried[0].tolist()
    ([0, 1], [1.0, 0.0])
    """

    def _default_method(self) -> Method:
        return CarriedLabels()


class GOATClassifier(AdaptedClassifier):
    """Gradual adaptation along generated domains on the Wasserstein geodesic (GOAT).

    Parameters
    ----------
    estimator : classifier, optional
        Any scikit-learn classifier or pipeline; logistic regression by default. In a
        pipeline, all steps but the last are the encoder in whose space domains are generated.
    n_generated : int or "auto"
        Domains generated between each two neighbouring domains. "auto" runs 0 to 4 on the same
        plans and keeps the number that fits best the labels that the plans carry to the target
        (`driftfit.selection.ChosenGOAT`, no target labels).
    transport : Transport, optional
        How neighbours are coupled: solver, cost, cutoffs, number of samples; exact by default.
    method : GradualMethod, optional
        What runs along the generated path, such as
        ``GradualSelfTraining(SelfTraining(drop_fraction=0.2))``.
    feature_space : bool
        False generates in the input space and adapts the whole pipeline.
    gate, keep_steps, on_step, random_state, history
        As for `AdaptedClassifier`. With "auto", ``on_step`` and ``keep_steps`` see the steps of
        the chosen number alone, once it is chosen.

    Attributes
    ----------
    estimator_, source_estimator_, classes_, path_, plans_, adaptation_, decision_
        As for `AdaptedClassifier`.
    n_generated_ : int
        The number that was used; 0 where there were no domains to adapt along.
    choice_ : Choice or None
        With "auto", the scores of all candidates and the choice in words.

    Examples
    --------
    >>> import numpy as np
    >>> domain = np.repeat([0, 1], 60)
    >>> y = np.arange(120) % 2
    >>> X = np.random.default_rng(0).normal(size=(120, 1)) * 0.3 + 2.0 * y[:, None] + 1.2 * domain[:, None]
    >>> clf = GOATClassifier(n_generated=3).fit(X, y, sample_domain=domain)
    >>> [round(record.position, 2) for record in clf.path_]
    [0.25, 0.5, 0.75, 1.0]
    >>> clf.score(X[domain == 1], y[domain == 1]), clf.plans_[0].certificate.proves_optimal()
    (1.0, True)
    >>> GOATClassifier(n_generated="auto").fit(X, y, sample_domain=domain).n_generated_ in (0, 1, 2, 3, 4)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_generated: int | Literal["auto"] = 4,
        transport: Transport | None = None,
        method: GradualMethod | None = None,
        feature_space: bool = True,
        gate: Gate | None = None,
        keep_steps: bool = False,
        on_step: OnStep = None,
        random_state: Any = None,
        history: str | None = None,
    ) -> None:
        super().__init__(
            estimator,
            gate=gate,
            keep_steps=keep_steps,
            on_step=on_step,
            random_state=random_state,
            history=history,
        )
        self.n_generated = n_generated
        self.transport = transport
        self.method: Any = method
        self.feature_space = feature_space

    @property
    def choice_(self) -> Choice | None:
        choice: Choice | None = None if self.adaptation_ is None else self.adaptation_.choice
        return choice

    @property
    def n_generated_(self) -> int:
        return 0 if self.adaptation_ is None else self.adaptation_.n_generated

    def _method(self) -> Method:
        if isinstance(self.n_generated, str) and self.n_generated != "auto":
            raise InputError(f"n_generated must be a whole number >= 0 or 'auto', got {self.n_generated!r}")
        gradual = GradualSelfTraining() if self.method is None else self.method
        if not isinstance(gradual, GradualMethod):
            raise InputError(f"method must run along a path, such as GradualSelfTraining(), got {gradual!r}")
        transport = Transport() if self.transport is None else self.transport
        if not isinstance(transport, Transport):
            raise InputError(f"transport must be a value such as Transport(solver=Sinkhorn()), got {transport!r}")
        auto = self.n_generated == "auto"
        goat = GOAT(0 if auto else self.n_generated, gradual, transport, self.feature_space)  # type: ignore[arg-type]
        return ChosenGOAT(goat) if auto else goat


# Pixels, and what one encoder makes of them, are of one kind: no column has a unit of its own.
_OF_IMAGES = (Assumption.STRUCTURE, Assumption.PATH)


class AutoAdaptedClassifier(AdaptedClassifier):
    """Learns from all labels that there are, adapts as far as evidence goes, and keeps the plain model elsewhere.

    Where several domains have labels, backtests over them measure which way of learning helps
    (`driftfit.selection.ByHistory`), at the lag at which labels come; the plain model of all labels stays unless
    another way clearly gained.

    Without labels of today most kinds of drift look alike and ask for opposite answers. So what may have changed is
    declared (``assume``), what follows from it is tested on the data, and methods are compared only among those that
    rest on what was declared (`driftfit.selection.ByEvidence`). Where nothing is declared for a table, where nothing
    moved, or where the data refute what was declared, the source model stays exactly as it is.

    Parameters
    ----------
    estimator : classifier, optional
        Any scikit-learn classifier or pipeline, or a `TorchClassifier`; logistic regression by default.
    assume : str or sequence of str, optional
        ``covariates``, ``proportions``, ``scale``, ``structure``, ``path``: what may have changed, the one that is
        believed most first. By default nothing for rows of columns, and structure and path for images.
    method : Method, optional
        Another way to adapt, such as `driftfit.selection.Chosen` with candidates of one's own, in place of ``assume``.
    metric : str or Metric, optional
        What backtests count by: a classification scorer of scikit-learn. By default accuracy, or balanced accuracy
        where a class has under a tenth of the labels.
    max_samples : int or None
        By default plans are made between at most so many samples of each domain; None for all.
    gate, keep_steps, on_step, random_state, history
        As for `AdaptedClassifier`; steps are those of the chosen candidate, once it is chosen.

    Attributes
    ----------
    estimator_, source_estimator_, classes_, path_, plans_, adaptation_, decision_
        As for `AdaptedClassifier`.
    choice_ : Choice or None
        What was compared, and the choice in words.
    backtest_ : Backtest or None
        What was measured on the labelled domains of the past, where there are enough.
    ladder_ : Ladder or None
        Whether anything moved, which assumptions were refuted, which one the answer rests on, and the accuracy if it
        holds.

    Examples
    --------
    >>> import numpy as np
    >>> domain = np.repeat([0, 1], 100)
    >>> y = np.arange(200) % 2
    >>> X = np.random.default_rng(0).normal(size=(200, 2)) + 6.0 * y[:, None] + 4.0 * domain[:, None]
    >>> known = np.where(domain == 0, y, None)
    >>> plain = AutoAdaptedClassifier().fit(X, known, sample_domain=domain)
    >>> moved = AutoAdaptedClassifier(assume="scale").fit(X, known, sample_domain=domain)
    >>> [clf.score(X[domain == 1], y[domain == 1]) > 0.95 for clf in (plain, moved)], moved.choice_.best
    ([False, True], 'own scale')
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        assume: Any = None,
        method: Method | None = None,
        metric: Any = None,
        max_samples: int | None = 5_000,
        gate: Gate | None = None,
        keep_steps: bool = False,
        on_step: OnStep = None,
        random_state: Any = None,
        history: str | None = None,
    ) -> None:
        super().__init__(
            estimator,
            method=method,
            gate=gate,
            keep_steps=keep_steps,
            on_step=on_step,
            random_state=random_state,
            history=history,
        )
        self.assume = assume
        self.metric = metric
        self.max_samples = max_samples

    @property
    def choice_(self) -> Choice | None:
        choice: Choice | None = None if self.adaptation_ is None else self.adaptation_.choice
        return choice

    @property
    def backtest_(self) -> Backtest | None:
        return getattr(self.choice_, "backtest", None)

    @property
    def ladder_(self) -> Ladder | None:
        return getattr(self.choice_, "ladder", None)

    def fit_path(self, sequence: DomainSequence) -> Self:
        """Fit on the labels of a `DomainSequence` and adapt along it."""
        self._images_ = isinstance(sequence, DomainSequence) and len(sequence.target.samples.shape) > 2
        return super().fit_path(sequence)

    def fit_source(self, sequence: DomainSequence) -> Learner:
        """The learner that everything starts from; a network whose layer nobody named is cut by itself."""
        learner = super().fit_source(sequence)
        if not hasattr(learner, "cut_by_itself"):
            return learner
        cut: Learner = learner.cut_by_itself()
        if cut is not learner:
            layer = getattr(cut, "layer", "")
            tell(f"the network is cut at its layer {layer!r}; encoder='...' names another", at_once=True)
        return cut

    def _default_method(self) -> Method:
        images = getattr(self, "_images_", False)
        assume = _OF_IMAGES if images and self.assume is None else self.assume
        networks = hasattr(self.estimator, "make_learner")
        evidence = ByEvidence(
            assume, max_samples=self.max_samples, of_one_kind=images, networks=networks, show_others=not images
        )
        metric = Metric.from_word(self.metric) if isinstance(self.metric, str) else self.metric
        # Networks learn from all labels too; to train them anew for every window of the past takes too long to be asked
        # for by nobody.
        ways = {ALL_LABELS: FromHistory()} if networks else None
        return ByHistory(ways, metric, otherwise=evidence, fitted=True)
