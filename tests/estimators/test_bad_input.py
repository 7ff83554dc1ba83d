"""Bad input: one clear error that names the value and the remedy, and nothing half-fitted."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from driftfit import DirectSelfTrainingClassifier, GOATClassifier, GradualSelfTrainingClassifier
from driftfit.errors import InputError
from driftfit.estimators import AdaptedClassifier
from driftfit.methods import GOAT, GradualSelfTraining, SelfTraining, Transport

THREE = [DirectSelfTrainingClassifier, GradualSelfTrainingClassifier, GOATClassifier]


def good():
    rng = np.random.default_rng(0)
    domain = np.repeat([0, 1, 2], 20)
    y = np.arange(60) % 2
    return {"X": rng.normal(size=(60, 2)) + 2.0 * y[:, None] + 0.3 * domain[:, None], "y": y, "sample_domain": domain}


def spoiled(**changes):
    return good() | changes


def with_value(value):
    X = good()["X"]
    X[7, 1] = value
    return X


CASES = {
    "NaN": (spoiled(X=with_value(np.nan)), "NaN"),
    "infinite": (spoiled(X=with_value(np.inf)), "infinit"),
    "too large": (spoiled(X=with_value(1e200)), "StandardScaler"),
    "one class": (spoiled(y=np.where(np.arange(60) < 20, 1, np.arange(60) % 2)), "single class"),
    "single domain": (spoiled(sample_domain=np.zeros(60)), "single value"),
    "one sample": (spoiled(sample_domain=np.r_[np.zeros(30), np.ones(29), 2]), "single sample"),
    "unorderable": (spoiled(sample_domain=[0, "a"] * 30), "cannot be put in order"),
    "missing domain": (spoiled(sample_domain=[None] + [0] * 30 + [1] * 29), "missing for 1"),
    "short domain": (spoiled(sample_domain=[0, 1]), "one entry for each"),
    "no labels": (spoiled(y=np.full(60, np.nan)), "no labels"),
    "an identifier as label": (spoiled(y=np.arange(60)), "as many classes"),
    "a quantity as label": (spoiled(y=np.linspace(0, 1, 60)), "continuous"),
    "negative weight": (spoiled(sample_weight=np.r_[-1.0, np.ones(59)]), "negative"),
    "zero weights": (spoiled(sample_weight=np.r_[np.zeros(20), np.ones(40)]), "sum to zero"),
    "short weights": (spoiled(sample_weight=np.ones(3)), "one entry for each"),
    "flat samples": (spoiled(X=np.zeros(60)), "reshape"),
}


@pytest.mark.parametrize(("arguments", "words"), CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("method", THREE)
def test_is_refused(method, arguments, words):
    clf = method()
    with pytest.raises(ValueError, match=words):
        clf.fit(**arguments)
    assert [name for name in vars(clf) if name.endswith("_")] == []


@pytest.mark.parametrize("method", THREE)
def test_a_row_of_the_source_without_a_label_is_left_out(method):
    kept = np.arange(60) != 1
    without = method().fit(**{name: values[kept] for name, values in good().items()})
    missing = method().fit(**spoiled(y=[0, None, *(np.arange(2, 60) % 2)]))
    assert np.array_equal(missing.predict_proba(good()["X"]), without.predict_proba(good()["X"]))


@pytest.mark.parametrize(
    ("clf", "words"),
    [
        (GOATClassifier(n_generated=-1), "n_generated"),
        (GOATClassifier(n_generated=1.5), "n_generated"),
        (GOATClassifier(transport="sinkhorn"), "Sinkhorn"),
        (GOATClassifier(method="self-training"), "GradualSelfTraining"),
        (GradualSelfTrainingClassifier(method="goaty"), "goat"),
        (GOATClassifier(transport=Transport(solver="sinkhorn")), "Sinkhorn"),
        (GOATClassifier(transport=Transport(cost="euclidean")), "PowerMetric"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_bad_parameters(clf, words):
    with pytest.raises(InputError, match=words):
        clf.fit(**good())
    assert not hasattr(clf, "estimator_")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SelfTraining(drop_fraction=1.0), "drop_fraction"),
        (lambda: SelfTraining(drop_fraction=-0.1), "drop_fraction"),
        (lambda: GradualSelfTraining(n_rounds=0), "n_rounds"),
        (lambda: GOAT(n_generated=-1), "n_generated"),
        (lambda: Transport(max_samples=1), "max_samples"),
    ],
)
def test_values_are_checked_when_they_are_made(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_fit_path_takes_a_sequence():
    with pytest.raises(InputError, match="DomainSequence"):
        GOATClassifier().fit_path([1, 2])


def test_weights_for_a_classifier_without():
    with pytest.raises(InputError, match="sample weights"):
        GOATClassifier(KNeighborsClassifier()).fit(good()["X"], good()["y"], sample_weight=np.ones(60))


def test_weights_for_a_classifier_without_along_a_path():
    clf = GOATClassifier(KNeighborsClassifier())
    with pytest.raises(InputError, match="sample weights"):
        clf.fit(**good(), sample_weight=np.arange(1.0, 61.0))
    assert clf.fit(**good(), sample_weight=np.ones(60)).path_


def test_a_failed_refit_keeps_the_old_model():
    clf = GOATClassifier().fit(**good())
    before = clf.predict(good()["X"])
    with pytest.raises(InputError, match="NaN"):
        clf.fit(**CASES["NaN"][0])
    assert (clf.predict(good()["X"]) == before).all()
    assert len(clf.path_) == 10


@pytest.mark.parametrize("method", THREE)
class TestOddButFine:
    def test_constant_features(self, method):
        data = good()
        data["X"] = np.column_stack([data["X"], np.full(60, 3.0)])
        for model in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
            assert np.isfinite(method(model).fit(**data).predict_proba(data["X"])).all()

    def test_all_features_constant(self, method):
        data = spoiled(X=np.ones((60, 2)))
        assert set(method().fit(**data).predict(data["X"])) <= {0, 1}

    def test_huge_values(self, method):
        data = good()
        data["X"] = 1e30 * data["X"]
        scaled = method(make_pipeline(StandardScaler(), LogisticRegression())).fit(**data)
        assert scaled.score(data["X"][:20], data["y"][:20]) > 0.5
        forest = method(RandomForestClassifier(10, random_state=0)).fit(**data)
        assert forest.score(data["X"][:20], data["y"][:20]) > 0.5

    def test_duplicated_points(self, method):
        data = good()
        data["X"] = np.repeat(data["X"][::3], 3, axis=0)
        assert method().fit(**data).score(data["X"][:20], data["y"][:20]) >= 0.5

    def test_more_classes_than_target_samples(self, method):
        rng = np.random.default_rng(0)
        y = np.r_[np.repeat(np.arange(8), 5), np.zeros(3, dtype=int)]
        X = 10.0 * np.eye(8)[y] + rng.normal(size=(43, 8))
        clf = method().fit(X, y, sample_domain=np.r_[np.zeros(40), np.ones(3)])
        assert clf.predict_proba(X).shape == (43, 8)

    def test_two_samples_per_domain(self, method):
        X = np.array([[0.0], [1.0], [0.1], [1.1]])
        clf = method().fit(X, [0, 1, None, None], sample_domain=[0, 0, 1, 1])
        assert clf.predict(X).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("estimator", [Ridge(), make_pipeline(StandardScaler(), Ridge()), KMeans(), StandardScaler()])
@pytest.mark.parametrize("classifier", [AdaptedClassifier, GOATClassifier, GradualSelfTrainingClassifier])
def test_what_is_no_classifier_is_refused(estimator, classifier):
    x, y, domain = np.arange(40.0)[:, None], np.arange(40) % 2, np.repeat([0, 1], 20)
    for arguments in ({}, {"sample_domain": domain}):
        with pytest.raises(InputError, match="not a classifier"):
            classifier(estimator).fit(x, y, **arguments)
