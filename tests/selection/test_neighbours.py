"""Information between the labels of a row and of its neighbours: closed forms, ties, weights, devices."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics import mutual_info_score

from driftfit import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.models import ScikitLearner
from driftfit.selection import NeighbourInformation, Runs
from driftfit.selection.guards import ClassMoments, share_better_as_named
from driftfit.selection.neighbours import named_information, nearest_neighbours, shared_information, standardised


def runs_of(target, labels, n_classes=2):
    """Candidates that say what they are told to."""
    source = Domain(np.arange(float(n_classes))[:, None] @ np.ones((1, 1)), np.arange(n_classes))
    samples = target.samples
    wide = np.zeros((n_classes, *samples.shape[1:]))
    sequence = DomainSequence([Domain(wide, source.labels), target])
    probabilities = {name: np.eye(n_classes)[np.asarray(own)] for name, own in labels.items()}
    learner = ScikitLearner(None, np.arange(n_classes))
    return Runs(learner, sequence, target, {}, next(iter(labels)), dict.fromkeys(labels), probabilities)


def score(target, labels, n_classes=2, **options):
    judgement = NeighbourInformation(**options).judge(runs_of(target, {"own": labels}, n_classes))
    return judgement.scores["own"]


@pytest.mark.parametrize("kind", ["array", "float32", "sparse", "tensor"])
def test_neighbours_are_the_nearest_other_rows(rng, kind):
    x = rng.normal(size=(300, 4)) + 1e3
    expected = cdist(x, x)
    np.fill_diagonal(expected, np.inf)
    expected = np.sort(np.argsort(expected, axis=1)[:, :7], axis=1)
    if kind == "tensor":
        points = pytest.importorskip("torch").from_numpy(x)
    else:
        points = {"array": x, "float32": (x - 1e3).astype(np.float32), "sparse": sp.csr_array(x)}[kind]
    np.testing.assert_array_equal(np.sort(nearest_neighbours(points, 7), axis=1), expected)


def test_few_rows_have_few_neighbours():
    assert np.sort(nearest_neighbours(np.array([[0.0], [1.0], [3.0]]), 10), axis=1).tolist() == [[1, 2], [0, 2], [0, 1]]
    assert nearest_neighbours(np.zeros((1, 2)), 10).shape == (1, 0)


def test_the_mean_is_the_mutual_information(rng):
    labels, around = rng.integers(0, 4, 200), rng.integers(0, 200, (200, 6))
    expected = mutual_info_score(np.repeat(labels, 6), labels[around].ravel())
    assert shared_information(labels, labels[around], 4).mean() == pytest.approx(expected)
    assert shared_information(labels, labels[around], 9).mean() == pytest.approx(expected)


def test_weights_count_as_copies(rng):
    labels, around, weights = rng.integers(0, 3, 40), rng.integers(0, 40, (40, 5)), rng.integers(1, 4, 40)
    copies = np.repeat(np.arange(40), weights)
    weighted = np.average(shared_information(labels, labels[around], 3, weights.astype(float)), weights=weights)
    pairs = np.repeat(labels[copies], 5), labels[around][copies].ravel()
    assert weighted == pytest.approx(mutual_info_score(*pairs))


def test_clusters_beat_chance_and_one_class_has_no_information(rng):
    x = np.concatenate([rng.normal(size=(100, 3)), rng.normal(size=(100, 3)) + 9])
    target, half = Domain(x), np.repeat([0, 1], 100)
    assert score(target, half) == pytest.approx(np.log(2))
    assert score(target, np.zeros(200, int)) == 0.0
    assert score(target, rng.integers(0, 2, 200)) < 0.02
    spoilt = np.where(rng.random(200) < 0.2, 1 - half, half)
    assert 0.05 < score(target, spoilt) < 0.5


def test_renamed_classes_score_the_same(rng):
    x, labels = rng.normal(size=(150, 2)), rng.integers(0, 3, 150)
    turned = np.array([2, 0, 1])[labels]
    assert score(Domain(x), labels, 3) == pytest.approx(score(Domain(x), turned, 3))


def test_copies_of_rows_say_nothing_about_a_candidate(rng):
    # Each row stands thirty times: its nearest neighbours would be itself, and any labelling would look perfect.
    x, labels = rng.normal(size=(100, 3)), rng.integers(0, 2, 100)
    many = np.repeat(np.arange(100), 30)
    assert score(Domain(x[many]), labels[many]) == pytest.approx(score(Domain(x), labels))
    assert score(Domain(x[many]), labels[many]) < 0.05
    kinds = NeighbourInformation().judge(runs_of(Domain(x[many]), {"own": labels[many]}))
    assert len(kinds.rows) == 100
    assert score(Domain(np.zeros((9, 2))), np.arange(9) % 2) == 0.0


def test_rows_without_weight_are_nobodys_neighbours(rng):
    x, labels = rng.normal(size=(80, 2)), rng.integers(0, 2, 80)
    weights = np.r_[np.ones(50), np.zeros(30)]
    assert score(Domain(x, weights=weights), labels) == pytest.approx(score(Domain(x[:50]), labels[:50]))


def test_a_large_target_is_thinned_and_the_words_say_so(rng):
    target, labels = Domain(rng.normal(size=(400, 2))), rng.integers(0, 2, 400)
    judgement = NeighbourInformation(max_rows=100).judge(runs_of(target, {"own": labels}))
    assert len(judgement.rows) == len(judgement.contributions["own"]) == 100
    assert "on 100 of 400 rows" in judgement.words
    assert "on 400 rows" in NeighbourInformation().judge(runs_of(target, {"own": labels})).words


@pytest.mark.parametrize("kind", ["array", "sparse", "tensor"])
def test_own_scale_forgets_units(rng, kind):
    half = np.repeat([0, 1], 60)
    x = np.column_stack([rng.normal(size=120) * 1e4, half + 0.1 * rng.normal(size=120), np.ones(120)])
    samples = {
        "array": lambda: x,
        "sparse": lambda: sp.csr_array(x),
        "tensor": lambda: pytest.importorskip("torch").from_numpy(x),
    }
    target = Domain(samples[kind]())
    assert score(target, half) < 0.2
    assert score(target, half, own_scale=True) > 0.5


class TestMeasuredColumns:
    """Tables of measured columns and flags."""

    @staticmethod
    def table(rng, n=300):
        """Labels follow two measured columns; twenty flags go together and have nothing to do with them."""
        labels, group = rng.integers(0, 2, n), rng.integers(0, 2, n)
        x = np.column_stack([rng.normal(3.0 * labels), rng.normal(3.0 * labels), *[4.0 * group] * 20])
        return x, labels, group

    @pytest.mark.parametrize("kind", ["array", "tensor", "frame"])
    def test_flags_praise_nobody(self, rng, kind):
        x, labels, group = self.table(rng)
        samples = {
            "array": lambda: x,
            "tensor": lambda: pytest.importorskip("torch").from_numpy(x),
            "frame": lambda: pytest.importorskip("pandas").DataFrame(x),
        }
        target = Domain(samples[kind]())
        assert score(target, group, own_scale=True) > score(target, labels, own_scale=True) + 0.1
        assert score(target, labels, measured=True) > 0.4
        assert score(target, group, measured=True) < 0.05

    def test_rows_that_differ_in_a_flag_alone_are_two_rows(self, rng):
        x = self.table(rng, 100)[0]
        twice = np.concatenate([x, x])
        twice[100:, 2:] += 1.0
        target = Domain(twice)
        judgement = NeighbourInformation(measured=True).judge(runs_of(target, {"own": np.repeat([0, 1], 100)}))
        assert len(judgement.rows) == 200
        assert "by measured columns" in judgement.words

    def test_images_and_tables_of_flags_alone_are_compared_whole(self, rng):
        labels = rng.integers(0, 2, 200)
        flags = np.column_stack([labels, rng.integers(0, 2, (200, 2))]).astype(float)
        assert score(Domain(flags), labels, measured=True) == score(Domain(flags), labels)
        images = np.where(rng.random((200, 4, 4)) < 0.5, 0.0, labels[:, None, None] + 1.0)
        assert score(Domain(images), labels, measured=True) == score(Domain(images), labels)


class TestWithSource:
    """Held against the labelled source."""

    @staticmethod
    def judged(source, target, labels, **options):
        sequence = DomainSequence([source, target])
        k = int(max(source.labels.max(), np.max(labels))) + 1
        learner = ScikitLearner(None, np.arange(k))
        runs = Runs(learner, sequence, target, {}, "own", {"own": None}, {"own": np.eye(k)[labels]})
        return NeighbourInformation(with_source=True, **options).judge(runs)

    @staticmethod
    def clusters(rng, n=100, noise=0.0):
        x = np.concatenate([rng.normal(size=(n, 3)), rng.normal(size=(n, 3)) + 9])
        labels = np.repeat([0, 1], n)
        return x, np.where(rng.random(2 * n) < noise, 1 - labels, labels)

    def test_the_truth_after_a_move_has_all_there_is_to_have(self, rng):
        x, labels = self.clusters(rng)
        judgement = self.judged(Domain(x, labels), Domain(3.0 * x + 50.0), labels)
        # Log 2 from the neighbours in the target, and as much from those in the source.
        assert judgement.scores["own"] == pytest.approx(2 * np.log(2))
        assert "with those in the source" in judgement.words
        # Other names are as good to neighbours in the target, and contradict those in the source.
        assert self.judged(Domain(x, labels), Domain(x), 1 - labels).scores["own"] == pytest.approx(0.0)

    def test_shares_unlike_the_source_count_less(self, rng):
        x, labels = self.clusters(rng)
        skewed = np.repeat([0, 1], [150, 50])
        source = Domain(x + np.array([0.0, 0.0, 40.0]) * labels[:, None], labels)
        far = Domain(rng.normal(size=(200, 3)))
        alone = score(far, skewed)
        across = named_information(
            skewed, labels[nearest_neighbours(standardised(far.samples), 10, standardised(source.samples))], 2
        ).mean()
        assert self.judged(source, far, skewed).scores["own"] == pytest.approx(0.75 * alone + across)

    def test_a_large_source_is_thinned_and_units_do_not_matter(self, rng):
        x, labels = self.clusters(rng, 300)
        some = rng.choice(600, 150, replace=False)
        unit = np.array([1.0, 1e3, 1e-3])
        one, two = (
            self.judged(Domain(x * u, labels), Domain(x[some]), labels[some]).scores["own"] for u in (1.0, unit)
        )
        assert one == pytest.approx(2 * np.log(2), abs=0.02)
        assert two == pytest.approx(one, abs=0.02)

    @pytest.mark.parametrize("kind", ["sparse", "tensor"])
    def test_other_containers_say_the_same(self, rng, kind):
        x, labels = self.clusters(rng, 60, 0.1)
        expected = self.judged(Domain(x, labels), Domain(x + 1.0), labels).scores["own"]

        def held(values):
            return sp.csr_array(values) if kind == "sparse" else pytest.importorskip("torch").from_numpy(values)

        found = self.judged(Domain(held(x), labels), Domain(held(x + 1.0)), labels).scores["own"]
        assert found == pytest.approx(expected, abs=0.05 if kind == "sparse" else 1e-9)

    def test_three_samples(self, rng):
        x, labels = self.clusters(rng, 20)
        assert np.isfinite(self.judged(Domain(x, labels), Domain(x[:3]), labels[:3]).scores["own"])
        assert np.isfinite(self.judged(Domain(x[19:22], labels[19:22]), Domain(x), labels).scores["own"])


def test_three_samples(rng):
    assert np.isfinite(score(Domain(rng.normal(size=(3, 2))), np.array([0, 1, 1])))
    assert score(Domain(rng.normal(size=(2, 2))), np.array([0, 1])) == pytest.approx(np.log(2))


def test_words_are_measured_in_the_space_of_the_encoder():
    pd = pytest.importorskip("pandas")
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    from driftfit.methods import GradualSelfTraining
    from driftfit.selection import choose

    table = pd.DataFrame({"a": list("abcd") * 20, "b": list("xyxyyxyx") * 10})
    labels = (table.a.isin(["a", "b"])).to_numpy().astype(int)
    sequence = DomainSequence([Domain(table, labels), Domain(table.iloc[::-1])])
    model = make_pipeline(OneHotEncoder(sparse_output=False), LogisticRegression())
    choice = choose({"GST": GradualSelfTraining(measure_shift=False)}, sequence, model)
    assert "in the space of the encoder" in choice.sentence


@pytest.mark.parametrize("options", [{"n_neighbours": 0}, {"max_rows": 1}])
def test_wrong_options_are_refused(options):
    with pytest.raises(InputError):
        NeighbourInformation(**options)


class TestClassDistances:
    @pytest.mark.parametrize("kind", ["array", "sparse", "tensor"])
    def test_they_are_mean_squared_distances(self, rng, kind):
        x, labels, weights = rng.normal(size=(90, 3)), rng.integers(0, 3, 90), rng.random(90)
        samples = pytest.importorskip("torch").from_numpy(x) if kind == "tensor" else x
        domain = Domain(sp.csr_array(x) if kind == "sparse" else samples, weights=weights)
        found = ClassMoments(domain, labels, 4).distances(np.ones(20))
        for a in range(3):
            for b in range(3):
                mass = weights[labels == a][:, None] * weights[labels == b]
                expected = (mass * cdist(x[labels == a], x[labels == b], "sqeuclidean")).sum() / mass.sum()
                assert found[a, b] == pytest.approx(expected)
        assert np.isnan(found[3]).all()

    def test_the_right_names_keep_them_and_equal_classes_leave_it_open(self, rng):
        labels = np.arange(400) % 2
        x = rng.normal(size=(400, 2)) * np.where(labels, 2.0, 1.0)[:, None]
        own, turned = ClassMoments(Domain(x), labels, 2), ClassMoments(Domain(x[:, ::-1] + 50), labels, 2)
        swap = np.array([1, 0])
        assert share_better_as_named(own, turned, swap) == 1.0
        assert share_better_as_named(own, ClassMoments(Domain(x), 1 - labels, 2), swap) == 0.0
        alike = rng.normal(size=(400, 2))
        same = ClassMoments(Domain(alike[:200]), labels[:200], 2), ClassMoments(Domain(alike[200:]), labels[200:], 2)
        assert 0.025 < share_better_as_named(*same, swap) < 0.975
