"""Does an alignment of the windows explain what moved? Overlap before it, and in the space that it leads to."""

from __future__ import annotations

from gradapt.domains import DomainSequence
from gradapt.methods import Alignment
from gradapt.trust.diagnosis.findings import explained
from gradapt.trust.overlap import Overlap, overlap

__all__ = ["aligned_overlap", "alignment_objection", "raw_overlap"]

# Where rows overlap as they are, an alignment must remove at least this part of what tells them apart.
LEAST_EXPLAINED = 0.75


def raw_overlap(sequence: DomainSequence, seed: int = 0) -> Overlap:
    """Of source and target as they are."""
    masked = sequence.masked()
    return overlap(masked.source.matrix(), masked.target.matrix(), seed=seed)


def aligned_overlap(alignment: Alignment, sequence: DomainSequence, seed: int = 0) -> Overlap:
    """Of source and target where the alignment puts them."""
    return raw_overlap(alignment.aligned(sequence.ends())[0], seed)


def alignment_objection(before: Overlap, after: Overlap) -> str | None:
    """Why a window should not be aligned with the source, or None.

    Where the rows of both overlap as they are, the old model has seen such rows, and moving them is a bold claim: the
    alignment must explain most of the difference. Where they do not, the old model guesses, and the alignment must
    bring them together.

    Parameters
    ----------
    before, after : Overlap
        Of the rows as they are, and behind the alignment.

    Examples
    --------
    >>> far, near, same = Overlap(1.0, 0.99, 1.0, 900), Overlap(0.8, 0.78, 0.82, 900), Overlap(0.52, 0.49, 0.55, 900)
    >>> alignment_objection(far, near), alignment_objection(near, same)
    (None, None)
    >>> print(alignment_objection(same, same))
    nothing tells the rows of source and target apart: there is nothing to align
    """
    if not before.estimable:
        if after.estimable:
            return None
        return f"source and target stay apart behind it (AUC {after.auc:.2f})"
    if before.low <= 0.5:
        return "nothing tells the rows of source and target apart: there is nothing to align"
    part = explained(before, after)
    if part >= LEAST_EXPLAINED:
        return None
    return (
        f"the rows overlap as they are (AUC {before.auc:.2f}), and it explains only {100 * part:.0f} % "
        f"of the difference (AUC {after.auc:.2f} behind it)"
    )
