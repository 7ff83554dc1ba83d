"""For users of skada: its signed domains as a `DomainSequence`."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftfit.checks import without_mask
from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError

__all__ = ["from_skada"]


def from_skada(X: Any, y: Any, sample_domain: Any) -> DomainSequence:
    """The arrays that skada's data sets give, as a path from source to target.

    skada marks source domains with positive numbers and target domains with negative ones. Here
    the sources, taken together, come first, then the targets in the order of their absolute numbers; the last
    one is adapted to. Labels of targets are dropped.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    sample_domain : int array of shape (n_samples,)

    Examples
    --------
    >>> from_skada([[0.0], [1.0], [2.0], [3.0]], [0, 1, -1, -1], [1, 1, -2, -2])
    DomainSequence([Domain('1', 2 x 1, labelled), Domain('-2', 2 x 1, unlabelled)])
    """
    samples, labels, domain = (np.asarray(without_mask(values)) for values in (X, y, sample_domain))
    if domain.shape != (len(samples),) or labels.shape != (len(samples),):
        raise InputError(
            f"y and sample_domain need one entry for each of the {len(samples)} samples, "
            f"got shapes {labels.shape} and {domain.shape}"
        )
    if domain.dtype.kind not in "iu" or (domain == 0).any():
        raise InputError("skada numbers domains with whole numbers, positive for sources and negative for targets")
    sources = np.unique(domain[domain > 0])
    targets = sorted(np.unique(domain[domain < 0]), key=abs)
    if not len(sources) or not targets:
        raise InputError(f"sample_domain needs positive and negative numbers, got {np.unique(domain).tolist()}")
    first = domain > 0
    name = ",".join(str(number) for number in sources)
    path = [Domain(samples[first], labels=labels[first], name=name)]
    path += [Domain(samples[domain == number], name=str(number)) for number in targets]
    return DomainSequence(path)
