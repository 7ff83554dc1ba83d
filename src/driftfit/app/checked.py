"""What `driftfit check` does and `driftfit adapt` begins with: read, cut, preprocess, train, say what lies ahead."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.app.columns import conform
from driftfit.app.features import as_matrix, feature_owners
from driftfit.app.labels import Labels
from driftfit.app.models import BestModel, is_network, make_model, model_from_word
from driftfit.app.own_model import answered_codes
from driftfit.app.prepare import Prepared, prepare
from driftfit.app.read import Table, table_of
from driftfit.app.settings import Settings
from driftfit.errors import InputError
from driftfit.methods import Assumption
from driftfit.methods.held_out import DecidingClassifier
from driftfit.methods.source_weights import importance_weights
from driftfit.models import Learner, as_learner
from driftfit.models.scikit import ScikitLearner
from driftfit.seeds import derive_seed
from driftfit.selection import Advice, Decision, Ladder, OwnAnswers, PathView, Verdict, assess, climb
from driftfit.selection.accuracy import Draw, accuracy_if, known_overlap
from driftfit.selection.diagnosis import Diagnosis, diagnose_drift
from driftfit.selection.exchange import Moved, moved, row_units
from driftfit.selection.gains import accuracy_before, not_represented

# Stands in where nobody asked whether the windows can be followed.
_UNSEEN = Decision(
    Verdict(Advice.DO_NOT_ADAPT, ("not looked at",), None, (), (), (), (), float("nan")),
    None,
    "source",
    ("not looked at",),
)
# Called with the name of a stage, how much of it is done and how much there is.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class Checked:
    """A table that was read and looked at, with its source model; nothing is adapted yet.

    ``source``: trained on the first window. ``view``: what the decision was made on; the one after adapting is made on
    the same. ``decision``: the verdict on the path, and what is known of the accuracy, before adapting. ``diagnosis``:
    what moved between the first window and the last; why it cannot be said otherwise. ``ladder``: whether anything
    moved, and what speaks against each assumption; None for pictures, networks, and where a method was asked for.
    ``in_use``: what the model in use says about the rows of the source and of the target, where it is not ``source``.
    """

    settings: Settings
    table: Table
    prepared: Prepared
    source: Learner
    view: PathView
    decision: Decision
    diagnosis: Diagnosis | str
    ladder: Ladder | None
    warnings: tuple[str, ...]
    in_use: OwnAnswers | None = None

    @property
    def learns_from_history(self) -> bool:
        """Whether past windows can be measured; a model in use names classes and gives no probabilities."""
        metric = self.settings.metric
        return self.prepared.history is not None and (self.in_use is None or metric is None or metric.of_answers)

    def answers(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[str]]:
        """What the model in use says about rows (ascending), as class numbers, and what is odd about it."""
        return _answers(self.table, self.prepared, self.settings, self.source.classes, rows)


def check_frame(frame: Any, settings: Settings, progress: Progress | None = None) -> Checked:
    """`check_table` for a data frame: pandas, polars or pyarrow.

    Examples
    --------
    >>> import pandas as pd
    >>> from driftfit.datasets.toy import moving_gaussians
    >>> from driftfit.app.settings import Column, Settings
    >>> X, y, year = moving_gaussians((0, 0.5, 1.0)).as_samples()
    >>> table = pd.DataFrame(X).assign(kind=y, year=year)
    >>> check_frame(table, Settings(label="kind", order=Column("year"))).decision.verdict.advice.value
    'adapt'
    """
    return check_table(table_of(frame), settings, progress)


def check_table(table: Table, settings: Settings, progress: Progress | None = None, *, steps: bool = True) -> Checked:
    """Read, cut and preprocess a table, train the source model, and say whether the drift can be followed.

    ``progress``: called with stage, done and total. ``steps``: False where the answer alone is asked for: whether the
    windows can be followed is then looked at only if the answer may rest on it, which it does not where past windows
    decide.
    """
    report = progress or (lambda stage, done, total: None)
    with recorded() as messages:
        report("read", 0, 1)
        prepared = prepare(table, settings)
        report("read", 1, 1)
        report("check", 0, 1)
        settings.given_proportions(np.unique(prepared.training.source.labels).tolist())
        source, told = _source_model(table, prepared, settings)
        view = settings.gate.view(prepared.sample, source)
        found = None if of_one_kind(table, source) else moved(prepared.sample, settings.seed, each_column=True)
        steps = steps or found is None or prepared.history is None or settings.in_use is not None
        steps = steps or settings.method is not None or settings.n_generated is not None
        decision = assess(view, source, gate=settings.gate) if steps else _UNSEEN
        ladder = _ladder(prepared, source, settings, view, found) if steps or found is None else Ladder((), found)
        diagnosis = _diagnosis(prepared, source, settings, found, ladder)
        if ladder is not None and steps:
            # One number for one thing: the estimate names what it assumes, and rests on what was declared.
            decision = replace(decision, before=accuracy_before(ladder, source, prepared.sample, settings.seed))
        report("check", 1, 1)
    prepared = replace(prepared, sampled=[*told, *prepared.sampled])
    checked = Checked(settings, table, prepared, source, view, decision, diagnosis, ladder, tuple(messages))
    return checked if settings.in_use is None else _with_model_in_use(checked)


def _answers(
    table: Table, prepared: Prepared, settings: Settings, classes: NDArray[Any], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[str]]:
    own = settings.in_use
    if own is None:
        raise InputError("there is no model in use; give one in the settings")
    words = own.words(table, rows, prepared.features, settings.label)
    most = int(np.bincount(prepared.training.source.codes(classes)).argmax())
    return answered_codes(words, classes.tolist(), prepared.boolean, own.word, most)


def answers_on_labelled(
    table: Table, prepared: Prepared, settings: Settings, classes: NDArray[Any]
) -> tuple[NDArray[np.int64], list[str]]:
    """What the model in use says about the labelled rows in their order, as class numbers, and what is odd about it."""
    order = np.argsort(prepared.source_rows)
    answers, odd = _answers(table, prepared, settings, classes, prepared.source_rows[order])
    found = np.empty_like(answers)
    found[order] = answers
    return found, odd


def _with_model_in_use(checked: Checked) -> Checked:
    """The same, with the answers of the model in use and what can be said about its accuracy."""
    own, prepared, view = checked.settings.in_use, checked.prepared, checked.view
    if own is None or of_one_kind(checked.table, checked.source):
        raise InputError("a model in use is compared with remedies for columns, not for pictures or networks")
    source, odd = answers_on_labelled(checked.table, prepared, checked.settings, checked.source.classes)
    target, more = checked.answers(prepared.target_rows)
    here, there = prepared.training.source, prepared.training.target
    right = source == here.codes(checked.source.classes)
    weights = importance_weights(here.matrix(), there.matrix())
    declared = checked.ladder is not None and Assumption.COVARIATES in checked.ladder.declared
    estimate = accuracy_if(
        Draw(right.astype(float), row_units(here), weights),
        len(np.unique(row_units(there))),
        "labelled rows of the first window, weighted as the last",
        declared=Assumption.COVARIATES if declared else None,
        doubt=not_represented(prepared.training.ends(), weights, checked.settings.seed),
    )
    apart = known_overlap(view, 0, view.last)
    estimate = estimate if apart.estimable else estimate.refused(apart.sentence)
    trained = "too high if the model was trained on these rows"
    estimate = replace(estimate, remark=f"{estimate.remark}; {trained}" if estimate.remark else trained)
    told = [
        f"the model in use is {own.word!r}: right on {100 * right.mean():.1f} % of {len(right):,} labelled rows; "
        "steps and shares that are told are of a model that was trained on these",
        *dict.fromkeys([*odd, *more]),
    ]
    return replace(
        checked,
        prepared=replace(prepared, sampled=[*told, *prepared.sampled]),
        decision=replace(checked.decision, before=estimate),
        in_use=OwnAnswers(source, target),
    )


@contextmanager
def recorded() -> Iterator[list[str]]:
    """The first line of every warning that is given inside, each once; complete when the block has ended."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield messages
    messages += dict.fromkeys(str(warning.message).splitlines()[0] for warning in caught)


