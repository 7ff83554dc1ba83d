"""A guard beside the accuracy estimates: did adaptation lose a class on the way?

Self-training that loses a class grows ever surer of itself, and labels carried along plans can lose the same class, so
that the two agree. The shares of the classes still show it.
"""

from __future__ import annotations

import numpy as np

from driftfit.methods.pseudo_labels import lost_shares
from driftfit.models import Learner
from driftfit.selection.view import PathView
from driftfit.selection.weighted import class_shares


def lost_class(view: PathView, source: Learner, adapted: Learner) -> str | None:
    """A sentence on the class that adaptation lost, or None.

    A class that the source model had lost on the target already is not lost by adaptation.

    Parameters
    ----------
    view : PathView
    source, adapted : Learner

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.linear_model import LogisticRegression
    >>> from driftfit.datasets.toy import moving_gaussians
    >>> from driftfit.models import as_learner
    >>> path = moving_gaussians((0, 0.2))
    >>> x, y = path.source.samples, path.source.labels
    >>> good = as_learner(LogisticRegression(), np.array([0, 1])).fit(x, y)
    >>> lost = as_learner(DummyClassifier(strategy="constant", constant=0), np.array([0, 1])).fit(x, y)
    >>> view = PathView.of(path, good)
    >>> lost_class(view, good, good) is None, lost_class(view, lost, lost) is None
    (True, True)
    >>> print(lost_class(view, good, lost)[:29])
    adaptation lost the class '1'
    """
    k = view.n_classes
    known = class_shares(view.codes, k, view.weights(0))
    before, after = (
        class_shares(view.predicted(learner, view.last), k, view.weights(view.last)) for learner in (source, adapted)
    )
    lost = lost_shares(known, before, after)
    if not lost.any():
        return None
    worst = int(np.argmax(np.where(lost, known, -1.0)))
    return (
        f"adaptation lost the class {str(source.classes[worst])!r}: {100 * known[worst]:.0f} % of the labelled rows, "
        f"{100 * before[worst]:.0f} % of today's rows by the old model, {100 * after[worst]:.1f} % by the adapted one"
    )
