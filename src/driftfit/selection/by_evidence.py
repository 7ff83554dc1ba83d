"""`ByEvidence`: the reference stays unless a declared assumption stands, and then what that calls for is done."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.domains import DomainSequence
from driftfit.errors import InputError, SolverError
from driftfit.methods import (
    Adaptation,
    Assumption,
    GivenProportions,
    Method,
    ModelInUse,
    OnStep,
    ProportionCorrection,
    SourceOnly,
    Workspace,
)
from driftfit.methods.held_out import held_out
from driftfit.models import Learner
from driftfit.parallel import Engine
from driftfit.selection.accuracy import Draw
from driftfit.selection.candidates import MIXUP, answer_to, standard_candidates, table_methods
from driftfit.selection.chosen import GUARDS, SCORE, SOURCE, Chosen, Committee
from driftfit.selection.evidence import Choice
from driftfit.selection.exchange import row_units
from driftfit.selection.gains import Found, in_points, known_gain, unmoved
from driftfit.selection.guards import ClassesMove, ClassShares
from driftfit.selection.ladder import Alternative, Ladder, LadderChoice, Rung, labels_to_settle
from driftfit.selection.refutation import climb
from driftfit.selection.runs import Candidate, OnCandidate

# Name of the model that somebody has in use already.
IN_USE = "model in use"
# Methods that rest on these are compared with each other, and with the source model, by a score without labels.
_COMPARED = frozenset({Assumption.STRUCTURE, Assumption.PATH})


@dataclass(frozen=True, eq=False)
class OwnAnswers:
    """What a model that somebody has in use says, as numbers of the classes.

    ``source`` and ``target``: about the rows of the source, and about those of the target.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]


