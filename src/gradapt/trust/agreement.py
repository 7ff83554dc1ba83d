"""Agreement of independently trained models: where they differ, at least one is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import _safe_indexing

from gradapt.domains import Domain
from gradapt.errors import InputError
from gradapt.learners import Learner
from gradapt.trust.accuracy import AccuracyEstimate, predictions, spread
from gradapt.trust.view import PathView, walk

__all__ = ["Agreement"]


@dataclass(frozen=True)
class Agreement:
    """Share of samples on which a model agrees with rivals trained on resampled data (Jiang et al. 2022).

    The rivals are trained on bootstrap samples of the source and, to judge adapted models, led along
    the path by gradual self-training on bootstrap samples of each domain. The share is scaled so that
    it equals the known accuracy on the held-out source. Rivals share the model's
    blind spots: a mistake that all of them make counts as agreement.

    Parameters
    ----------
    n_rivals : int
    """

    n_rivals: int = 3

    def prepare(self, view: PathView) -> _Prepared:
        """Train the rivals and lead them along the path."""
        if self.n_rivals < 1:
            raise InputError(f"n_rivals must be at least 1, got {self.n_rivals!r}")
        chains = [_rival_chain(view, number) for number in range(self.n_rivals)]
        held = view.held_samples()
        own = view.learner.logits(held).argmax(axis=1)
        agreement = float(np.mean([own == chain[0].logits(held).argmax(axis=1) for chain in chains]))
        return _Prepared(view, chains, float(view.held_correct().mean()), agreement)


@dataclass(frozen=True, eq=False)
class _Prepared:
    view: PathView
    chains: list[list[Learner]]
    source_accuracy: float
    source_agreement: float

    def estimate(self, learner: Learner, number: int, *, adapted: bool) -> AccuracyEstimate:
        own = predictions(learner, self.view, number)
        place = number if adapted else 0
        rate = float(np.mean([own == predictions(chain[place], self.view, number) for chain in self.chains]))
        scale = self.source_accuracy / max(self.source_agreement, 1e-9)
        width = spread((rate, len(own)), (self.source_accuracy, len(self.view.held_rows)))
        return AccuracyEstimate.around(rate * scale, width, "agreement")


def _rival_chain(view: PathView, number: int) -> list[Learner]:
    rng = view.rng("rival", number)
    source = view.sequence.source.samples
    rows = np.concatenate(
        [_resampled(view.fit_rows[view.codes[view.fit_rows] == code], rng) for code in _present(view)]
    )
    first = view.template.fit(_safe_indexing(source, rows), view.codes[rows])
    domains = []
    for domain in view.sequence[1:]:
        again = rng.integers(len(domain), size=len(domain))
        domains.append(Domain(_safe_indexing(domain.samples, again), name=domain.name, allow_missing=True))
    return walk(first, domains)


def _present(view: PathView) -> np.ndarray:
    return np.unique(view.codes[view.fit_rows])


def _resampled(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.choice(rows, len(rows))
