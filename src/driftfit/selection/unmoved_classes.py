"""Where only class proportions changed there is nothing to follow: the source model stays."""

from __future__ import annotations

from dataclasses import dataclass

from driftfit.errors import InputError
from driftfit.selection.evidence import Findings
from driftfit.selection.runs import Runs
from driftfit.selection.same_law import same_laws
from driftfit.selection.view import PathView


@dataclass(frozen=True)
class ClassesMove:
    """Strikes out every candidate, before it is run, where other class proportions explain the whole shift.

    Couplings and windows in their own scale force the source's proportions on the target, and a labelling with them
    has more information about its neighbours. The tests are those behind `driftfit.check`: the target differs from
    the source, and not from the source's classes in other proportions. Where the target does not differ at all, or
    there are too few rows to say, nothing is struck out.

    Parameters
    ----------
    seed : int
        Of the rows that are held out and of the exchanges.

    Examples
    --------
    >>> import numpy as np
    >>> from driftfit import Domain
    >>> from driftfit import DomainSequence
    >>> from driftfit.selection.chosen import choose
    >>> from driftfit.methods import GOAT
    >>> y, new = np.arange(300) % 2, np.repeat([0, 1], [240, 20])
    >>> x = np.random.default_rng(0).normal(size=(560, 2)) + 4.0 * np.concatenate([y, new])[:, None]
    >>> path = DomainSequence([Domain(x[:300], y), Domain(x[300:])])
    >>> choice = choose({"GOAT": GOAT(2)}, path, guards=(ClassesMove(),))
    >>> choice.best, list(choice.struck)
    ('source', ['GOAT'])
    """

    seed: int = 0

    def beforehand(self, runs: Runs) -> Findings:
        try:
            law = same_laws(PathView.of(runs.sequence, runs.learner, self.seed))[-1]
        except InputError:
            return Findings()  # what cannot be tested is not shown
        if law.same or not law.classes_stay:
            return Findings()
        shares = ", ".join(
            f"{str(name)!r} {100 * share:.0f} %" for name, share in zip(runs.learner.classes, law.shares, strict=True)
        )
        why = f"other class proportions explain the shift ({shares}; p {law.p_classes:.2f}), so classes stay in place"
        return Findings({name: why for name in runs.candidates if name != runs.reference})

    def inspect(self, runs: Runs) -> Findings:
        return Findings()
