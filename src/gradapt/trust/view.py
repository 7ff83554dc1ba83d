"""`PathView`: a sequence of domains as everything in `gradapt.trust` sees it: no label but the source's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from gradapt.domains import Domain, DomainSequence
from gradapt.errors import InputError
from gradapt.learners import Learner, as_learner
from gradapt.methods import SelfTraining
from gradapt.paths import PathStep
from gradapt.seeds import derive_seed

__all__ = ["PathView", "features_of", "walk"]

_HELD_OUT = 1 / 3


@dataclass(frozen=True, eq=False)
class PathView:
    """Domains with masked labels, and a source model with a part of the source held out of its training.

    Attributes
    ----------
    sequence : DomainSequence
        Labels of every domain but the source removed.
    template : Learner
        Not trained.
    learner : Learner
        Trained on the ``fit_rows`` of the source.
    codes : int array
        Source labels as indices into the learner's classes.
    fit_rows, held_rows : int arrays
        Rows of the source used for training, and those held out for calibration.
    seed : int
    """

    sequence: DomainSequence
    template: Learner
    learner: Learner
    codes: NDArray[np.int64]
    fit_rows: NDArray[np.int64]
    held_rows: NDArray[np.int64]
    seed: int

    @classmethod
    def of(cls, sequence: DomainSequence, model: Any, seed: int = 0) -> PathView:
        """Mask the labels, split the source and train the model on one part of it.

        ``model`` is a scikit-learn classifier or a `Learner`; it is cloned and trained anew.
        """
        masked = sequence.masked()
        source = masked.source
        assert source.labels is not None
        classes, codes = np.unique(source.labels, return_inverse=True)
        if len(classes) < 2:
            raise InputError(f"the source has the single class {classes[0]!r}; a classifier needs at least two")
        template = model if isinstance(model, Learner) else as_learner(model, classes)
        fit_rows, held_rows = _split(codes, seed)
        learner = template.fit(_safe_indexing(source.samples, fit_rows), codes[fit_rows])
        return cls(masked, template, learner, codes, fit_rows, held_rows, seed)

    @property
    def n_classes(self) -> int:
        """Number of classes in the source."""
        return len(self.learner.classes)

    def held_samples(self) -> Any:
        """Source samples that the model was not trained on."""
        return _safe_indexing(self.sequence.source.samples, self.held_rows)

    def held_correct(self) -> NDArray[np.bool_]:
        """Whether the source model is right on each of them."""
        predicted = self.learner.logits(self.held_samples()).argmax(axis=1)
        return np.asarray(predicted == self.codes[self.held_rows])

    def features(self, number: int, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Features of (some rows of) a domain, in the space of the source model's encoder."""
        samples = self.sequence[number].samples
        return features_of(self.learner, samples if rows is None else _safe_indexing(samples, rows))

    def rng(self, *names: Any) -> np.random.Generator:
        """A random stream of its own for each use."""
        return np.random.default_rng(derive_seed(self.seed, "trust", *names))


def features_of(learner: Learner, samples: Any) -> NDArray[np.float64]:
    """Encoded samples as one finite row of numbers each."""
    encoded = learner.encode(samples)
    if hasattr(encoded, "toarray"):
        encoded = encoded.toarray()
    if hasattr(encoded, "detach"):
        encoded = encoded.detach().cpu().numpy()
    try:
        matrix = np.asarray(encoded, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the samples hold other than numbers ({error}); put an encoder such as a ColumnTransformer in front of "
            "the classifier, in one pipeline"
        ) from None
    return matrix.reshape(len(matrix), -1)


def walk(learner: Learner, domains: list[Domain]) -> list[Learner]:
    """The learner and its students, one after each domain, by plain gradual self-training."""
    learners = [learner]
    training = SelfTraining()
    for number, domain in enumerate(domains, start=1):
        step = PathStep(domain.without_labels(), number / len(domains), False, None)
        learners.append(training.step(learners[-1], step, number)[0])
    return learners


def _split(codes: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A third of each class held out."""
    rng = np.random.default_rng(derive_seed(seed, "trust", "split"))
    held: list[NDArray[np.int64]] = []
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        held.append(rows[: int(len(rows) * _HELD_OUT)])
    held_rows = np.sort(np.concatenate(held))
    if len(held_rows) == 0:
        raise InputError(f"the source has only {len(codes)} samples; give at least three of each class")
    fit_rows = np.setdiff1d(np.arange(len(codes)), held_rows)
    return fit_rows, held_rows
