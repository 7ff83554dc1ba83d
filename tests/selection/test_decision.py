"""One decision on one view: what the method assumes, the lost class, what was asked for, and weights that count."""

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
from driftfit.methods import Assumption
from driftfit.models import as_learner
from driftfit.selection import Advice, Gate, Keep, PathView, assess, check, lost_class

CLASSES = np.array([0, 1])


def trained(sequence, labels=None, domain=0):
    learner = as_learner(LogisticRegression(), CLASSES)
    return learner.fit(sequence[domain].samples, sequence[domain].labels if labels is None else labels)


@pytest.fixture(scope="module")
def gradual():
    return moving_gaussians((0, 0.5, 1.0))


# What decides --------------------------------------------------------------------------------------


def test_a_method_is_kept_where_nothing_speaks_against_what_it_assumes(gradual):
    decision = Gate().decide(gradual, trained(gradual), trained(gradual, domain=2))
    assert decision.trusted
    assert decision.sentence == "nothing speaks against what the method assumes; the adapted model is kept"
    # Nothing was declared that an accuracy could rest on.
    assert not decision.estimate.estimable
    assert "label 97 rows" in decision.estimate.remark


def test_a_path_with_a_jump_needs_generated_domains():
    jump = moving_gaussians((0, 2.0))
    source, adapted = trained(jump), trained(jump, domain=1)
    without = Gate().decide(jump, source, adapted)
    assert without.verdict.advice is Advice.GENERATE
    assert without.sentence == (
        "the check asks for domains generated between 0 -> 2, and none was generated; the source model is kept"
    )
    filled = Gate().decide(jump, source, adapted, n_generated=2)
    assert filled.kept == "adapted"
    assert filled.trusted
    assert "none was generated" not in Gate().decide(jump, source).sentence, "nobody adapted anything"


def test_where_nothing_moves_there_is_nothing_to_follow():
    still = moving_gaussians((0, 0, 0))
    source = trained(still)
    decision = Gate().decide(still, source, source)
    assert decision.sentence == "the check advises: do not adapt; the source model is kept"
    assert not decision.trusted


@pytest.mark.parametrize("moves", [False, True])
def test_other_assumptions_are_tested_and_the_path_is_not_asked(moves):
    # One jump, to other units: no path leads there, and own scales need none.
    start = moving_gaussians((0, 0), n_samples=300)
    target = start[1].samples * ([5.0, 0.2] if moves else 1.0) + (40.0 if moves else 0.0)
    path = DomainSequence([start[0], Domain(target, name="later")])
    source = trained(path)
    decision = Gate().decide(path, source, source, assumes={Assumption.SCALE})
    assert decision.kept == ("adapted" if moves else "source")
    assert ("nothing speaks for a change" in decision.sentence) != moves
    refuted = Gate().decide(path, source, source, assumes={Assumption.PROPORTIONS})
    assert refuted.kept == "source"
    assert ("is refuted" in refuted.sentence) == moves


def test_an_adapted_model_that_was_asked_for_is_kept_with_what_speaks_against_it():
    still = moving_gaussians((0, 0, 0))
    decision = Gate(keep=Keep.ADAPTED).decide(still, trained(still), trained(still, 1 - still[0].labels))
    assert decision.kept == "adapted"
    assert decision.sentence.startswith("the adapted model was asked for in any case; the check advises: do not adapt")
    assert not decision.trusted


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


def test_a_lost_class_keeps_the_source_model(gradual):
    decision = Gate().decide(gradual, trained(gradual), nearest(gradual, 1))
    assert decision.keep_source
    assert decision.reasons[0] == decision.lost


# One view ------------------------------------------------------------------------------------------


def test_steps_are_measured_once_for_both_questions(gradual, monkeypatch):
    from driftfit.selection import verdict

    calls = []
    measure = verdict.measure_step
    monkeypatch.setattr(verdict, "measure_step", lambda *a, **k: calls.append(1) or measure(*a, **k))
    source = trained(gradual)
    view = Gate().view(gradual, source)
    first = assess(view, source)
    n_calls = len(calls)
    second = assess(view, source, trained(gradual, domain=2))
    assert len(calls) == n_calls > 0
    assert first.verdict is second.verdict


def test_the_view_has_no_labels_but_the_sources(gradual):
    view = PathView.of(gradual, LogisticRegression())
    assert [domain.labels is None for domain in view.sequence] == [False, True, True]
    assert set(view.fit_rows) | set(view.held_rows) == set(range(400))
    assert not set(view.fit_rows) & set(view.held_rows)
    with pytest.raises(InputError, match="single class"):
        PathView.of(DomainSequence([Domain([[0.0], [1.0]], [1, 1]), Domain([[0.0]])]), LogisticRegression())
    with pytest.raises(InputError, match="at least three of each class"):
        PathView.of(DomainSequence([Domain([[0.0], [1.0]], [0, 1]), Domain([[0.0]])]), LogisticRegression())


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
    assert assess(view, learner, learner).lost is None


# Weights -------------------------------------------------------------------------------------------


def weighted(sequence, make):
    return DomainSequence([Domain(d.samples, d.labels, make(d), d.name) for d in sequence])


def test_equal_weights_change_nothing(gradual):
    even = weighted(gradual, lambda d: np.full(len(d), 3.0))
    assert check(even, LogisticRegression()) == check(gradual, LogisticRegression())


def test_rows_without_weight_do_not_count(gradual):
    """Half as many rows again that say the opposite of the truth and weigh nothing."""
    rng, domains = np.random.default_rng(0), []
    for domain in gradual:
        n = len(domain)
        rows = rng.choice(n, n // 2, replace=False)
        samples = np.concatenate([domain.samples, domain.samples[rows]])
        labels = np.concatenate([domain.labels, 1 - domain.labels[rows]])
        domains.append(Domain(samples, labels, np.repeat([1.0, 0.0], [n, n // 2]), domain.name))
    dirty = DomainSequence(domains)
    bare = DomainSequence([Domain(d.samples, d.labels, name=d.name) for d in dirty])
    assert check(dirty, LogisticRegression()).advice is check(gradual, LogisticRegression()).advice
    assert check(bare, LogisticRegression()).advice is not check(gradual, LogisticRegression()).advice


def test_weights_move_the_class_shares(gradual):
    tilted = weighted(gradual, lambda d: np.where(d.labels == 1, 9.0, 1.0))
    for shift in check(tilted, LogisticRegression()).proportions:
        assert shift.source[1] == pytest.approx(0.9, abs=0.02)
        assert shift.estimate[1] == pytest.approx(0.9, abs=0.05)
    mixed = DomainSequence([tilted[0], gradual[1]])
    assert check(mixed, LogisticRegression()).proportions[0].distance > 0.3
    assert check(gradual, LogisticRegression()).proportions[0].distance < 0.1


def test_a_model_that_cannot_weigh_is_refused_with_the_remedy(gradual):
    tilted = weighted(gradual, lambda d: np.where(d.labels == 1, 9.0, 1.0))
    for model in (KNeighborsClassifier(), make_pipeline(StandardScaler(), KNeighborsClassifier())):
        with pytest.raises(InputError, match=r"KNeighborsClassifier cannot be trained with; choose a classifier"):
            check(tilted, model)


def test_a_verdict_knows_whether_its_way_is_even():
    path, jump = (check(moving_gaussians(way), LogisticRegression()) for way in ((0, 0.6, 1.2, 1.8), (0, 0, 0, 1.8)))
    assert path.even
    assert not jump.even
    assert not replace(path, steps=path.steps[:2]).even
