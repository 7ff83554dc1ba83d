"""The classifier that suits a table: compared on the labelled rows of the first window by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftfit.app.models import make_model, model_from_word
from driftfit.domains import LabelledDomain
from driftfit.methods.held_out import held_out
from driftfit.models import as_learner

__all__ = ["BestModel"]

_N_FOLDS = 3


@dataclass(frozen=True)
class BestModel:
    """Stands for the best of several classifiers; of equal ones the first.

    Parameters
    ----------
    words : tuple of str
        As for `model_from_word`, the simplest first.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 2))
    >>> source = LabelledDomain(x, (x[:, 0] * x[:, 1] > 0).astype(int))
    >>> BestModel(("logistic", "forest")).pick(source)[0]
    'forest'
    """

    words: tuple[str, ...] = ("logistic", "forest", "boosting")

    def pick(self, source: LabelledDomain, seed: int = 0) -> tuple[str, str]:
        """The word of the best one, and a sentence on all of them."""
        scores = {}
        for word in self.words:
            model = make_model(model_from_word(word), None, len(source), source.samples.shape[1], seed)
            held = held_out(as_learner(model, source.classes), source, _N_FOLDS, seed)
            scores[word] = float((held.logits.argmax(axis=1) == held.codes).mean())
        best = max(scores, key=lambda word: scores[word])
        largest = float(np.bincount(source.codes()).max() / len(source))
        shown = ", ".join(f"{word} {100 * value:.1f} %" for word, value in scores.items())
        words = f"{best} is the best model of {shown} by cross-validation on the first window"
        return best, f"{words} (its largest class: {100 * largest:.1f} %)"
