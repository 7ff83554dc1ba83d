"""What follows from each assumption, and whether the data contradict it. No label of the target is looked at."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from driftfit.domains import Domain, DomainSequence, is_tensor
from driftfit.errors import InputError, SolverError
from driftfit.methods import Assumption, CarriedLabels, Transport
from driftfit.methods.alignment import dense_matrix
from driftfit.methods.pseudo_labels import class_shares
from driftfit.models import Learner
from driftfit.seeds import derive_seed
from driftfit.selection.dependence import Units
from driftfit.selection.diagnosis import fit_proportions
from driftfit.selection.diagnosis.own_scale import own_scale_chance
from driftfit.selection.exchange import LEVEL, Moved, Sides, alike, moved
from driftfit.selection.ladder import Ladder, Tested
from driftfit.selection.verdict import Advice, diagnose
from driftfit.selection.view import PathView, encoded_rows
from driftfit.transport import GromovWasserstein, Mapped, Orthogonal, isometry

# Rows of a window that tests look at.
_MOST_ROWS = 1_000
# Fewer rows of the source in the proportions of the target cannot be told from anything.
_FEWEST_ROWS = 40
# With fewer rows or groups in a window own scales let nearly everything pass: 40 customers hid other customers in 86 %
# of the runs of `benchmarks/harm.py`. How many blocks of neighbours there are is itself estimated, and decides nothing.
_FEWEST_FOR_SCALE = 100
# Part of what a model knows of the source's classes that a coupling by structure must find again between its halves.
_LEAST_CARRIED = 0.75
_STRUCTURE_ROWS = 300
STRUCTURAL = Mapped(Orthogonal(), start=GromovWasserstein())


def climb(
    learner: Learner,
    sequence: DomainSequence,
    declared: tuple[Assumption, ...] = (),
    *,
    seed: int = 0,
    view: PathView | None = None,
    found: Moved | None = None,
) -> Ladder:
    """Ask first whether anything moved, and then what speaks against each assumption.

    ``learner``: trained on the source. ``sequence``: labels but the source's are not looked at. ``declared``: those
    that are tested; all of them where none is declared, to show what each would mean. ``view``: a view of the same
    domains, where somebody has one. ``found``: whether anything moved, where that is known already.
    """
    small = sequence.masked().each(lambda one: one.subsample(_MOST_ROWS, derive_seed(seed, "tests", one.name)))
    rows = small.each(lambda one: one.with_samples(numbers_of(learner, one)))
    found = moved(rows, seed) if found is None else found
    if not found.rejected:
        return Ladder(declared, found)
    tests = _tests(learner, small, rows, seed, view)
    tested = {}
    for assumption in declared or tuple(Assumption):
        try:
            tested[assumption] = tests[assumption]()
        except (InputError, SolverError) as error:
            tested[assumption] = Tested(assumption, str(error), testable=False)
    return Ladder(declared, found, tested)


def numbers_of(learner: Learner, domain: Domain) -> NDArray[np.float64]:
    """Rows of finite numbers: the samples themselves, or in the space of the encoder where they hold words or gaps."""
    try:
        matrix = domain.matrix()
    except InputError:
        return encoded_rows(learner, domain.samples)
    if is_tensor(matrix):
        matrix = matrix.cpu().numpy()
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=np.float64)


def _tests(
    learner: Learner, small: DomainSequence, rows: DomainSequence, seed: int, view: PathView | None
) -> dict[Assumption, Callable[[], Tested]]:
    """A test of each assumption, on the samples that the model reads and on the same as rows of numbers."""
    return {
        Assumption.COVARIATES: lambda: Tested(
            Assumption.COVARIATES, None, "nothing could speak against it without labels of today"
        ),
        Assumption.PROPORTIONS: lambda: _proportions(learner, small.ends(), rows.ends(), seed),
        Assumption.SCALE: lambda: _scale(rows.ends(), seed),
        Assumption.STRUCTURE: lambda: _structure(learner, small.ends(), rows.ends(), seed),
        Assumption.PATH: lambda: _path(view or PathView.of(small, learner, seed)),
    }


def _scale(ends: DomainSequence, seed: int) -> Tested:
    """Behind a scale of its own the target must be the source again, all columns together."""
    few = _too_few(ends, _FEWEST_FOR_SCALE)
    if few:
        return Tested(Assumption.SCALE, few, testable=False)
    chance = own_scale_chance(ends, seed)
    words = f"each column in its own scale (p {chance:.2g})"
    if chance < LEVEL:
        return Tested(Assumption.SCALE, f"the rows still differ with {words}")
    return Tested(Assumption.SCALE, None, f"the rows look alike with {words}")


def _proportions(learner: Learner, ends: DomainSequence, rows: DomainSequence, seed: int) -> Tested:
    """Rows of the source, drawn in the proportions that were estimated, must look like the target."""
    few = _too_few(rows)
    if few:
        return Tested(Assumption.PROPORTIONS, few, testable=False)
    fit = fit_proportions(learner, ends, seed)
    if fit.misfit > fit.largest_misfit:
        return Tested(Assumption.PROPORTIONS, fit.misfit_of_scores)
    drawn = _in_proportions(rows, learner, np.asarray(fit.by_likelihood.estimate), seed)
    share = ", ".join(
        f"{name} {100 * value:.0f} %" for name, value in zip(learner.classes, fit.by_likelihood.estimate, strict=True)
    )
    if drawn is None:
        return Tested(Assumption.PROPORTIONS, None, f"too few rows to say more than that these fit best: {share}")
    chance = alike(drawn, rows.target, seed, "in new proportions")
    words = f"the first window in new proportions ({share}; p {chance:.2g})"
    if chance < LEVEL:
        return Tested(Assumption.PROPORTIONS, f"the rows differ from {words}")
    return Tested(Assumption.PROPORTIONS, None, f"the rows look like {words}")


def _too_few(ends: DomainSequence, fewest: int = 0) -> str | None:
    """Why no test could refute anything; None where one could, with so many rows or groups in each window."""
    units = Units.of((ends.source, ends.target), (dense_matrix(ends.source), dense_matrix(ends.target)))
    if units.sayable and Sides.of(*units.rows).sayable and (units.kind == "block" or min(units.counts) >= fewest):
        return None
    here, there = units.counts
    return f"the rows of the two windows hang together in {here} and {there} parts"


def _in_proportions(ends: DomainSequence, learner: Learner, shares: NDArray[np.float64], seed: int) -> Domain | None:
    """As many rows of the source as there are in other proportions, or None where these are too few."""
    rng = np.random.default_rng(derive_seed(seed, "in proportions"))
    codes = ends.source.codes(learner.classes)
    known = class_shares(codes, len(learner.classes))
    wanted = np.flatnonzero((shares > 0) & (known > 0))
    whole = min(float((known[wanted] * len(codes) / shares[wanted]).min()), float(len(codes)))
    if whole < _FEWEST_ROWS:
        return None
    rows = [rng.permutation(np.flatnonzero(codes == code))[: round(whole * shares[code])] for code in wanted]
    return ends.source.take(np.sort(np.concatenate(rows))).without_labels()


def own_unit(domain: Domain) -> Domain:
    """The cloud about its mean, in units of its whole deviation: what a turn, a mirror and a zoom leave as it is."""
    rows = dense_matrix(domain)
    centred = rows - rows.mean(axis=0)
    size = float(np.sqrt(np.square(centred).sum(axis=1).mean()))
    return domain.with_samples(centred / (size if size > 0 else 1.0))


def _structure(learner: Learner, ends: DomainSequence, rows: DomainSequence, seed: int) -> Tested:
    """Distances inside the target must be those of the source, and they must tell the source's own classes apart."""
    source, target = (own_unit(domain) for domain in rows)
    found = isometry(source.samples, target.samples, max_samples=_STRUCTURE_ROWS, seed=seed)
    if not found.plausible:
        return Tested(Assumption.STRUCTURE, str(found))
    carried, known, chance = _between_halves(learner, ends, source, seed)
    if carried - chance < _LEAST_CARRIED * (known - chance):
        return Tested(
            Assumption.STRUCTURE,
            "distances between rows do not tell the classes apart: labels carried by them from one half of the first "
            f"window to the other are right for {100 * carried:.0f} %, where a model is for {100 * known:.0f} %",
        )
    return Tested(
        Assumption.STRUCTURE,
        None,
        f"distances are bent {found.ratio:.2f} times as much as between halves of the first window, and carry "
        f"{100 * carried:.0f} % of its labels rightly from one half to the other",
    )


