"""The default estimator: carried labels where the source shows that they can be relied on, agreement elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field

from gradapt.trust.accuracy import PreparedEstimator
from gradapt.trust.agreement import Agreement
from gradapt.trust.carried import CarriedLabels
from gradapt.trust.view import PathView

__all__ = ["BestWitness"]


@dataclass(frozen=True)
class BestWitness:
    """Asks `CarriedLabels`, or `Agreement` where carried labels fail on the source itself.

    Parameters
    ----------
    first : CarriedLabels
    otherwise : Agreement
    """

    first: CarriedLabels = field(default_factory=CarriedLabels)
    otherwise: Agreement = field(default_factory=Agreement)

    def prepare(self, view: PathView) -> PreparedEstimator:
        """Calibrate the first and, only if it is not reliable, the other."""
        prepared = self.first.prepare(view)
        return prepared if prepared.reliable else self.otherwise.prepare(view)
