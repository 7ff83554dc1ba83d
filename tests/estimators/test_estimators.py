"""The three classifiers as a user meets them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from driftfit import DirectSelfTrainingClassifier, GOATClassifier, GradualSelfTrainingClassifier
from driftfit.datasets.toy import moving_gaussians, rotated_digits, rotating_moons
from driftfit.methods import DirectSelfTraining, GradualSelfTraining, SelfTraining, StepRecord, Transport, logit_range
from driftfit.transport import ConfidenceCutoff, PowerMetric, Sinkhorn, Sliced, SmallValueCutoff, UniformCoupling


def self_training(**options):
    return GradualSelfTraining(SelfTraining(**options))


THREE = [DirectSelfTrainingClassifier, GradualSelfTrainingClassifier, GOATClassifier]


def flat(sequence):
    """A DomainSequence as the three arrays of scikit-learn."""
    X = np.vstack([domain.samples for domain in sequence])
    y = np.concatenate([domain.labels for domain in sequence])
    return X, y, np.repeat(np.arange(len(sequence)), [len(domain) for domain in sequence])


@pytest.fixture
def drift():
    return flat(moving_gaussians((0, 0.7, 1.4), n_samples=120, n_features=3))


MODELS = {
    "logistic": LogisticRegression(),
    "forest": RandomForestClassifier(30, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=20, random_state=0),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=5, random_state=0),
    "svc": SVC(),
    "mlp": MLPClassifier((16,), max_iter=400, random_state=0),
    "neighbours": KNeighborsClassifier(),
    "pipeline": make_pipeline(StandardScaler(), PCA(2), LogisticRegression()),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
@pytest.mark.parametrize("method", THREE)
def test_works_with(method, model, drift):
    X, y, domain = drift
    names = np.array(["cat", "dog"])
    clf = method(model).fit(X, names[y], sample_domain=domain)
    target = domain == 2
    assert set(clf.predict(X[target])) <= {"cat", "dog"}
    assert clf.classes_.tolist() == ["cat", "dog"]
    assert clf.score(X[target], names[y][target]) > 0.5
    assert clf.n_features_in_ == 3
    assert [type(record) for record in clf.path_] == [StepRecord] * len(clf.path_)
    if hasattr(clf, "predict_proba"):
        assert clf.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
        assert clf.predict_log_proba(X).shape == (360, 2)


def test_goat_beats_the_others_where_the_gap_is_wide():
    """The demo's claim in small: 2 of the 3 methods fail at 60 degrees, GOAT does not."""
    train, held_out = rotated_digits((0, 20, 40, 60)), rotated_digits((0, 60), split="held_out").target
    scores = [method(SVC()).fit_path(train).score(held_out.samples, held_out.labels) for method in THREE]
    assert scores[2] > scores[1] + 0.2 > scores[0] + 0.2


def test_step_records_and_plans_tell_the_story(drift):
    X, y, domain = drift
    clf = GOATClassifier(n_generated=2).fit(X, y, sample_domain=domain)
    assert [record.step for record in clf.path_] == [1, 2, 3, 4, 5, 6]
    assert [record.position for record in clf.path_] == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1])
    assert [record.generated for record in clf.path_] == [True, True, False] * 2
    assert all(0.85 < record.kept_fraction <= 1 for record in clf.path_)
    assert all(0.5 <= record.mean_confidence <= 1 for record in clf.path_)
    assert len(clf.plans_) == 2
    assert all(plan.certificate.proves_optimal() for plan in clf.plans_)
    # Three equal steps along each plan, so their shifts add up to its Wasserstein distance.
    assert sum(record.shift for record in clf.path_[:3]) == pytest.approx(np.sqrt(clf.plans_[0].cost))
    gst = GradualSelfTrainingClassifier().fit(X, y, sample_domain=domain)
    assert [record.shift for record in gst.path_] == pytest.approx([np.sqrt(plan.cost) for plan in clf.plans_])


