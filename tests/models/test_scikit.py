import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_info, threadpool_limits

from driftfit.errors import AdaptationWarning, InputError
from driftfit.models import Learner, ScikitLearner, as_learner
from driftfit.models.scikit import calm_threads


@pytest.fixture
def data(rng):
    labels = np.arange(90) % 3
    return rng.normal(size=(90, 4)) + 3 * np.eye(4)[labels], labels


CLASSES = np.array(["ant", "bee", "cow"])
ALL = [
    LogisticRegression(),
    RandomForestClassifier(20, random_state=0),
    GradientBoostingClassifier(n_estimators=10, random_state=0),
    SVC(),
    LinearSVC(),
    MLPClassifier((8,), max_iter=400, random_state=0),
    SGDClassifier(random_state=0),
    GaussianNB(),
    KNeighborsClassifier(),
    Perceptron(random_state=0),
    NearestCentroid(),
    make_pipeline(StandardScaler(), PCA(2), LogisticRegression()),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_any_classifier_is_a_learner(data, estimator):
    samples, labels = data
    template = ScikitLearner(estimator, CLASSES)
    learner = template.fit(samples, labels)
    assert isinstance(learner, Learner)
    assert not hasattr(estimator, "classes_"), "the template itself must stay unfitted"
    logits = learner.logits(samples)
    assert logits.shape == (90, 3)
    assert np.isfinite(logits).all()
    assert np.mean(CLASSES[logits.argmax(1)] == learner.estimator.predict(samples)) > 0.95
    again = learner.refit(samples[:60], labels[:60])
    assert again is not learner
    assert np.mean(again.logits(samples).argmax(1) == labels) > 0.8


def test_warm_start_continues_from_the_teacher_and_leaves_it_alone(data):
    samples, labels = data
    template = ScikitLearner(MLPClassifier((6,), max_iter=3, random_state=0), CLASSES)
    with pytest.warns(UserWarning, match="Maximum iterations"):
        teacher = template.fit(samples, labels)
    weights = [layer.copy() for layer in teacher.estimator.coefs_]
    with pytest.warns(UserWarning, match="Maximum iterations"):
        student = teacher.refit(samples, labels)
    assert all((a == b).all() for a, b in zip(weights, teacher.estimator.coefs_, strict=True))
    assert student.estimator.loss_curve_[0] < teacher.estimator.loss_curve_[0]
    with pytest.warns(UserWarning, match="Maximum iterations"):
        assert teacher.fit(samples, labels).estimator.loss_curve_ == teacher.estimator.loss_curve_


def test_a_warm_network_keeps_learning_on_samples_that_are_harder_than_the_old_ones(rng):
    """Its loss starts above the teacher's best, which must not count as 'no improvement'."""
    labels = np.arange(200) % 2
    samples = rng.normal(size=(200, 2)) * 0.3 + 3.0 * labels[:, None]
    teacher = ScikitLearner(MLPClassifier((16,), max_iter=300, tol=1e-3, random_state=0), np.arange(2)).fit(
        samples, labels
    )
    moved = samples + 2.2
    student = teacher.refit(moved, labels)
    assert np.mean(teacher.logits(moved).argmax(1) == labels) < 0.95
    assert np.mean(student.logits(moved).argmax(1) == labels) > 0.98


def test_trees_are_never_warm_started_into_doing_nothing(data):
    samples, labels = data
    teacher = ScikitLearner(RandomForestClassifier(10, random_state=0), CLASSES).fit(samples, labels)
    flipped = teacher.refit(samples, (labels + 1) % 3)
    assert np.mean(flipped.logits(samples).argmax(1) == (labels + 1) % 3) > 0.9


@pytest.mark.parametrize("estimator", [LogisticRegression(), MLPClassifier((8,), max_iter=800, random_state=0)])
def test_a_vanished_class_keeps_its_column(data, estimator):
    samples, labels = data
    teacher = ScikitLearner(estimator, CLASSES).fit(samples, labels)
    student = teacher.refit(samples[labels != 1], labels[labels != 1])
    logits = student.logits(samples)
    assert logits.shape == (90, 3)
    assert (logits.argmax(1) != 1).all()
    back = student.refit(samples, labels)
    assert np.mean(back.logits(samples).argmax(1) == labels) > 0.9


def test_soft_labels_equal_hard_ones_when_certain(data):
    samples, labels = data
    template = ScikitLearner(LogisticRegression(tol=1e-8, max_iter=1000), CLASSES)
    hard, soft = template.fit(samples, labels), template.fit(samples, np.eye(3)[labels])
    assert soft.logits(samples) == pytest.approx(hard.logits(samples), abs=1e-4)


def test_soft_labels_pull_towards_the_doubt(data):
    samples, labels = data
    shares = 0.6 * np.eye(3)[labels] + 0.4 / 3
    hard = ScikitLearner(LogisticRegression(), CLASSES).fit(samples, labels)
    soft = ScikitLearner(LogisticRegression(), CLASSES).fit(samples, shares)
    assert soft.logits(samples).max(1).mean() < hard.logits(samples).max(1).mean() - 0.1


def test_weights_reach_the_last_step_of_a_pipeline(data):
    samples, labels = data
    weights = np.where(labels == 2, 0.0, 1.0) + 1e-9
    for estimator in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
        learner = ScikitLearner(estimator, CLASSES).fit(samples, labels, weights)
        assert (learner.logits(samples).argmax(1) != 2).all()


def test_equal_weights_of_any_size_are_no_weights(data):
    samples, labels = data
    plain = ScikitLearner(LogisticRegression(), CLASSES).fit(samples, labels).logits(samples)
    for size in (1.0 / len(labels), 50.0):
        weighted = ScikitLearner(LogisticRegression(), CLASSES).fit(samples, labels, np.full(len(labels), size))
        np.testing.assert_allclose(weighted.logits(samples), plain, atol=1e-6)


def test_no_weights_where_the_classifier_has_none(data):
    learner = ScikitLearner(KNeighborsClassifier(), CLASSES)
    assert not learner.takes_weights
    with pytest.raises(InputError, match="does not take sample weights"):
        learner.fit(*data, np.ones(90))


def test_encoder_and_head_of_a_pipeline(data):
    samples, labels = data
    learner = ScikitLearner(make_pipeline(StandardScaler(), PCA(2), LogisticRegression()), CLASSES).fit(samples, labels)
    features = learner.encode(samples)
    assert features.shape == (90, 2)
    assert learner.head().logits(features) == pytest.approx(learner.logits(samples))
    flipped = learner.head().refit(features, (labels + 1) % 3)
    swapped = learner.with_head(flipped)
    assert swapped.logits(samples) == pytest.approx(flipped.logits(features))
    assert learner.logits(samples).argmax(1) == pytest.approx(labels, abs=2)


def test_without_a_pipeline_the_encoder_is_the_identity(data):
    learner = ScikitLearner(LogisticRegression(), CLASSES).fit(*data)
    assert learner.encode(data[0]) is data[0]
    assert learner.with_head(learner.head()).estimator is learner.estimator


def test_one_against_one_scores_are_refused(data):
    learner = ScikitLearner(SVC(decision_function_shape="ovo"), np.arange(4))
    labels = np.arange(90) % 4
    with pytest.raises(InputError, match="ovr"):
        learner.fit(data[0], labels).logits(data[0])


def test_a_model_may_bring_its_own_learner(data):
    class Own(LogisticRegression):
        def make_learner(self, classes):
            return ScikitLearner(LogisticRegression(), classes[::-1])

    assert as_learner(Own(), CLASSES).classes.tolist() == ["cow", "bee", "ant"]
    assert isinstance(as_learner(LogisticRegression(), CLASSES), ScikitLearner)


class TestRarePseudoLabels:
    def data(self):
        rng = np.random.default_rng(0)
        labels = np.array([0, 1] * 30 + [2])
        return rng.normal(size=(61, 2)) + 3 * labels[:, None], labels

    @pytest.mark.parametrize(
        "model",
        [
            MLPClassifier((8,), max_iter=3, early_stopping=True, random_state=0),
            HistGradientBoostingClassifier(max_iter=3, early_stopping=True, random_state=0),
            SGDClassifier(early_stopping=True, random_state=0),
        ],
    )
    @pytest.mark.parametrize("again", [False, True])
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_a_single_sample_of_a_class_is_left_out_of_a_step(self, model, again):
        x, labels = self.data()
        learner = as_learner(model, np.array(["a", "b", "stray"]))
        if again:
            learner = learner.fit(x[:60], np.repeat([0, 1, 2], 20))
        with pytest.warns(AdaptationWarning, match="single sample of class 'stray'"):
            trained = (learner.refit if again else learner.fit)(x, labels)
        assert trained.logits(x).shape == (61, 3)

    def test_whatever_else_fails_names_the_classifier_and_the_class(self):
        x, labels = self.data()
        learner = as_learner(CalibratedClassifierCV(cv=5), np.arange(3))
        with pytest.raises(
            InputError, match=r"CalibratedClassifierCV could not be trained on 61 .* 1 are of class '2'"
        ):
            learner.fit(x, labels)


def test_boosting_of_small_tables_uses_one_thread():
    def most():
        return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp")

    x = np.zeros((10, 2))
    with threadpool_limits(2, user_api="openmp"):
        with calm_threads(HistGradientBoostingClassifier(), x):
            assert most() == 1
        assert most() == 2
        with calm_threads(make_pipeline(StandardScaler(), HistGradientBoostingClassifier()), x):
            assert most() == 1
        with calm_threads(LogisticRegression(), x):
            assert most() == 2
