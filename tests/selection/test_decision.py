"""One decision on one view: the veto, the lost class, the estimates, the policy, and weights that count."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from driftfit.datasets.toy import moving_gaussians
from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.models import as_learner
from driftfit.selection import (
    AccuracyEstimate,
    Advice,
    Agreement,
    CarriedAgreement,
    CarriedOrAgreement,
    Gate,
    Keep,
    PairedGain,
    PathView,
    ThresholdedConfidence,
    assess,
    check,
    estimate_along,
    lost_class,
)
from driftfit.selection.decision import decided
from driftfit.selection.gain import Compared, unpaired

CLASSES = np.array([0, 1])
GOOD, BETTER = AccuracyEstimate(0.8, 0.7, 0.9, "x"), AccuracyEstimate(0.9, 0.8, 1.0, "x")
UP = Compared(GOOD, BETTER, PairedGain(0.1, 0.05, 0.15))
DOWN = Compared(BETTER, GOOD, PairedGain(-0.1, -0.15, -0.05))


def trained(sequence, labels=None, domain=0):
    learner = as_learner(LogisticRegression(), CLASSES)
    return learner.fit(sequence[domain].samples, sequence[domain].labels if labels is None else labels)


@pytest.fixture(scope="module")
def gradual():
    return moving_gaussians((0, 0.5, 1.0))


@pytest.fixture(scope="module")
def calm(gradual):
    return check(gradual, LogisticRegression())


# What decides --------------------------------------------------------------------------------------


@pytest.mark.parametrize("advice", [Advice.DO_NOT_ADAPT, Advice.GET_LABELS])
def test_the_verdict_has_a_veto(calm, advice):
    kept, reasons = decided(replace(calm, advice=advice), UP, None, Keep.BETTER)
    assert kept == "source"
    assert reasons[0] == f"the check advises: {advice.value}"
    assert "80.0 % before and 90.0 % after" in reasons[-1]
    assert "on the same rows +10.0 points (+5.0 .. +15.0)" in reasons[-1]


def test_then_a_lost_class_then_the_estimates(calm):
    assert decided(calm, UP, "lost", Keep.BETTER)[0] == "source"
    assert decided(calm, UP, None, Keep.BETTER)[0] == "adapted"
    assert decided(calm, DOWN, None, Keep.BETTER)[0] == "source"
    assert decided(calm, None, None, Keep.BETTER) == ("source", ("no adaptation was asked for",))


def test_an_unreliable_gain_must_be_settled(calm):
    close = replace(UP, gain=PairedGain(0.1, -0.01, 0.21))
    assert decided(calm, close, None, Keep.BETTER)[0] == "adapted"
    doubtful = replace(close, after=replace(BETTER, reliable=False))
    kept, reasons = decided(calm, doubtful, None, Keep.BETTER)
    assert kept == "source"
    assert reasons[-1].endswith("not settled by more than sampling error")
    assert decided(calm, replace(doubtful, gain=UP.gain), None, Keep.BETTER)[0] == "adapted"


@pytest.mark.parametrize("n_noise", [0, 30])
def test_a_model_does_not_beat_itself(n_noise):
    # With noise in thirty columns carried labels fail and agreement takes their place.
    rng = np.random.default_rng(0)
    path = moving_gaussians((0, 0.6), n_samples=300)
    path = DomainSequence(
        Domain(np.hstack([d.samples, 3.0 * rng.normal(size=(len(d), n_noise))]), labels=d.labels, name=d.name)
        for d in path
    )
    source = trained(path)
    decision = Gate().decide(path, source, source)
    assert (decision.gain.value, decision.gain.low, decision.gain.high) == (0.0, 0.0, 0.0)
    assert decision.after.value == decision.before.value


def test_the_gain_counts_the_rows_on_which_the_models_differ(gradual):
    source, adapted = trained(gradual), trained(gradual, domain=2)
    view = PathView.of(gradual, LogisticRegression())
    decision = assess(view, source, adapted)
    assert decision.gain.value == pytest.approx(decision.after.value - decision.before.value)
    apart = unpaired(decision.before, decision.after)
    # Two estimates that do not share their rows would be far less sure.
    assert decision.gain.high - decision.gain.low < 0.5 * (apart.high - apart.low)


def test_a_verdict_that_asks_for_domains_and_gets_none_says_so():
    jump = moving_gaussians((0, 2.0))
    source, adapted = trained(jump), trained(jump, domain=1)
    without = Gate().decide(jump, source, adapted)
    assert without.verdict.advice is Advice.GENERATE
    assert "the check asks for domains generated between 0 -> 2, and none was generated" in without.reasons
    # The sentence is what the command line, the report and the classifiers tell.
    assert "none was generated" in without.sentence
    assert without.sentence.endswith(f"the {without.kept} model is kept")
    assert "none was generated" not in Gate().decide(jump, source, adapted, n_generated=2).sentence
    assert "none was generated" not in Gate().decide(jump, source).sentence, "nobody adapted anything"


def test_the_veto_reaches_every_gate():
    # Nothing moves, so that the verdict is "do not adapt"; the adapted model is no worse and still not kept.
    still = moving_gaussians((0, 0, 0))
    source = trained(still)
    decision = Gate().decide(still, source, source)
    assert decision.verdict.advice is Advice.DO_NOT_ADAPT
    assert decision.keep_source
    assert decision.sentence == "the check advises: do not adapt; the source model is kept"
    assert not decision.trusted


def test_an_adapted_model_that_was_asked_for_is_kept_and_nothing_else_is_said():
    still = moving_gaussians((0, 0, 0))
    source = trained(still)
    spoilt = trained(still, 1 - still[0].labels)
    decision = Gate(keep=Keep.ADAPTED).decide(still, source, spoilt)
    assert decision.kept == "adapted"
    assert "the source model is kept" not in " ".join([decision.sentence, *decision.reasons])
    assert decision.sentence.startswith("the adapted model was asked for in any case")
    assert "the check advises: do not adapt" in decision.sentence
    assert decision.estimate == decision.after
    assert not decision.trusted


def test_generated_domains_answer_a_verdict_that_asks_for_them(gradual, calm):
    source = trained(gradual)
    decision = Gate().decide(gradual, source, trained(gradual, domain=2))
    assert decision.trusted
    wanting = replace(decision, verdict=replace(calm, advice=Advice.GENERATE))
    assert not wanting.trusted
    assert replace(wanting, n_generated=3).trusted


# Lost classes --------------------------------------------------------------------------------------


def nearest(sequence, n_ones):
    """A model that says 1 on exactly so many target rows."""
    labels = (np.arange(len(sequence.target)) < n_ones).astype(int)
    return as_learner(KNeighborsClassifier(1), CLASSES).fit(sequence.target.samples, labels)


def test_a_class_is_lost_only_where_the_source_model_had_it():
    sequence = moving_gaussians((0, 0.3))
    view = PathView.of(sequence, LogisticRegression())
    whole, thin, none = (nearest(sequence, n) for n in (200, 8, 1))
    assert lost_class(view, whole, none).startswith("adaptation lost the class '1': 50 % of the labelled rows, 50 %")
    # The source model had all but lost it: 8 of 400 rows against half of the labels.
    assert lost_class(view, thin, none) is None
    assert lost_class(view, whole, whole) is None


def test_a_lost_class_makes_the_estimate_unreliable(gradual):
    source, lost = trained(gradual), nearest(gradual, 1)
    decision = Gate().decide(gradual, source, lost)
    assert decision.keep_source
    assert decision.lost is not None
    assert decision.reasons[0] == decision.lost
    assert not decision.after.reliable


# One view ------------------------------------------------------------------------------------------


class Counting(CarriedAgreement):
    """Carried labels that count how often they are prepared."""

    prepared = 0

    def prepare(self, view):
        Counting.prepared += 1
        return super().prepare(view)


def test_verdict_and_estimators_are_made_once_for_both_questions(gradual, monkeypatch):
    from driftfit.selection import checking

    calls = []
    measure = checking.measure_step
    monkeypatch.setattr(checking, "measure_step", lambda *a, **k: calls.append(1) or measure(*a, **k))
    Counting.prepared = 0
    gate = Gate(CarriedOrAgreement(carried=Counting()))
    source = trained(gradual)
    view = gate.view(gradual, source)
    first = assess(view, source, gate=gate)
    n_calls = len(calls)
    second = assess(view, source, trained(gradual, domain=2), gate=gate)
    assert len(calls) == n_calls > 0
    assert Counting.prepared == 1
    assert first.verdict is second.verdict
    assert first.before == second.before
    assert first.after is None
    assert [domain.number for domain in first.along] == [1, 2]
    assert [domain.number for domain in second.along] == [2]
    assert second.along[-1].after == second.after


def test_students_of_given_domains_are_estimated_where_they_are_handed_in(gradual):
    source, view = trained(gradual), PathView.of(gradual, LogisticRegression())
    students = {1: trained(gradual, domain=1), 2: trained(gradual, domain=2)}
    decision = assess(view, source, students[2], students=students)
    assert [domain.domain for domain in decision.along] == ["0.5", "1"]
    assert decision.along[-1].before == decision.before


def test_large_domains_are_sampled(gradual):
    view = Gate(max_samples=60).view(gradual, LogisticRegression())
    assert [len(domain) for domain in view.sequence] == [60, 60, 60]
    assert [len(domain) for domain in Gate(max_samples=None).view(gradual, LogisticRegression()).sequence] == [400] * 3
    with pytest.raises(InputError, match="max_samples must be at least 10 or None, got 3"):
        Gate(max_samples=3)


def test_a_class_that_the_sample_misses_keeps_its_place():
    # The learner knows three classes; the view's source shows the first and the last alone.
    rng = np.random.default_rng(0)
    names = np.array(["a", "b", "c"])
    labels = names[rng.integers(0, 3, 300)]
    samples = rng.normal(size=(300, 2)) + 6.0 * np.searchsorted(names, labels)[:, None]
    learner = as_learner(LogisticRegression(), names).fit(samples, np.searchsorted(names, labels))
    kept = labels != "b"
    sequence = DomainSequence([Domain(samples[kept], labels=labels[kept]), Domain(samples[kept] + 0.5)])
    view = PathView.of(sequence, learner)
    assert set(view.codes) == {0, 2}
    decision = assess(view, learner, learner)
    assert decision.before.value > 0.9
    assert decision.lost is None


# Weights -------------------------------------------------------------------------------------------


def weighted(sequence, make):
    return DomainSequence([Domain(d.samples, d.labels, make(d), d.name) for d in sequence])


def test_equal_weights_change_nothing(gradual):
    even = weighted(gradual, lambda d: np.full(len(d), 3.0))
    assert check(even, LogisticRegression()) == check(gradual, LogisticRegression())
    assert estimate_along(even, LogisticRegression()) == estimate_along(gradual, LogisticRegression())


def poisoned(sequence, seed=0):
    """Half as many rows again that say the opposite of the truth and weigh nothing."""
    rng = np.random.default_rng(seed)
    domains = []
    for domain in sequence:
        n = len(domain)
        rows = rng.choice(n, n // 2, replace=False)
        samples = np.concatenate([domain.samples, domain.samples[rows]])
        labels = np.concatenate([domain.labels, 1 - domain.labels[rows]])
        domains.append(Domain(samples, labels, np.repeat([1.0, 0.0], [n, n // 2]), domain.name))
    return DomainSequence(domains)


def test_rows_without_weight_do_not_count(gradual):
    dirty = poisoned(gradual)
    bare = DomainSequence([Domain(d.samples, d.labels, name=d.name) for d in dirty])
    view, deaf = PathView.of(dirty, LogisticRegression()), PathView.of(bare, LogisticRegression())
    assert view.source_accuracy() > 0.97
    assert deaf.source_accuracy() < 0.8
    clean = estimate_along(gradual, LogisticRegression(), estimator=CarriedAgreement())
    heard = estimate_along(dirty, LogisticRegression(), estimator=CarriedAgreement())
    for one, other in zip(clean, heard, strict=True):
        assert other.before.value == pytest.approx(one.before.value, abs=0.03)
        assert other.before.reliable
    assert check(dirty, LogisticRegression()).advice is check(gradual, LogisticRegression()).advice


@pytest.mark.parametrize("estimator", [ThresholdedConfidence(), Agreement(2)], ids=lambda e: type(e).__name__)
def test_every_estimator_weighs(gradual, estimator):
    dirty = poisoned(gradual)
    bare = DomainSequence([Domain(d.samples, d.labels, name=d.name) for d in dirty])
    clean, heard, deaf = (
        estimate_along(sequence, LogisticRegression(), estimator=estimator)[0].before.value
        for sequence in (gradual, dirty, bare)
    )
    assert heard == pytest.approx(clean, abs=0.03)
    assert deaf < clean - 0.1


def test_weights_move_the_class_shares(gradual):
    tilted = weighted(gradual, lambda d: np.where(d.labels == 1, 9.0, 1.0))
    verdict = check(tilted, LogisticRegression())
    for shift in verdict.proportions:
        assert shift.source[1] == pytest.approx(0.9, abs=0.02)
        assert shift.estimate[1] == pytest.approx(0.9, abs=0.05)
    source = weighted(DomainSequence(gradual[:2]), lambda d: np.where(d.labels == 1, 9.0, 1.0))
    mixed = DomainSequence([source[0], gradual[1]])
    assert check(mixed, LogisticRegression()).proportions[0].distance > 0.3
    assert check(gradual, LogisticRegression()).proportions[0].distance < 0.1


def test_a_model_that_cannot_weigh_is_refused_with_the_remedy(gradual):
    tilted = weighted(gradual, lambda d: np.where(d.labels == 1, 9.0, 1.0))
    with pytest.raises(InputError, match=r"KNeighborsClassifier cannot be trained with; choose a classifier"):
        check(tilted, KNeighborsClassifier())
    with pytest.raises(InputError, match="which KNeighborsClassifier cannot be trained with"):
        estimate_along(tilted, make_pipeline(StandardScaler(), KNeighborsClassifier()))