def test_labels_outside_the_source_are_never_used(drift):
    X, y, domain = drift
    missing = np.where(domain == 0, y, np.nan)
    nonsense = np.where(domain == 0, y, 1 - y)
    nothing = [int(label) if d == 0 else None for label, d in zip(y, domain, strict=True)]
    for method in THREE:
        models = [method().fit(X, labels, sample_domain=domain) for labels in (y, missing, nonsense, nothing)]
        for model in models[1:]:
            assert (model.decision_function(X) == models[0].decision_function(X)).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", THREE)
def test_the_same_seed_gives_the_same_bytes(method, drift):
    X, y, domain = drift
    model = make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=300))
    runs = [method(model, random_state=5).fit(X, y, sample_domain=domain).predict_proba(X) for _ in range(2)]
    assert runs[0].tobytes() == runs[1].tobytes()
    other = method(model, random_state=6).fit(X, y, sample_domain=domain).predict_proba(X)
    assert runs[0].tobytes() != other.tobytes()


def test_fit_never_edits_parameters(drift):
    X, y, domain = drift
    model = LogisticRegression()
    clf = GOATClassifier(model, transport=Transport(Sinkhorn(), cutoffs=(SmallValueCutoff(),)))
    before = clf.get_params()
    clf.fit(X, y, sample_domain=domain)
    assert clf.get_params() == before
    assert not hasattr(model, "coef_")
    assert clone(clf).get_params().keys() == before.keys()


def test_without_domains_it_is_the_wrapped_classifier(drift):
    X, y, _ = drift
    weights = np.random.default_rng(0).random(len(y))
    plain = LogisticRegression().fit(X, y, sample_weight=weights)
    clf = GOATClassifier(LogisticRegression()).fit(X, y, sample_weight=weights)
    assert (clf.decision_function(X) == plain.decision_function(X)).all()
    assert clf.path_ == []
    assert clf.plans_ == []


def test_sample_weights_enter_the_source_and_the_transport(drift):
    X, y, domain = drift
    weights = np.where(X[:, 1] > 0, 1.0, 0.0) + 1e-6
    clf = GOATClassifier(n_generated=1).fit(X, y, sample_domain=domain, sample_weight=weights)
    assert clf.plans_[0].row_mass() == pytest.approx(weights[domain == 0] / weights[domain == 0].sum(), abs=1e-9)


class TestSpaces:
    def test_feature_space_freezes_the_encoder_and_moves_in_it(self, drift):
        X, y, domain = drift
        model = make_pipeline(StandardScaler(), PCA(2), LogisticRegression())
        clf = GOATClassifier(model, n_generated=3).fit(X, y, sample_domain=domain)
        source = StandardScaler().fit(X[domain == 0])
        assert clf.estimator_[0].mean_ == pytest.approx(source.mean_)
        features = clf.estimator_[:-1].transform(X)
        assert clf.plans_[0].cost == pytest.approx(
            GOATClassifier(n_generated=1).fit(features, y, sample_domain=domain).plans_[0].cost
        )

    def test_input_space_adapts_the_whole_pipeline(self, drift):
        X, y, domain = drift
        model = make_pipeline(StandardScaler(), LogisticRegression())
        clf = GOATClassifier(model, n_generated=3, feature_space=False).fit(X, y, sample_domain=domain)
        assert clf.estimator_[0].mean_[0] == pytest.approx(X[domain == 2][:, 0].mean(), abs=0.3)
        assert clf.plans_[0].cost == pytest.approx(
            GOATClassifier(n_generated=1).fit(X, y, sample_domain=domain).plans_[0].cost
        )

    @pytest.mark.parametrize("freeze", [True, False])
    def test_gradual_self_training_with_and_without_a_frozen_encoder(self, drift, freeze):
        X, y, domain = drift
        model = make_pipeline(StandardScaler(), LogisticRegression())
        clf = GradualSelfTrainingClassifier(model, method=GradualSelfTraining(freeze_encoder=freeze)).fit(
            X, y, sample_domain=domain
        )
        moved = abs(clf.estimator_[0].mean_[0] - X[domain == 0][:, 0].mean()) > 0.5
        assert moved == (not freeze)


