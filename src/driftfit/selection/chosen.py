"""Very different candidates on one sequence: run all, and keep the best by a score without target labels."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from driftfit.domains import DomainSequence
from driftfit.errors import InputError
from driftfit.methods import Adaptation, Method, OnStep, SourceOnly, Workspace
from driftfit.methods.carried_labels import trained_on
from driftfit.models import Learner, as_learner
from driftfit.parallel import Engine
from driftfit.seeds import derive_seed
from driftfit.selection.evidence import Choice, Evidence, Findings, Gain, Guard, Judgement, paired_gains
from driftfit.selection.guards import ClassShares, Names, StructureHolds
from driftfit.selection.neighbours import NeighbourInformation
from driftfit.selection.runs import Candidate, OnCandidate, Runs, run_candidates

# Name of the source model where the candidates do not have one.
SOURCE = "source"
SCORE: Evidence = NeighbourInformation(measured=True, with_source=True)
GUARDS: tuple[Guard, ...] = (ClassShares(), StructureHolds(), Names())
# Differences of scores below this are rounding.
_TIE = 1e-9


@dataclass(frozen=True)
class Chosen(Method):
    """All candidates, then the best of them by a score without target labels.

    Parameters
    ----------
    candidates : mapping of names to Method or Candidate
        In order: of equal ones the first is taken. The source model is added as ``"source"`` where no candidate is
        `SourceOnly`; the others are compared with it.
    score : Evidence
        What candidates are ranked by.
    guards : sequence of Guard
        What strikes candidates out, one guard after another.
    cautious : bool
        Keep the source model unless the best candidate's gain over it is above 0 with its whole interval.
    committee : Committee, optional
        Where other candidates cannot be told from the best one, they teach one model together. By default the best
        candidate's own model is taken.
    run_all : bool
        Run candidates that a guard struck out beforehand as well, to show what they are worth; they are not chosen.
    reference : str, optional
        The candidate that the others are compared with; the source model by default.
    on_candidate : callable, optional
        Called with the name and the adaptation of each candidate, in their order, as soon as it is done.
    engine : Engine, optional
        Where the candidates run, side by side; the choice is the same.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from driftfit.datasets.toy import moving_gaussians
    >>> from driftfit.methods import GOAT, CarriedLabels
    >>> path = moving_gaussians((0, 1.5))
    >>> learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(path.source.samples, path.source.labels)
    >>> choice = Chosen({"GOAT": GOAT(2), "carried": CarriedLabels()}).adapt(learner, path).choice
    >>> choice.best, list(choice.scores), choice.gains[choice.best].low > 0
    ('GOAT', ['source', 'GOAT', 'carried'], True)
    """

    candidates: Mapping[str, Method | Candidate]
    score: Evidence = SCORE
    guards: tuple[Guard, ...] = GUARDS
    cautious: bool = True
    committee: Committee | None = None
    run_all: bool = False
    reference: str | None = None
    on_candidate: OnCandidate | None = None
    engine: Engine | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidates", _checked(self.candidates))
        object.__setattr__(self, "guards", tuple(self.guards))
        if not isinstance(self.score, Evidence):
            raise InputError(f"score must be a value such as NeighbourInformation(), got {self.score!r}")

    @property
    def named(self) -> dict[Hashable, Candidate]:
        """The candidates by name, in order."""
        return dict(self.candidates)  # type: ignore[arg-type]

    @property
    def inner(self) -> tuple[Method, ...]:
        return tuple(candidate.method for candidate in self.named.values())

    def adapt(
        self, learner: Learner, sequence: DomainSequence, on_step: OnStep = None, workspace: Workspace | None = None
    ) -> Adaptation:
        """Adapt with the best candidate; ``on_step`` sees the steps of that one, once it is chosen."""
        candidates = self.named
        sources = (name for name, own in candidates.items() if isinstance(own.method, SourceOnly))
        reference = next(sources) if self.reference is None else self.reference
        given = sequence.masked()
        runs = Runs(learner, given, given.target, candidates, reference, workspace=workspace or Workspace())
        known = [guard.beforehand(runs) for guard in self.guards]
        out = {name for found in known for name in found.struck}
        skipped = set() if self.run_all else out
        keep = on_step is not None
        run_candidates(runs, skipped=skipped, on_candidate=self.on_candidate, keep_steps=keep, engine=self.engine)
        choice = conclude(runs, self.score.judge(runs), [*known, *self._inspected(runs, out)], self.cautious)
        if on_step is not None:
            for record, student in runs.steps[choice.best]:
                on_step(record, student)
        adaptation = runs.adaptations[choice.best]
        if self.committee is not None and choice.best != reference:
            members, taught = self.committee.taught(runs, self.score, choice)
            if taught is not None:
                sentence = f"{choice.sentence}; {self.committee.in_words(members)}"
                choice = replace(choice, sentence=sentence, members=members)
                adaptation = replace(adaptation, learner=taught)
        return replace(adaptation, choice=choice)

    def _inspected(self, runs: Runs, out: set[Hashable]) -> list[Findings]:
        """What the guards find, one after another: who is struck out is no witness against others."""
        found = []
        for guard in self.guards:
            left = {name: own for name, own in runs.adaptations.items() if name not in out or name == runs.reference}
            found.append(guard.inspect(replace(runs, adaptations=left)))
            out = out | set(found[-1].struck)
        return found


def choose(
    candidates: Mapping[str, Method | Candidate], sequence: DomainSequence, learner: Any = None, **options: Any
) -> Choice:
    """Rank candidates on a sequence without a label of its target.

    Parameters
    ----------
    candidates : mapping of names to Method or Candidate
        Such as ``{"GOAT": GOAT(4), "carried": CarriedLabels()}``; the source model is added where it is not among them.
    sequence : DomainSequence
        Labels but the source's are never looked at.
    learner : Learner or classifier, optional
        A learner fitted on the source, or a classifier to fit on it; logistic regression by default.
    **options
        As for `Chosen`, whose ``adapt`` also hands over the model.

    Examples
    --------
    >>> from driftfit.datasets.toy import moving_gaussians
    >>> from driftfit.methods import GOAT
    >>> print(choose({"GOAT": GOAT(2)}, moving_gaussians((0, 1.5))).sentence[:31])
    GOAT is chosen of 2 candidates:
    """
    if not isinstance(learner, Learner):
        learner = _fitted(learner, sequence)
    choice: Choice = Chosen(candidates, **options).adapt(learner, sequence).choice
    return choice


def conclude(runs: Runs, judgement: Judgement, findings: list[Findings], cautious: bool = False) -> Choice:
    """The candidate with the highest score that no guard struck out, and the sentence that explains it."""
    scores, gains = judgement.scores, paired_gains(judgement, runs.reference)
    struck: dict[Any, str] = {}
    for found in findings:
        for name, reason in found.struck.items():
            struck.setdefault(name, reason)
    best, runner_up, held_back = pick(runs.names, scores, struck, gains, runs.reference, cautious=cautious)
    cautions = [found.cautions[best] for found in findings if best in found.cautions]
    sentence = _sentence(runs, judgement, best, runner_up, struck, gains, held_back, cautions)
    rows = np.arange(len(runs.target)) if judgement.rows is None else judgement.rows
    labels = np.empty(0, dtype=np.int64) if judgement.labels is None else runs.learner.classes[judgement.labels]
    return Choice(
        runs.adaptations[best].n_generated, "selection", sentence, scores, rows, labels,
        best, runner_up, runs.reference, gains, struck, dict(runs.failed),
    )  # fmt: skip


def pick(
    names: Sequence[Hashable],
    scores: Mapping[Any, float],
    struck: Collection[Any],
    gains: Mapping[Any, Gain],
    reference: Hashable,
    *,
    cautious: bool,
) -> tuple[Hashable, Hashable | None, bool]:
    """The best of those that are left, the next, and whether the reference was taken for caution.

    >>> gains = {"old": Gain(0, 0, 0), "new": Gain(0.2, -0.1, 0.5)}
    >>> pick(["old", "new"], {"old": 0.1, "new": 0.3}, {}, gains, "old", cautious=True)
    ('old', 'new', True)
    """
    # Of candidates that are all struck out the reference remains.
    left = [name for name in names if name not in struck] or [reference]
    # Sorting keeps the order of equal ones.
    ranked = sorted(left, key=lambda name: -round(scores[name] / _TIE))
    best = ranked[0]
    # A reference that is struck out holds nobody back.
    held_back = cautious and reference in left and best != reference and gains[best].low <= 0
    if held_back:
        best = reference
    return best, next((name for name in ranked if name != best), None), held_back


def _sentence(
    runs: Runs,
    judgement: Judgement,
    best: Hashable,
    runner_up: Hashable | None,
    struck: dict[Any, str],
    gains: dict[Any, Gain],
    held_back: bool,
    cautions: list[str],
) -> str:
    scores = judgement.scores
    # Not those that do not apply to such samples.
    count = len({*runs.names, *struck, *runs.failed})
    text = f"{best} is chosen of {count} candidates: "
    if held_back:
        text += f"no other is clearly above it in {judgement.words} (no target labels; {scores[best]:.3f}"
    else:
        text += f"the highest {judgement.words} (no target labels; {scores[best]:.3f}"
    if best != runs.reference:
        gain = gains[best]
        text += (
            f", {runs.reference} {scores[runs.reference]:.3f}, gain {gain.value:.3f} [{gain.low:.3f}, {gain.high:.3f}]"
        )
    if runner_up is not None and runner_up != runs.reference:
        text += f"; next {runner_up} {scores[runner_up]:.3f}"
    text += ")"
    for reason in dict.fromkeys(struck.values()):
        names = [str(name) for name, own in struck.items() if own == reason]
        text += f"; {', '.join(names)} {'is' if len(names) == 1 else 'are'} struck out: {reason}"
    for name, reason in runs.failed.items():
        text += f"; {name} could not run: {reason}"
    return text + "".join(f"; caution: {caution}" for caution in cautions)


def _checked(candidates: Any) -> dict[str, Candidate]:
    if not isinstance(candidates, Mapping) or not candidates:
        raise InputError(f"candidates must be named methods, such as {{'GOAT': GOAT(4)}}, got {candidates!r}")
    found = {}
    for name, own in candidates.items():
        candidate = own if isinstance(own, Candidate) else Candidate(own)
        if not isinstance(candidate.method, Method):
            raise InputError(f"candidate {name!r} must be a method such as GOAT(4), a `Method`, got {own!r}")
        found[name] = candidate
    if not any(isinstance(own.method, SourceOnly) for own in found.values()):
        if SOURCE in found:
            raise InputError(f"the name {SOURCE!r} is the source model's; call the candidate otherwise")
        found = {SOURCE: Candidate(SourceOnly()), **found}
    return found


def _fitted(estimator: Any, sequence: DomainSequence) -> Learner:
    if estimator is None:
        from sklearn.linear_model import LogisticRegression

        estimator = LogisticRegression(max_iter=1000)
    source = sequence.source
    return as_learner(estimator, source.classes).fit(source.samples, source.codes(), source.uneven_weights)


# Labellings with random errors that the cost of an error is averaged over.
_DRAWS = 4


@dataclass(frozen=True)
class Committee:
    """Candidates nearer to the best one than it is to itself with some wrong labels: they teach one model together.

    What a score says of two good candidates is partly chance, and so is what each training came out with. The mean of
    what several say of the target is nearer to the truth than any of them that the score could pick. A new model learns
    it, together with the labelled source; it takes their place if it would be one of them itself.

    ``tolerance``: share of wrong labels whose cost in score is no difference. ``mixup``: train on mixtures, as
    `CarriedLabels` does. The learner must be able to.
    """

    tolerance: float = 0.05
    mixup: float | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.tolerance < 1.0:
            raise InputError(f"tolerance must be a share of the labels between 0 and 1, got {self.tolerance!r}")

    def taught(self, runs: Runs, score: Evidence, choice: Choice) -> tuple[dict[Any, float], Learner | None]:
        """Weights of those who take part, the highest first, and the model; nobody and nothing where one stands alone.

        ``score``: what the choice was made by. ``choice``: candidates that are struck out do not take part.
        """
        best = choice.best
        least = self._spoilt_score(runs, score, best)
        room = {name: choice.scores[name] - least for name in runs.names if name not in choice.struck}
        found = {name: room[name] for name in sorted(room, key=lambda name: -room[name]) if room[name] > 0}
        if len(found) < 2:
            return {}, None
        # One at the end of the tolerance counts for nothing.
        members = {name: own / sum(found.values()) for name, own in found.items()}
        said = np.sum([weight * runs.probabilities[name] for name, weight in members.items()], axis=0)
        student = trained_on(
            runs.learner, runs.target, said.argmax(axis=1), source=runs.sequence.source, mixup=self.mixup
        )
        answers: dict[Hashable, Any] = {best: softmax(student.logits(runs.target.samples), axis=1)}
        reached = score.judge(_as_said(runs, best, answers)).scores[best]
        return (members, student) if reached > least else ({}, None)

    def _spoilt_score(self, runs: Runs, score: Evidence, best: Hashable) -> float:
        """What is left of the best candidate's score when some of its labels are wrong."""
        rng = np.random.default_rng(derive_seed("committee", len(runs.target)))
        labels, k = runs.labels(best), len(runs.learner.classes)
        wrong: dict[Hashable, Any] = {draw: _with_errors(labels, k, self.tolerance, rng) for draw in range(_DRAWS)}
        return float(np.mean(list(score.judge(_as_said(runs, best, wrong)).scores.values())))

    def in_words(self, members: Mapping[Any, float]) -> str:
        """Part of a sentence.

        >>> Committee(0.03).in_words({"GOAT": 0.75, "CoVi": 0.25})
        'GOAT (75 %) and CoVi (25 %) teach one model together: they differ by less than 3 % wrong labels'
        """
        *most, last = [f"{name} ({100 * weight:.0f} %)" for name, weight in members.items()]
        return (
            f"{', '.join(most)} and {last} teach one model together: they differ by less than "
            f"{100 * self.tolerance:g} % wrong labels"
        )


def _as_said(runs: Runs, best: Hashable, probabilities: dict[Hashable, Any]) -> Runs:
    """Other answers about the same rows, to be judged as those of candidates are."""
    return replace(runs, adaptations=dict.fromkeys(probabilities, runs.adaptations[best]), probabilities=probabilities)


def _with_errors(labels: NDArray[np.int64], k: int, share: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Class probabilities of a labelling some of whose labels are replaced by others."""
    rows = rng.permutation(len(labels))[: round(share * len(labels))]
    changed = labels.copy()
    changed[rows] = (changed[rows] + rng.integers(1, k, len(rows))) % k
    return np.asarray(np.eye(k)[changed])
