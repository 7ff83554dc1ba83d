"""Agreement of independently trained models: where they differ, at least one is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftfit.domains import DomainSequence, take_rows
from driftfit.errors import InputError
from driftfit.models import Learner
from driftfit.selection.accuracy import AccuracyEstimate, spread
from driftfit.selection.overlap import overlapping
from driftfit.selection.view import PathView, students_along
from driftfit.selection.weighted import effective_size, mean


@dataclass(frozen=True)
class Agreement:
    """Share of samples on which a model agrees with a committee trained on resampled data (Jiang et al. 2022).

    The members are trained on bootstrap samples of the source and, to compare with adapted models, adapted
    along the path by gradual self-training on bootstrap samples of each domain. The share is scaled so that
    it equals the known accuracy on the held-out source. The members share the model's
    blind spots: a mistake that all of them make counts as agreement.

    Parameters
    ----------
    n_members : int
    """

    n_members: int = 3

    def prepare(self, view: PathView) -> _Prepared:
        """Train the committee and adapt it along the path."""
        if self.n_members < 1:
            raise InputError(f"n_members must be at least 1, got {self.n_members!r}")
        committee = [_member(view, number) for number in range(self.n_members)]
        held, own = view.held_samples(), view.held_predicted()
        agreement = [mean(own == member[0].logits(held).argmax(axis=1), view.held_weights()) for member in committee]
        return _Prepared(view, committee, view.source_accuracy(), float(np.mean(agreement)))


@dataclass(frozen=True, eq=False)
class _Prepared:
    view: PathView
    committee: list[list[Learner]]
    source_accuracy: float
    source_agreement: float

    def estimate(self, learner: Learner, number: int, *, adapted: bool) -> AccuracyEstimate:
        view = self.view
        own, weights = view.predicted(learner, number), view.weights(number)
        place = number if adapted else 0
        rate = float(np.mean([mean(own == view.predicted(m[place], number), weights) for m in self.committee]))
        scale = self.source_accuracy / max(self.source_agreement, 1e-9)
        n_held = effective_size(len(view.held_rows), view.held_weights())
        width = spread((rate, effective_size(len(own), weights)), (self.source_accuracy, n_held))
        return overlapping(AccuracyEstimate.around(rate * scale, width, "agreement"), view, 0, number)


def _member(view: PathView, number: int) -> list[Learner]:
    """A model of the committee on every domain, source first."""
    rng = view.rng("committee", number)
    fit = view.codes[view.fit_rows]
    rows = np.concatenate([_resampled(view.fit_rows[fit == code], rng) for code in np.unique(fit)])
    source = view.sequence.source
    first = view.template.fit(take_rows(source.samples, rows), view.codes[rows], view.weights(0, rows))
    again = [domain.take(rng.integers(len(domain), size=len(domain))) for domain in view.sequence[1:]]
    return students_along(first, DomainSequence([source, *again]))


def _resampled(rows: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.choice(rows, len(rows))