class TestKindsOfInput:
    def test_data_frames(self, drift):
        X, y, domain = drift
        array = GOATClassifier().fit(X, y, sample_domain=domain)
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        clf = GOATClassifier().fit(frame, pd.Series(y), sample_domain=pd.Series(domain))
        assert clf.feature_names_in_.tolist() == ["a", "b", "c"]
        assert (clf.predict(frame) == array.predict(X)).all()
        with pytest.raises(ValueError, match="feature names"):
            clf.predict(frame.rename(columns={"a": "z"}))

    def test_pyarrow_tables(self, drift):
        pa = pytest.importorskip("pyarrow")
        X, y, domain = drift
        table = pa.table({name: X[:, place] for place, name in enumerate("abc")})
        clf = GOATClassifier().fit(table, y, sample_domain=domain)
        assert (clf.predict(table) == GOATClassifier().fit(X, y, sample_domain=domain).predict(X)).all()

    def test_polars_frames(self, drift):
        X, y, domain = drift
        frame = pl.DataFrame(X, schema=["a", "b", "c"])
        clf = GOATClassifier().fit(frame, y, sample_domain=domain)
        assert (clf.predict(frame) == GOATClassifier().fit(X, y, sample_domain=domain).predict(X)).all()

    @pytest.mark.parametrize("method", THREE)
    def test_mixed_columns_through_a_pipeline(self, method, drift):
        X, y, domain = drift
        frame = pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "kind": np.where(X[:, 2] > 0, "u", "v")})
        frame.loc[3, "z"] = np.nan
        columns = make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), ["x", "z"]), (OneHotEncoder(), ["kind"])
        )
        clf = method(make_pipeline(columns, LogisticRegression())).fit(frame, y, sample_domain=domain)
        assert clf.score(frame[domain == 2], y[domain == 2]) > 0.5

    @pytest.mark.parametrize("method", THREE)
    def test_sparse_matrices(self, method, drift):
        X, y, domain = drift
        X = MinMaxScaler().fit_transform(X)
        X[X < 0.2] = 0
        dense, sparse = (method().fit(kind, y, sample_domain=domain) for kind in (X, sp.csr_matrix(X)))
        assert np.mean(dense.predict(X) == sparse.predict(sp.csr_matrix(X))) > 0.99

    def test_float32_and_lists(self, drift):
        X, y, domain = drift
        single = GOATClassifier().fit(X.astype(np.float32), y, sample_domain=domain)
        lists = GOATClassifier().fit(X.tolist(), y.tolist(), sample_domain=domain.tolist())
        assert np.mean(single.predict(X.astype(np.float32)) == lists.predict(X.tolist())) > 0.99

    def test_nan_where_the_classifier_takes_it(self, drift):
        X, y, domain = drift
        X = X.copy()
        X[::7, 1] = np.nan
        model = HistGradientBoostingClassifier(max_iter=10, min_samples_leaf=5, random_state=0)
        clf = GradualSelfTrainingClassifier(model).fit(X, y, sample_domain=domain)
        assert clf.path_[0].shift is None


