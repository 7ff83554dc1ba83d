"""Self-training, direct and gradual, carried labels and GOAT as scikit-learn classifiers."""

from __future__ import annotations

from typing import Any, Literal

from driftfit.errors import InputError
from driftfit.estimators.adapted import AdaptedClassifier
from driftfit.methods import (
    GOAT,
    CarriedLabels,
    DirectSelfTraining,
    GradualMethod,
    GradualSelfTraining,
    Method,
    OnStep,
    Transport,
)
from driftfit.selection import Choice, ChosenGOAT, Gate


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