def _between_halves(learner: Learner, ends: DomainSequence, scaled: Domain, seed: int) -> tuple[float, float, float]:
    """Share of labels that are right: carried between halves of the source, by a model, and by the largest class."""
    rng = np.random.default_rng(derive_seed(seed, "halves"))
    order = rng.permutation(len(scaled))[: 2 * _STRUCTURE_ROWS]
    one, other = order[: len(order) // 2], order[len(order) // 2 :]
    codes = ends.source.codes(learner.classes)
    halves = DomainSequence([scaled.take(one), scaled.take(other).without_labels()])
    plans = Transport(STRUCTURAL, certified=False)
    found = CarriedLabels(plans, feature_space=False, refit=False, direct=True).adapt(learner, halves).carried
    carried = float((np.asarray(found).argmax(axis=1) == codes[other]).mean())
    model = learner.fit(ends.source.take(one).samples, codes[one])
    right = model.logits(ends.source.take(other).samples).argmax(axis=1) == codes[other]
    return carried, float(right.mean()), float(class_shares(codes[other], len(learner.classes)).max())


def _path(view: PathView) -> Tested:
    """Every step must be small against the margins, or so even that generated domains can fill them."""
    verdict = diagnose(view)
    if verdict.advice is Advice.ADAPT:
        return Tested(Assumption.PATH, None, verdict.reasons[0])
    if verdict.advice is Advice.GENERATE and verdict.even:
        words = f"the steps are even, and generated domains can fill them: {verdict.reasons[0]}"
        return Tested(Assumption.PATH, None, words, generated=True)
    return Tested(Assumption.PATH, verdict.reasons[0])
