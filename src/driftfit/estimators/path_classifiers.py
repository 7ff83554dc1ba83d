"""Self-training, direct and gradual, and carried labels as scikit-learn classifiers."""

from __future__ import annotations

from driftfit.estimators.adapted import AdaptedClassifier
from driftfit.methods import CarriedLabels, DirectSelfTraining, GradualSelfTraining, Method


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