@dataclass(frozen=True)
class ByEvidence(Method):
    """Keeps the source model, unless something moved and a declared assumption says what to do about it.

    Where nothing moved the source model is returned as it is. Otherwise the declared assumptions are tested in turn,
    and the first one that the data do not refute is followed:

    - ``covariates``: the source model is right; rows like today's count more where labelled rows that were held out
      show that this gains.
    - ``proportions``: the class proportions are corrected where that is estimated to gain.
    - ``scale``: each window gets the source's scale.
    - ``structure`` and ``path``: the methods that rest on what was declared are compared by a score without labels.

    Where nothing is declared the source model stays, and it is shown what each assumption would change that the data do
    not refute.

    ``assume``: what may have changed; the one that is believed most first. ``max_samples``: plans are made between at
    most so many samples of each domain. ``given``: class proportions of the target that somebody knows; proportions
    then count as declared. ``in_use``: what a model that is in use already says: it is the reference, and stays where
    nothing is clearly better. ``ladder``: what `climb` found on the same domains. ``of_one_kind``: samples are images
    or the vectors of one encoder. Steps between windows are then not tested: methods of the paper generate domains
    where they are large. ``networks``: whether the model is a torch network. ``show_others``: whether to adapt under
    each assumption that stands where none was declared, to show what it would change. ``on_candidate``: called with the
    name and the adaptation of each candidate that is tried. ``engine``: where candidates run, side by side; the choice
    is the same.
    """

    assume: Any = ()
    seed: int = 0
    max_samples: int | None = 2_000
    given: GivenProportions | None = None
    in_use: OwnAnswers | None = None
    ladder: Ladder | None = field(default=None, repr=False)
    of_one_kind: bool = False
    networks: bool = False
    show_others: bool = True
    on_candidate: OnCandidate | None = field(default=None, repr=False)
    engine: Engine | None = None
    word = "auto"

    def __post_init__(self) -> None:
        assume = Assumption.of(self.assume)
        if self.given is not None and Assumption.PROPORTIONS not in assume:
            assume = (Assumption.PROPORTIONS, *assume)
        object.__setattr__(self, "assume", assume)

    @property
    def reference(self) -> str:
        """Name of the model that others are compared with."""
        return SOURCE if self.in_use is None else IN_USE

    def needs_matrices(self, encodes: bool) -> bool:
        # Behind an encoder columns may hold words, which only the encoder can read.
        return not encodes

    def n_steps(self, sequence: DomainSequence) -> int:
        """At most one for each assumption that is followed or shown, and one for the reference."""
        return len(self.assume or Assumption) + 1

    def adapt(
        self, learner: Learner, sequence: DomainSequence, on_step: OnStep = None, workspace: Workspace | None = None
    ) -> Adaptation:
        masked = sequence.masked()
        work = workspace or Workspace()
        ladder = self._climbed(learner, masked)
        if not ladder.moved.rejected:
            own = unmoved(learner, masked, self.assume, self.seed)
            return self._kept(learner, masked, replace(ladder, before=own, estimate=own))
        weaker = self._weaker(learner, masked)
        if weaker is not None:
            return self._kept(learner, masked, ladder, weaker)
        for assumption in (name for name in self.assume if name in ladder.standing):
            if assumption in _COMPARED:
                return self._compared(learner, masked, ladder, on_step, work)
            try:
                return self._followed(assumption, learner, masked, ladder, on_step)
            except InputError as error:
                # What a method gains cannot be known: nothing speaks for it.
                return self._kept(learner, masked, ladder, str(error))
        if not self.assume and self.show_others:
            ladder = replace(ladder, others=self._others(learner, masked, ladder, work))
        return self._kept(learner, masked, ladder)

    def _climbed(self, learner: Learner, masked: DomainSequence) -> Ladder:
        found = climb(learner, masked, self.assume, seed=self.seed) if self.ladder is None else self.ladder
        if self.of_one_kind and found.moved.rejected:
            # Nothing but their own gates speaks against these here.
            tested = {
                name: replace(one, objection=None, generated=False) if name in _COMPARED else one
                for name, one in found.tested.items()
            }
            found = replace(found, tested=tested)
        return found

    def _kept(self, learner: Learner, masked: DomainSequence, ladder: Ladder, why: str = "") -> Adaptation:
        """The reference, and nothing else."""
        sentence = f"{self.reference} stays: {why}" if why else ladder.why_kept(self.reference)
        struck = {answer_to(name): one.sentence for name, one in ladder.tested.items() if one.rejected}
        kept = SourceOnly() if self.in_use is None else ModelInUse(self.in_use.target)
        adaptation = kept.adapt(learner, masked)
        if self.on_candidate is not None:
            self.on_candidate(self.reference, adaptation)
        choice = LadderChoice(
            0, "selection", sentence, best=self.reference, reference=self.reference, struck=struck, ladder=ladder
        )
        return replace(adaptation, choice=choice)

    def _followed(
        self, assumption: Assumption, learner: Learner, masked: DomainSequence, ladder: Ladder, on_step: OnStep
    ) -> Adaptation:
        """The method that an assumption calls for, where it is estimated to gain over the reference."""
        name, method = self._method(assumption)
        found = known_gain(assumption, method, learner, masked.ends(), self.seed, self._answers)
        candidates: dict[str, Method] = {self.reference: self._old(), name: method}
        guards = (ClassShares(found.shares),)
        chosen = Chosen(candidates, found, guards, on_candidate=self.on_candidate, engine=self.engine)
        adaptation = chosen.adapt(learner, masked.ends(), on_step)
        choice: Choice = adaptation.choice
        gains = {**choice.gains, name: found.gain}
        sentence = self._sentence(assumption, ladder, choice, found)
        ladder = replace(
            ladder,
            rung=Rung.ASSUMPTION,
            used=assumption,
            before=found.before,
            estimate=found.after if choice.best == name else found.before,
        )
        told = LadderChoice.of(choice, gains=gains, sentence=sentence, ladder=ladder)
        return replace(adaptation, choice=told)

    def _sentence(self, assumption: Assumption, ladder: Ladder, choice: Choice, found: Found) -> str:
        head = (
            f"{assumption} was declared ({assumption.meaning}) and is not refuted: {ladder.tested[assumption].support}"
        )
        if choice.best == self.reference:
            why = choice.struck.get(answer_to(assumption)) or (
                f"{answer_to(assumption)} is estimated to gain {found.gain_in_words}, which is not clearly above 0"
            )
            return f"{head}; {self.reference} stays: {why}"
        return f"{head}; {choice.best} is estimated to gain {found.gain_in_words}, if that holds"

    def _compared(
        self, learner: Learner, masked: DomainSequence, ladder: Ladder, on_step: OnStep, work: Workspace
    ) -> Adaptation:
        """Methods along the path or by structure, by the information that labels have about those next door."""
        declared = frozenset(self.assume) & _COMPARED & frozenset(ladder.standing)
        # Where given windows lie too far apart, what goes from one to the next as they are would lose its classes.
        too_far = Assumption.PATH in declared and ladder.tested[Assumption.PATH].generated
        all_of_them = standard_candidates(networks=self.networks, max_samples=self.max_samples)
        fitting: dict[str, Candidate | Method] = {
            name: own
            for name, own in all_of_them.items()
            if own.method.assumes <= declared
            and not (too_far and Assumption.PATH in own.method.assumes and own.method.n_generated == 0)
        }
        if self.in_use is not None:
            fitting = {IN_USE: self._old(), **{name: own for name, own in fitting.items() if name != SOURCE}}
        committee = Committee(mixup=MIXUP) if self.networks else None
        guards = (ClassesMove(self.seed), *GUARDS)
        chosen = Chosen(fitting, SCORE, guards, committee=committee, on_candidate=self.on_candidate, engine=self.engine)
        adaptation = chosen.adapt(learner, masked, on_step, work)
        choice: Choice = adaptation.choice
        shown = " and ".join(name for name in self.assume if name in declared)
        sentence = f"{shown} {'was' if len(declared) == 1 else 'were'} declared; {choice.sentence}"
        used = next(name for name in self.assume if name in declared)
        ladder = replace(ladder, rung=Rung.ASSUMPTION, used=used)
        told = LadderChoice.of(choice, sentence=sentence, ladder=ladder, in_points=False)
        return replace(adaptation, choice=told)

    def _others(
        self, learner: Learner, masked: DomainSequence, ladder: Ladder, work: Workspace
    ) -> tuple[Alternative, ...]:
        """What each assumption that stands would change, though nobody declared it."""
        target = masked.target
        before = learner.logits(target.samples).argmax(axis=1) if self.in_use is None else self.in_use.target
        found = []
        for assumption in ladder.standing:
            one = replace(self, assume=(assumption,), ladder=replace(ladder, declared=(assumption,)), on_candidate=None)
            try:
                adaptation = one.adapt(learner, masked, None, work)
            except (InputError, SolverError):
                continue  # what cannot be made has no answers to show
            after = before
            if adaptation.choice.best != self.reference:
                after = adaptation.learner.logits(target.samples).argmax(axis=1)
            changed = float((after != before).mean())
            name = str(adaptation.choice.best)
            found.append(Alternative(assumption, name, changed, labels_to_settle(changed, len(target))))
            if self.on_candidate is not None and name != self.reference:
                self.on_candidate(name, adaptation)
        return tuple(found)

    def _method(self, assumption: Assumption) -> tuple[str, Method]:
        """What an assumption calls for, by its name."""
        if assumption is Assumption.PROPORTIONS and self.given is not None:
            return answer_to(assumption), ProportionCorrection(self.given, seed=self.seed)
        return answer_to(assumption), table_methods(seed=self.seed)[answer_to(assumption)]

    def _old(self) -> Method:
        return SourceOnly() if self.in_use is None else ModelInUse(self.in_use.target)

    @property
    def _answers(self) -> NDArray[np.int64] | None:
        return None if self.in_use is None else self.in_use.target

    def _weaker(self, learner: Learner, masked: DomainSequence) -> str | None:
        """Why no method may stand on this learner: it is clearly worse on the source than the model in use."""
        if self.in_use is None:
            return None
        held = held_out(learner, masked.source, seed=self.seed, max_rows=None)
        old, new = (np.asarray(said == held.codes, float) for said in (self.in_use.source, held.logits.argmax(1)))
        gain = Draw(new - old, row_units(masked.source)).gain
        if gain.high >= 0.0:
            return None
        return (
            f"the model behind it is worse than the one in use on the first window: {in_points(gain)}; choose another "
            "--model"
        )
