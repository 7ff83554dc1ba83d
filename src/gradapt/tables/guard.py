"""A guard beside the accuracy estimates: did adaptation lose a class on the way?

Self-training that loses a class grows ever surer of itself, and labels carried along plans can lose the same class, so
that the two agree. The shares of the classes still show it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gradapt.domains import DomainSequence
from gradapt.learners import Learner

__all__ = ["lost_class"]

# A class counts where it has at least this share of the labelled rows.
_SMALLEST_SHARE = 0.02
# It is lost where the adapted model gives it less than this part of what source rows and source model give it.
_REMAINING = 0.25


def lost_class(source: Learner, adapted: Learner, sequence: DomainSequence) -> str | None:
    """A sentence on the class that adaptation lost, or None.

    Parameters
    ----------
    source, adapted : Learner
    sequence : DomainSequence
        Labelled source first, target last.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.linear_model import LogisticRegression
    >>> from gradapt.datasets.toy import moving_gaussians
    >>> from gradapt.learners import as_learner
    >>> path = moving_gaussians((0, 0.2))
    >>> x, y = path.source.samples, path.source.labels
    >>> good = as_learner(LogisticRegression(), np.array([0, 1])).fit(x, y)
    >>> lost = as_learner(DummyClassifier(strategy="constant", constant=0), np.array([0, 1])).fit(x, y)
    >>> lost_class(good, good, path) is None
    True
    >>> print(lost_class(good, lost, path)[:29])
    adaptation lost the class '1'
    """
    labels = sequence.source.labels
    assert labels is not None
    known = np.array([(labels == label).mean() for label in source.classes])
    before, after = (_shares(learner, sequence) for learner in (source, adapted))
    lost = (known >= _SMALLEST_SHARE) & (after < _REMAINING * np.minimum(known, before))
    if not lost.any():
        return None
    worst = int(np.argmax(np.where(lost, known, -1.0)))
    return (
        f"adaptation lost the class {str(source.classes[worst])!r}: {100 * known[worst]:.0f} % of the labelled rows, "
        f"{100 * before[worst]:.0f} % of today's rows by the old model, {100 * after[worst]:.1f} % by the adapted one"
    )


def _shares(learner: Learner, sequence: DomainSequence) -> NDArray[np.float64]:
    codes = learner.logits(sequence.target.samples).argmax(axis=1)
    return np.bincount(codes, minlength=len(learner.classes)) / len(codes)