def of_one_kind(table: Table, source: Learner) -> bool:
    """Whether the features are pixels, or what a network reads, and no columns that each mean something."""
    return table.image_shape is not None or is_network(source.estimator)


def _diagnosis(
    prepared: Prepared, source: Learner, settings: Settings, found: Moved | None, ladder: Ladder | None
) -> Diagnosis | str:
    """What moved, where the features are columns and the model can be trained anew in no time."""
    if found is None:
        return "pictures and networks are not diagnosed column by column"
    names = tuple(feature_owners(prepared.preprocessing, prepared.plans, named=True))
    stands = None if ladder is None else {name: not one.rejected for name, one in ladder.tested.items()}
    try:
        return diagnose_drift(source, prepared.sample, names, settings.seed, found=found, stands=stands)
    except InputError as error:
        return str(error)


def _ladder(
    prepared: Prepared, source: Learner, settings: Settings, view: PathView, found: Moved | None
) -> Ladder | None:
    """What was declared, tested; for the default method on columns alone."""
    if found is None or settings.method is not None or settings.n_generated is not None:
        return None
    declared = settings.assume
    if settings.proportions and Assumption.PROPORTIONS not in declared:
        declared = (Assumption.PROPORTIONS, *declared)
    return climb(source, prepared.sample, declared, seed=settings.seed, view=view, found=found)


