"""Candidates for any sequence: what to try where nobody has said."""

from __future__ import annotations

from driftfit.methods import GOAT, CarriedLabels, GradualSelfTraining, Relabelling, SourceOnly, Taught, Transport
from driftfit.selection.runs import Candidate
from driftfit.transport import GromovWasserstein, Mapped, Orthogonal, SameScale

# By what the labels of networks are mixed: docs/choice.md.
MIXUP = 0.5


def standard_candidates(*, networks: bool = False, max_samples: int | None = None) -> dict[str, Candidate]:
    """The source model, what follows the domains, what carries labels by position or structure, and a linear teacher.

    Parameters
    ----------
    networks : bool
        Whether the model is a torch network: carried labels are mixed and corrected, and Deep CORAL and CoVi are tried.
    max_samples : int, optional
        Plans are made between at most so many samples of each domain.

    Examples
    --------
    >>> list(standard_candidates())
    ['source', 'gradual self-training', 'GOAT', 'carried labels', 'taught by a linear model', 'carried by structure']
    """
    scaled = Transport(Mapped(SameScale()), max_samples=max_samples)
    turned = Transport(Mapped(Orthogonal(), start=GromovWasserstein()), max_samples=max_samples)
    mixup, mended = (MIXUP, Relabelling()) if networks else (None, None)
    found = {
        "source": Candidate(SourceOnly()),
        "gradual self-training": Candidate(GradualSelfTraining()),
        "GOAT": Candidate(GOAT(transport=Transport(max_samples=max_samples))),
        "carried labels": Candidate(CarriedLabels(scaled, direct=True, joint=True, mixup=mixup)),
        "taught by a linear model": Candidate(Taught(mixup=mixup), for_tables=True),
        "carried by structure": Candidate.structural(
            CarriedLabels(turned, feature_space=False, direct=True, mixup=mixup, relabelling=mended)
        ),
    }
    if networks:
        from driftfit.methods.baselines import BaselineMethod, CoVi, DeepCoral

        found["Deep CORAL"] = Candidate(BaselineMethod(DeepCoral()))
        found["CoVi"] = Candidate(BaselineMethod(CoVi(), sequential=True))
    return found
