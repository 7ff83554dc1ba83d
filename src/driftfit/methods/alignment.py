"""Windows aligned with the source by themselves: scaled, ranked, or with the source's covariance."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from driftfit.domains import Domain, DomainSequence
from driftfit.domains.samples import is_tensor
from driftfit.errors import InputError
from driftfit.methods.feature_maps import AffineMap, RankMap, scale_map
from driftfit.methods.method import Adaptation, Assumption, Method
from driftfit.methods.plans import Workspace
from driftfit.methods.registry import offer
from driftfit.methods.source_only import SourceOnly
from driftfit.models import Learner
from driftfit.models.scikit import ScikitLearner


@dataclass(frozen=True)
class Alignment(Method):
    """Every window is mapped onto the source by itself; the target's own map becomes the first step of the model.

    ``then``: what is done with the aligned windows, such as ``ProportionCorrection()``; by default the source model is
    used on them as it is.
    """

    then: Method = field(default_factory=SourceOnly)
    on_matrices = True

    @property
    def inner(self) -> tuple[Method, ...]:
        return (self.then,)

    @property
    def assumes(self) -> frozenset[Assumption]:
        """That columns changed their units, and what the next method relies on."""
        return frozenset({Assumption.SCALE}) | self.then.assumes

    def transformer(self, window: NDArray[np.float64], source: NDArray[np.float64]) -> Any:
        """A fitted transformer from a window to the source."""
        raise NotImplementedError

    def aligned(self, sequence: DomainSequence) -> tuple[DomainSequence, Any]:
        """The windows as the model will see them, and the target's transformer."""
        masked = sequence.masked()
        source = dense_matrix(masked.source)
        windows: list[Domain] = [masked.source.with_samples(source)]
        transformer = None
        for domain in masked[1:]:
            window = dense_matrix(domain)
            transformer = self.transformer(window, source)
            windows.append(domain.with_samples(transformer.transform(window)))
        return DomainSequence(windows), transformer

    def one_step(self, learner: Learner, sequence: DomainSequence, workspace: Workspace) -> Adaptation:
        windows, transformer = self.aligned(sequence)
        inner = self.then.adapt(learner, windows, None, workspace)
        return replace(inner, learner=behind(transformer, inner.learner))


@dataclass(frozen=True)
class OwnScale(Alignment):
    """Each window scaled by itself: every column that moved gets the source's mean and deviation.

    The same as a model of standardised columns whose means and deviations are those of the window that it reads.
    Flags and codes, columns of at most ten distinct values, stay as they are.
    """

    def transformer(self, window: NDArray[np.float64], source: NDArray[np.float64]) -> Any:
        return scale_map(window, source)


@dataclass(frozen=True)
class OwnRank(Alignment):
    """Each window ranked by itself: every column that moved gets the source's distribution.

    Flags and codes, columns of at most ten distinct values, stay as they are; equal values stay equal.
    """

    def transformer(self, window: NDArray[np.float64], source: NDArray[np.float64]) -> Any:
        return RankMap().fit(window, source=source)


@dataclass(frozen=True)
class CovarianceAlignment(Alignment):
    """Each window gets the source's means and covariance in its measured columns (CORAL on features).

    ``ridge``: share of the diagonal in both covariances.
    """

    ridge: float = 0.1

    def transformer(self, window: NDArray[np.float64], source: NDArray[np.float64]) -> Any:
        return AffineMap(self.ridge).fit(window, source=source)


offer("own-scale", OwnScale(), labels=True, answers=Assumption.SCALE)
offer("own-rank", OwnRank(), labels=True)
offer("covariance", CovarianceAlignment(), labels=True)


def dense_matrix(domain: Domain) -> NDArray[np.float64]:
    """The samples as an array of finite numbers; what has no columns of its own is refused."""
    matrix = domain.matrix()
    if is_tensor(matrix):
        matrix = matrix.cpu().numpy()
    if not isinstance(matrix, np.ndarray):
        raise InputError(
            f"domain {domain.name!r} holds {type(matrix).__name__}; this method works on the columns of a table: "
            "give arrays of numbers"
        )
    return np.asarray(matrix, dtype=np.float64)


def behind(transformer: Any, learner: Learner) -> Learner:
    """The learner on rows that the transformer has mapped."""
    if not isinstance(learner, ScikitLearner):
        raise InputError(
            f"{type(learner.estimator).__name__} is no scikit-learn classifier; a window can be aligned in front of "
            "one of these only"
        )
    model = learner.estimator
    steps = model.steps if isinstance(model, Pipeline) else [("model", model)]
    taken = {name for name, _ in steps}
    name = next(name for name in ("window", *(f"window{n}" for n in range(2, 99))) if name not in taken)
    return replace(learner, estimator=Pipeline([(name, transformer), *steps]))
