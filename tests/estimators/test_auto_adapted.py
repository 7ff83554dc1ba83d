"""`AutoAdaptedClassifier`: several ways to adapt, one argument."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from driftfit import AutoAdaptedClassifier, Domain, DomainSequence
from driftfit.datasets.toy import moving_gaussians, rotated_digits
from driftfit.errors import InputError
from driftfit.methods import GOAT
from driftfit.selection import ByEvidence, Chosen, Rung, standard_candidates

PATH = moving_gaussians((0, 1.5), n_samples=150)
# As for images: what was declared is followed as far as gates and guards let it.
IMAGES = ByEvidence(("structure", "path"), of_one_kind=True)
# A linear teacher rests on other assumptions than these.
COMPARED = set(standard_candidates()) - {"taught by a linear model"}


@pytest.mark.slow
def test_a_turn_that_no_other_candidate_survives_is_found_by_structure():
    upright, turned = rotated_digits((0, 90.0))
    rows = np.random.default_rng(0).permutation(len(upright))
    half = len(rows) // 2
    path = DomainSequence([upright.take(rows[:half]), turned.take(rows[half:])])
    clf = AutoAdaptedClassifier(LogisticRegression(max_iter=300), assume="structure", random_state=0, history="first")
    clf.fit_path(path)
    before = (clf.source_estimator_.predict(path.target.samples) == path.target.labels).mean()
    assert clf.choice_.best == "carried by structure"
    assert clf.score(path.target.samples, path.target.labels) > 0.8 > before + 0.5


def test_all_candidates_are_scored_and_the_source_may_stay():
    clf = AutoAdaptedClassifier(method=IMAGES).fit_path(PATH)
    known = {*clf.choice_.scores, *clf.choice_.struck, *clf.choice_.failed}
    assert known == COMPARED
    assert clf.choice_.best == "GOAT"
    same = DomainSequence([PATH[0], Domain(PATH[0].samples[::-1].copy())])
    kept = AutoAdaptedClassifier(method=IMAGES).fit_path(same)
    assert kept.choice_.best == "source"
    assert kept.estimator_ is kept.source_estimator_


def test_without_an_assumption_the_source_model_stays():
    clf = AutoAdaptedClassifier(history="first").fit_path(PATH)
    assert clf.estimator_ is clf.source_estimator_
    assert clf.ladder_.moved.rejected
    assert clf.ladder_.rung is Rung.NOTHING


def test_labels_of_the_target_change_nothing():
    X, y, domain = PATH.as_samples()
    first, again = (
        AutoAdaptedClassifier(method=IMAGES, random_state=0).fit(X, labels, sample_domain=domain)
        for labels in (y, np.where(domain == 0, y, 1 - y))
    )
    assert again.choice_.sentence == first.choice_.sentence
    np.testing.assert_array_equal(again.predict_proba(X), first.predict_proba(X))


def test_without_domains_nothing_is_chosen():
    X, y, _ = PATH.as_samples()
    assert AutoAdaptedClassifier().fit(X, y).choice_ is None


@pytest.mark.parametrize("estimator", [KNeighborsClassifier(), make_pipeline(StandardScaler(), LogisticRegression())])
def test_any_classifier_or_pipeline(estimator):
    clf = AutoAdaptedClassifier(estimator, method=IMAGES, max_samples=60).fit_path(PATH)
    assert clf.choice_.best in COMPARED
    assert pickle.loads(pickle.dumps(clf)).choice_.scores == clf.choice_.scores
    assert clone(clf).max_samples == 60


def test_a_table_of_words_and_numbers():
    pd = pytest.importorskip("pandas")
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    rng = np.random.default_rng(0)
    y = np.arange(240) % 2
    year = np.repeat([2001, 2002], 120)
    table = pd.DataFrame({"size": rng.normal(size=240) + 3 * y + (year - 2001), "kind": np.where(y, "a", "b")})
    table.loc[::9, "kind"] = "c"
    encode = make_column_transformer((StandardScaler(), ["size"]), (OneHotEncoder(sparse_output=False), ["kind"]))
    clf = AutoAdaptedClassifier(make_pipeline(encode, LogisticRegression()), assume=("structure", "path"))
    clf.fit(table, np.where(year == 2001, y, None), sample_domain=year)
    assert "carried by structure could not run: domain" in clf.choice_.sentence
    assert clf.score(table, y) > 0.9


def test_networks_try_more():
    pytest.importorskip("torch")
    from driftfit import TorchClassifier

    images = DomainSequence(Domain(one.samples[:, None, :], one.labels) for one in PATH)
    clf = AutoAdaptedClassifier(TorchClassifier(epochs=3, device="cpu"), random_state=0, history="first")
    clf.fit_path(images)
    known = {*clf.choice_.scores, *clf.choice_.struck, *clf.choice_.failed}
    assert known == set(standard_candidates(networks=True)) - {"taught by a linear model"}
    assert clf.choice_.failed == {}


def test_candidates_of_ones_own():
    clf = AutoAdaptedClassifier(method=Chosen({"two": GOAT(2), "four": GOAT(4)})).fit_path(PATH)
    assert list(clf.choice_.scores) == ["source", "two", "four"]
    with pytest.raises(InputError, match="method"):
        AutoAdaptedClassifier(method="best").fit_path(PATH)


@pytest.mark.parametrize("proportions", [True, False])
def test_the_source_model_stays_where_only_class_proportions_changed(proportions):
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    hidden = np.repeat([0, 1], [280, 20]) if proportions else np.arange(300) % 2
    drift = 0.0 if proportions else 2.0
    x, new = (rng.normal(size=(len(own), 3)) + 3.0 * own[:, None] for own in (y, hidden))
    path = DomainSequence([Domain(x, y), Domain(new + drift)])
    clf = AutoAdaptedClassifier(method=IMAGES, random_state=0).fit_path(path)
    assert (clf.choice_.best == "source") is proportions
    assert ("are struck out: other class proportions explain the shift" in clf.choice_.sentence) is proportions
    assert (clf.predict(new + drift) == hidden).mean() > 0.95


def test_sparse_samples():
    X, y, domain = PATH.as_samples()
    dense, sparse = (
        AutoAdaptedClassifier(method=IMAGES, random_state=0).fit(samples, y, sample_domain=domain)
        for samples in (X, sp.csr_array(X))
    )
    assert sparse.choice_.failed == {}
    assert list(sparse.choice_.scores) == list(dense.choice_.scores)
    assert sparse.choice_.best == dense.choice_.best
    assert sparse.score(sp.csr_array(X[domain == 1]), y[domain == 1]) > 0.9