def _source_model(table: Table, prepared: Prepared, settings: Settings) -> tuple[Learner, list[str]]:
    """The model of the settings, trained on all rows with a label; and why this one."""
    source = prepared.training.source
    learner, told = new_learner(prepared, settings)
    everything = prepared.labelled
    if everything is None or not isinstance(learner, ScikitLearner) or not learner.learns_in_batches:
        return learner.fit(source.samples, source.codes()), told
    told.append(f"the old model learnt from all {len(everything.rows):,} labelled rows, in batches")
    return learner.fit_batches(_labelled_batches(table, prepared, everything, source.classes, settings.seed)), told


def new_learner(prepared: Prepared, settings: Settings) -> tuple[Learner, list[str]]:
    """The model of the settings, not trained; and why this one."""
    sample, source = prepared.sample.source, prepared.training.source
    classifier, told = model_from_word("logistic") if settings.model is None else settings.model, []
    if isinstance(classifier, BestModel):
        word, sentence = classifier.pick(source, settings.seed)
        classifier, told = model_from_word(word), [sentence]
    if settings.metric is not None and settings.metric.costs is not None:
        if is_network(classifier):
            raise InputError("costs are for scikit-learn classifiers, not for networks; take another --metric")
        metric = settings.metric.for_labels(source.codes(), source.classes.tolist())
        classifier = DecidingClassifier(classifier, -np.asarray(metric.costs))
        told.append("the cheapest class is named, by the table of costs")
    model = make_model(classifier, settings.encoder, len(sample), sample.samples.shape[1], settings.seed)
    return as_learner(model, source.classes), told


def _labelled_batches(
    table: Table, prepared: Prepared, labels: Labels, classes: NDArray[Any], seed: int
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """All labelled rows of the first window, preprocessed; each batch in an order of its own."""
    names = [plan.column for plan in prepared.plans]
    start = 0
    for numbers, frame in table.batches(labels.rows, names):
        samples = as_matrix(prepared.preprocessing, conform(frame, prepared.plans))
        codes = np.searchsorted(classes, labels.values[start : start + len(numbers)])
        order = np.random.default_rng(derive_seed(seed, "batch", start)).permutation(len(numbers))
        yield samples[order], codes[order]
        start += len(numbers)
