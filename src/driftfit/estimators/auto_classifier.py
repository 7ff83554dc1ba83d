"""A classifier that keeps the source model unless evidence speaks for another one, as one scikit-learn classifier."""

from __future__ import annotations

from typing import Any, Self

from driftfit.domains import DomainSequence
from driftfit.estimators.adapted import AdaptedClassifier
from driftfit.methods import Assumption, FromHistory, Method, OnStep
from driftfit.models import Learner
from driftfit.progress import tell
from driftfit.selection import ALL_LABELS, Backtest, ByEvidence, ByHistory, Choice, Gate, Ladder, Metric

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