class TestOptions:
    @pytest.mark.parametrize(
        "options",
        [
            {"transport": Transport(Sinkhorn(0.05), cutoffs=(SmallValueCutoff(),))},
            {"transport": Transport(Sinkhorn(0.05), cutoffs=[SmallValueCutoff(threshold=1e-4), ConfidenceCutoff(0.6)])},
            {"transport": Transport(Sliced())},
            {"transport": Transport(cost=PowerMetric("cityblock"))},
            {"transport": Transport(max_samples=50, seed=3)},
            {"method": self_training(use_weights=False)},
            {"method": self_training(soft_labels=True)},
            {"method": self_training(confidence=logit_range)},
            {"method": self_training(warm_start=False)},
        ],
        ids=["thinned", "confident", "sliced", "cost", "sampled", "no weights", "soft", "logit range", "cold"],
    )
    def test_of_goat(self, options, drift):
        X, y, domain = drift
        keep = domain != 1  # unequal sizes, so that plan weights matter
        keep[:30] = False
        clf = GOATClassifier(n_generated=4, **options).fit(X[keep], y[keep], sample_domain=domain[keep])
        assert clf.score(X[domain == 2], y[domain == 2]) > 0.8

    def test_plan_weights_matter_when_sizes_differ(self):
        X, y, domain = flat(rotating_moons((0, 30), n_samples=120))
        keep = np.ones(len(y), dtype=bool)
        keep[:50] = False
        fits = [
            GOATClassifier(n_generated=2, method=self_training(use_weights=use)).fit(
                X[keep], y[keep], sample_domain=domain[keep]
            )
            for use in (True, False)
        ]
        assert not np.array_equal(fits[0].decision_function(X), fits[1].decision_function(X))

    def test_a_useless_coupling_is_worse(self):
        train, held_out = rotating_moons((0, 30, 60)), rotating_moons((0, 60), split="held_out").target
        optimal, useless = (
            GOATClassifier(SVC(), transport=Transport(solver)).fit_path(train).score(held_out.samples, held_out.labels)
            for solver in (None, UniformCoupling())
        )
        assert optimal > useless + 0.2

    def test_steps_can_be_watched_and_kept(self, drift):
        X, y, domain = drift
        seen = []
        clf = GOATClassifier(
            make_pipeline(StandardScaler(), LogisticRegression()),
            n_generated=1,
            keep_steps=True,
            on_step=lambda record, learner: seen.append((record.step, learner.logits(X).shape)),
        ).fit(X, y, sample_domain=domain)
        assert seen == [(step, (360, 2)) for step in (1, 2, 3, 4)]
        assert len(clf.step_estimators_) == 5
        assert (clf.step_estimators_[-1].predict(X) == clf.predict(X)).all()
        assert (clf.step_estimators_[0].predict(X) == clf.source_estimator_.predict(X)).all()

    def test_rounds_of_direct_self_training(self, drift):
        X, y, domain = drift
        method = DirectSelfTraining(n_rounds=3)
        assert len(DirectSelfTrainingClassifier(method=method).fit(X, y, sample_domain=domain).path_) == 3

    def test_inside_a_grid_search(self, drift):
        X, y, _ = drift
        search = GridSearchCV(GOATClassifier(LogisticRegression()), {"estimator__C": [0.1, 1.0]}, cv=2).fit(X, y)
        assert search.best_score_ > 0.5

    def test_weights_asked_for_where_there_are_none(self, drift):
        X, y, domain = drift
        keep = np.arange(len(y)) > 20
        clf = GOATClassifier(KNeighborsClassifier(), method=self_training(use_weights=True))
        with pytest.raises(ValueError, match="use_weights=False"):
            clf.fit(X[keep], y[keep], sample_domain=domain[keep])
        assert SelfTraining().use_weights is None


@pytest.mark.parametrize("kind", THREE)
def test_a_network_takes_data_frames_without_complaint(kind):
    torch_classifier = pytest.importorskip("driftfit.models.torch.classifier")
    X, y, domain = flat(moving_gaussians((0, 1, 2), n_samples=40))
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    network = torch_classifier.TorchClassifier(epochs=2, device="cpu", random_state=0)
    # A warning would be an error here.
    clf = kind(network).fit(frame, y, sample_domain=domain)
    assert np.array_equal(clf.predict(frame), clf.estimator_.predict(X))
    assert list(clf.feature_names_in_) == list(frame.columns)
