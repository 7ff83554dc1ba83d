"""Remedies for drifting tables: closed forms, what must survive them, and what they refuse."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from driftfit import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.estimators import AdaptedClassifier
from driftfit.methods import (
    ByConfusion,
    ByLikelihood,
    CarriedLabels,
    CovarianceAlignment,
    GivenProportions,
    ImportanceWeights,
    OwnRank,
    OwnScale,
    ProportionCorrection,
    SourceOnly,
)
from driftfit.methods.alignment import AffineMap, RankMap, measured_columns, scale_map
from driftfit.methods.held_out import HeldOut, held_out
from driftfit.models import as_learner

REMEDIES = [
    OwnScale(),
    OwnRank(),
    CovarianceAlignment(),
    ProportionCorrection(),
    ProportionCorrection(ByConfusion()),
    ProportionCorrection(GivenProportions((0.3, 0.7))),
    OwnScale(then=ProportionCorrection()),
    OwnScale(then=CarriedLabels()),
    OwnScale(then=OwnRank()),
    ImportanceWeights(),
]
IDS = [f"{type(m).__name__}{number}" for number, m in enumerate(REMEDIES)]


def gaussians(rng, share=0.5, n=400, gap=3.0):
    y = (rng.random(n) < share).astype(int)
    x = rng.normal(size=(n, 2)) + gap * y[:, None] * [1.0, 0.0]
    return np.column_stack([x, rng.integers(0, 2, n)]), y


def learned(x, y, model=None):
    return as_learner(LogisticRegression() if model is None else model, np.unique(y)).fit(x, y)


def sequence(x, y, target):
    return DomainSequence([Domain(x, y, name="old"), Domain(target, name="new")])


def source_of(x, y):
    return sequence(x, y, x[:2]).source


# Windows aligned by themselves --------------------------------------------------------------------------


@given(
    scale=st.lists(st.floats(0.01, 100), min_size=2, max_size=2),
    move=st.lists(st.floats(20, 1e3), min_size=2, max_size=2),
    side=st.sampled_from([-1, 1]),
)
def test_own_scale_undoes_every_scale_and_offset(scale, move, side):
    x, y = gaussians(np.random.default_rng(0))
    learner = learned(x, y)
    moved = x * [*scale, 1.0] + np.array([*move, 0.0]) * side
    adapted = OwnScale().adapt(learner, sequence(x, y, moved)).learner
    np.testing.assert_allclose(adapted.logits(moved), learner.logits(x), atol=1e-6)


@pytest.mark.parametrize("bend", [np.exp, np.arctan, lambda x: x**3])
def test_own_rank_undoes_every_bend(rng, bend):
    x, y = gaussians(rng)
    learner = learned(x, y)
    moved = np.column_stack([bend(x[:, :2]), x[:, 2]])
    adapted = OwnRank().adapt(learner, sequence(x, y, moved)).learner
    np.testing.assert_allclose(adapted.logits(moved), learner.logits(x), atol=1e-6)


def test_covariance_alignment_undoes_a_symmetric_mixture_and_not_more(rng):
    x, y = gaussians(rng, n=3_000)
    learner = learned(x, y)
    moved = x.copy()
    # A mixture along the axes of the source's covariance is symmetric behind it, and so found.
    moved[:, :2] = x[:, :2] @ np.diag([3.0, 0.2]) + 5.0
    adapted = CovarianceAlignment(ridge=0.0).adapt(learner, sequence(x, y, moved)).learner
    assert (adapted.logits(moved).argmax(axis=1) == y).mean() > 0.9 > (learner.logits(moved).argmax(axis=1) == y).mean()
    np.testing.assert_allclose(AffineMap(ridge=0.0).fit(moved, source=x).transform(moved)[:, 2], x[:, 2])


def test_flags_survive_and_ties_stay_ties(rng):
    source, window = rng.integers(0, 30, (300, 2)).astype(float), rng.integers(0, 60, (200, 2)) + 7.0
    source[:, 1], window[:, 1] = source[:, 1] % 2, window[:, 1] % 2
    for transformer in (scale_map(window, source), RankMap().fit(window, source=source)):
        mapped = transformer.transform(window)
        np.testing.assert_array_equal(mapped[:, 1], window[:, 1])
        pairs = {(a, b) for a, b in zip(window[:, 0], mapped[:, 0], strict=True)}
        assert len(pairs) == len(np.unique(window[:, 0]))
        assert (np.diff([b for _, b in sorted(pairs)]) >= 0).all()


def test_a_column_that_never_varied_in_the_source_is_taken_out(rng):
    x, y = gaussians(rng)
    x = np.column_stack([x, np.full(len(x), -4.0)])
    learner = learned(x, y)
    moved = x.copy()
    moved[:, 3] = rng.normal(size=len(x)) * 1e4
    for method in (OwnScale(), OwnRank(), CovarianceAlignment()):
        seen, _ = method.aligned(sequence(x, y, moved))
        np.testing.assert_allclose(seen.target.samples[:, 3], -4.0, atol=1e-6)
    assert not np.allclose(learner.logits(moved), learner.logits(x))


def test_what_does_not_move_is_left_alone(rng):
    source, window = rng.normal(size=(500, 3)), rng.normal((0.0, 2.0, 0.0), size=(500, 3))
    for transformer in (scale_map(window, source), RankMap().fit(window, source=source)):
        mapped = transformer.transform(window)
        np.testing.assert_array_equal(mapped[:, [0, 2]], window[:, [0, 2]])
        assert abs(mapped[:, 1].mean() - source[:, 1].mean()) < 0.02


def test_few_distinct_values_on_one_side_are_still_a_measurement():
    few, many = np.repeat(np.arange(4.0), 10)[:, None], np.arange(40.0)[:, None]
    assert measured_columns(few, many).all()
    assert not measured_columns(few, few).any()


def test_windows_between_are_aligned_by_themselves(rng):
    x, y = gaussians(rng)
    windows = DomainSequence([Domain(x, y), Domain(x + np.array([5, 5, 0])), Domain(x * [2, 2, 1])])
    seen, transformer = OwnScale().aligned(windows)
    for window in seen:
        np.testing.assert_allclose(window.samples, x, atol=1e-9)
    np.testing.assert_allclose(transformer.transform(x * [2, 2, 1]), x, atol=1e-9)


def test_maps_want_a_source():
    with pytest.raises(InputError, match="give its rows"):
        RankMap().fit(np.zeros((3, 1)))


# Class proportions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [ByLikelihood(), ByConfusion()])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_proportions_are_found_with_their_interval(rng, estimator, share):
    x, y = gaussians(rng, n=1_500, gap=2.0)
    there, hidden = gaussians(rng, share, n=1_500, gap=2.0)
    learner = learned(x, y)
    found = estimator.estimate(held_out(learner, source_of(x, y)), learner.logits(there))
    assert found.low[1] <= found.estimate[1] <= found.high[1]
    assert found.estimate[1] == pytest.approx(hidden.mean(), abs=0.1)
    assert found.identifiable
    assert sum(found.estimate) == pytest.approx(1.0)


@pytest.mark.parametrize("estimator", [ByLikelihood(), ByConfusion()])
def test_intervals_hold_the_truth_nearly_always(estimator):
    inside = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, y = gaussians(rng, n=400, gap=2.0)
        there, hidden = gaussians(rng, 0.25, n=400, gap=2.0)
        learner = learned(x, y)
        found = estimator.estimate(held_out(learner, source_of(x, y)), learner.logits(there))
        inside.append(found.low[1] - 0.01 <= hidden.mean() <= found.high[1] + 0.01)
    assert np.mean(inside) >= 0.85


@pytest.mark.parametrize("estimator", [ByLikelihood(), ByConfusion()])
def test_a_model_that_knows_nothing_identifies_nothing(rng, estimator):
    held = HeldOut(rng.normal(size=(300, 2)) * 0.1, rng.integers(2, size=300))
    assert not estimator.estimate(held, rng.normal(size=(300, 2)) * 0.1).identifiable


def test_correction_gains_where_proportions_moved(rng):
    x, y = gaussians(rng, n=2_000, gap=1.5)
    there, hidden = gaussians(rng, 0.05, n=2_000, gap=1.5)
    learner = learned(x, y)
    adaptation = ProportionCorrection().adapt(learner, sequence(x, y, there))
    old, new = ((model.logits(there).argmax(axis=1) == hidden).mean() for model in (learner, adaptation.learner))
    assert new > old + 0.05
    assert adaptation.choice.estimate[1] == pytest.approx(hidden.mean(), abs=0.04)
    given_shares = ProportionCorrection(GivenProportions((0.95, 0.05))).adapt(learner, sequence(x, y, there)).learner
    assert (given_shares.logits(there).argmax(axis=1) == hidden).mean() > old + 0.05


def test_calibration_cools_a_model_that_is_too_sure(rng):
    codes = rng.integers(2, size=4_000)
    signal = rng.normal(codes * 2.0 - 1.0)
    logits = np.column_stack([np.zeros(4_000), 2.0 * signal])  # the truth
    found = HeldOut(3.0 * logits + [0.0, 1.0], codes).calibration()
    assert found.scale == pytest.approx(1 / 3, rel=0.1)
    np.testing.assert_allclose(found.probabilities(3.0 * logits + [0.0, 1.0])[:, 1].mean(), codes.mean(), atol=0.02)


def test_what_proportions_refuse(rng):
    with pytest.raises(InputError, match="sum to 1"):
        GivenProportions((0.5, 0.6))
    x, y = gaussians(rng, n=60)
    with pytest.raises(InputError, match="2 classes, but 3"):
        ProportionCorrection(GivenProportions((0.2, 0.2, 0.6))).adapt(learned(x, y), sequence(x, y, x))
    y = np.r_[[2], y[1:]]
    with pytest.raises(InputError, match="has 1 rows in the source"):
        ProportionCorrection().adapt(learned(x, y), sequence(x, y, x))


# Other weights, other places --------------------------------------------------------------------------------


def test_importance_weights_are_the_ratio_of_gaussians(rng):
    from driftfit.methods.source_weights import importance_weights

    source, target = rng.normal(size=(4_000, 1)), rng.normal(size=(4_000, 1)) + 1.0
    found = importance_weights(source, target, most=100.0)
    truth = np.exp(source[:, 0] - 0.5)
    assert np.corrcoef(np.log(found), np.log(truth))[0, 1] > 0.999
    assert found.mean() == pytest.approx(1.0)
    assert importance_weights(source, target, most=2.0).max() < 3.0 < found.max()


def test_weights_are_refused_by_a_model_that_cannot_take_them(rng):
    x, y = gaussians(rng, n=60)
    with pytest.raises(InputError, match="takes no sample weights"):
        ImportanceWeights().adapt(learned(x, y, KNeighborsClassifier()), sequence(x, y, x))


# All of them ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", REMEDIES, ids=IDS)
@pytest.mark.parametrize("kind", ["array", "frame"])
def test_every_remedy_is_a_classifier(rng, method, kind):
    x, y = gaussians(rng, n=200)
    when = np.repeat([0, 1, 2], [100, 50, 50])
    x[when == 2] = x[when == 2] * [2, 1, 1] + [3, 0, 0]
    X = pd.DataFrame(x, columns=list("abc")) if kind == "frame" else x
    model = make_pipeline(StandardScaler(), LogisticRegression())
    fitted = AdaptedClassifier(model, method=method).fit(X, y, sample_domain=when)
    assert fitted.predict(X[:7]).shape == (7,)
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1.0)
    # Labels of later windows are never looked at.
    other = AdaptedClassifier(model, method=method).fit(X, np.where(when > 0, 1 - y, y), sample_domain=when)
    np.testing.assert_array_equal(fitted.predict_proba(X), other.predict_proba(X))
    assert [record.name for record in fitted.path_] == ["2"]


@pytest.mark.parametrize("method", REMEDIES, ids=IDS)
def test_the_old_model_stays_as_it_was(rng, method):
    x, y = gaussians(rng, n=120)
    learner = learned(x, y, RandomForestClassifier(5, random_state=0))
    before = learner.logits(x)
    adapted = method.adapt(learner, sequence(x, y, x * [2, 1, 1])).learner
    np.testing.assert_array_equal(learner.logits(x), before)
    assert adapted is not learner


def test_without_a_shift_alignment_does_nearly_nothing(rng):
    x, y = gaussians(rng, n=2_000)
    again, _ = gaussians(rng, n=2_000)
    learner = learned(x, y)
    for method in (OwnScale(), OwnRank(), CovarianceAlignment(), ProportionCorrection()):
        adapted = method.adapt(learner, sequence(x, y, again)).learner
        assert (adapted.logits(again).argmax(axis=1) == learner.logits(again).argmax(axis=1)).mean() > 0.97
    assert SourceOnly().adapt(learner, sequence(x, y, again)).learner is learner


def test_networks_and_sparse_rows_are_refused_with_a_reason(rng):
    import scipy.sparse as sp

    x, y = gaussians(rng, n=60)
    with pytest.raises(InputError, match="columns of a table"):
        OwnScale().adapt(learned(x, y), sequence(sp.csr_array(x), y, sp.csr_array(x)))
