"""A classifier that keeps the source model unless evidence speaks for another one, as one scikit-learn classifier."""

from __future__ import annotations

from typing import Any, Self

from driftfit.domains import DomainSequence
from driftfit.estimators.adapted import AdaptedClassifier
from driftfit.methods import Assumption, Method, OnStep
from driftfit.selection import ByEvidence, Choice, Gate, Ladder

__all__ = ["AutoAdaptedClassifier"]

# Pixels, and what one encoder makes of them, are of one kind: no column has a unit of its own.
_OF_IMAGES = (Assumption.STRUCTURE, Assumption.PATH)


class AutoAdaptedClassifier(AdaptedClassifier):
    """Adapts a classifier as far as evidence goes, and keeps the source model elsewhere.

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
    max_samples : int or None
        By default plans are made between at most so many samples of each domain; None for all.
    gate, keep_steps, on_step, random_state
        As for `AdaptedClassifier`; steps are those of the chosen candidate, once it is chosen.

    Attributes
    ----------
    estimator_, source_estimator_, classes_, path_, plans_, adaptation_, decision_
        As for `AdaptedClassifier`.
    choice_ : Choice or None
        What was compared, and the choice in words.
    ladder_ : Ladder or None
        Whether anything moved, which assumptions were refuted, which one the answer rests on, and the accuracy if it
        holds.

    Examples
    --------
    >>> import numpy as np
    >>> domain = np.repeat([0, 1], 100)
    >>> y = np.arange(200) % 2
    >>> X = np.random.default_rng(0).normal(size=(200, 2)) + 6.0 * y[:, None] + 4.0 * domain[:, None]
    >>> plain = AutoAdaptedClassifier().fit(X, y, sample_domain=domain)
    >>> moved = AutoAdaptedClassifier(assume="scale").fit(X, y, sample_domain=domain)
    >>> [clf.score(X[domain == 1], y[domain == 1]) > 0.95 for clf in (plain, moved)], moved.choice_.best
    ([False, True], 'own scale')
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        assume: Any = None,
        method: Method | None = None,
        max_samples: int | None = 5_000,
        gate: Gate | None = None,
        keep_steps: bool = False,
        on_step: OnStep | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            estimator, method=method, gate=gate, keep_steps=keep_steps, on_step=on_step, random_state=random_state
        )
        self.assume = assume
        self.max_samples = max_samples

    @property
    def choice_(self) -> Choice | None:
        choice: Choice | None = None if self.adaptation_ is None else self.adaptation_.choice
        return choice

    @property
    def ladder_(self) -> Ladder | None:
        return getattr(self.choice_, "ladder", None)

    def fit_path(self, sequence: DomainSequence) -> Self:
        """Fit on the source of a `DomainSequence` and adapt along it; labels but the source's are ignored."""
        self._images_ = isinstance(sequence, DomainSequence) and len(sequence.source.samples.shape) > 2
        return super().fit_path(sequence)

    def _default_method(self) -> Method:
        images = getattr(self, "_images_", False)
        assume = _OF_IMAGES if images and self.assume is None else self.assume
        networks = hasattr(self.estimator, "make_learner")
        return ByEvidence(
            assume, max_samples=self.max_samples, of_one_kind=images, networks=networks, show_others=not images
        )
