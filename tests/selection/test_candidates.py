"""`choose` and `Chosen`: very different candidates, guards, intervals, failures, and no target label."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from driftfit import AdaptedClassifier, Domain, DomainSequence
from driftfit.datasets.toy import moving_gaussians
from driftfit.errors import InputError
from driftfit.methods import GOAT, Adaptation, CarriedLabels, GradualSelfTraining, Method, SourceOnly, Transport
from driftfit.models import as_learner
from driftfit.selection import (
    Candidate,
    Chosen,
    ClassShares,
    Findings,
    Judgement,
    Names,
    NeighbourInformation,
    PlanAgreement,
    Runs,
    StructureHolds,
    choose,
)
from driftfit.selection.evidence import paired_gains
from driftfit.selection.guards import agreement_when_renamed
from driftfit.transport import Exact, GromovWasserstein, Isometry

PATH = moving_gaussians((0, 1.5), n_samples=200)


@dataclass(frozen=True, eq=False)
class Says(Method):
    """A method whose model says what it is told to about the target, and nothing sensible elsewhere."""

    labels: object
    share: float = 0.9

    def adapt(self, learner, sequence, on_step=None, workspace=None):
        k = len(learner.classes)
        table = np.full((len(self.labels), k), (1 - self.share) / max(k - 1, 1))
        table[np.arange(len(self.labels)), np.asarray(self.labels)] = self.share
        return Adaptation(_Told(learner, np.log(table)))


@dataclass(frozen=True, eq=False)
class _Told:
    learner: object
    table: np.ndarray

    @property
    def classes(self):
        return self.learner.classes

    def logits(self, samples):
        return self.table


@dataclass(frozen=True)
class Fails(Method):
    error: type = InputError

    def adapt(self, learner, sequence, on_step=None, workspace=None):
        raise self.error("nothing to be done; try something else")


def ring(n=300, k=5, seed=0, turn=0.0):
    """Classes around a circle."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % k
    angle = 2 * np.pi * (labels / k + turn)
    return np.column_stack([np.cos(angle), np.sin(angle)]) * 5 + rng.normal(size=(n, 2)) * 0.5, labels


def ring_path(turn=0.0, k=5, n=300):
    (x0, y0), (x1, y1) = ring(n, k, 0), ring(n, k, 1, turn)
    return DomainSequence([Domain(x0, y0, name="s"), Domain(x1, y1, name="t")])


def uneven_path(angle=120):
    """Three clusters of unequal distances, turned until each lies where another was."""
    rng = np.random.default_rng(3)
    labels = np.arange(300) % 3
    turn = np.deg2rad([0, 120, 225])[labels]
    x = np.column_stack([np.cos(turn), np.sin(turn)]) * np.array([5.0, 6.0, 4.0])[labels, None]
    x += rng.normal(size=(300, 2)) * np.array([0.2, 0.4, 0.8])[labels, None]
    c, s = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
    moved = x[150:] @ np.array([[c, s], [-s, c]])
    return DomainSequence([Domain(x[:150], labels[:150]), Domain(moved, labels[150:])])


def bent(ratio):
    return Isometry(ratio, 0.95 * ratio, 1.05 * ratio, np.array([ratio]))


def fitted(path, estimator=None):
    source = path.source
    return as_learner(estimator or LogisticRegression(max_iter=500), source.classes).fit(
        source.samples, source.codes(), source.uneven_weights
    )


def accuracy(adaptation, path):
    return float((adaptation.learner.logits(path.target.samples).argmax(axis=1) == path.target.labels).mean())


def test_the_best_is_what_its_method_alone_would_have_made():
    learner, seen = fitted(PATH), {}
    methods = {"GOAT": GOAT(3), "carried": CarriedLabels(), "GST": GradualSelfTraining(), "kept": SourceOnly()}
    chosen = Chosen(methods, on_candidate=seen.__setitem__).adapt(learner, PATH)
    choice = chosen.choice
    assert list(seen) == list(choice.scores) == list(methods)
    assert choice.reference == "kept"
    assert choice.best == max(choice.scores, key=choice.scores.get)
    alone = methods[choice.best].adapt(learner, PATH)
    np.testing.assert_array_equal(chosen.learner.estimator.coef_, alone.learner.estimator.coef_)
    assert choice.n_generated == alone.n_generated
    truth = {
        k: (run.learner.logits(PATH.target.samples).argmax(axis=1) == PATH.target.labels).mean()
        for k, run in seen.items()
    }
    assert truth[choice.best] == max(truth.values())
    assert choice.gains[choice.best].low > 0
    assert choice.gains["kept"].low == choice.gains["kept"].high == 0


def test_the_sentence_names_the_best_the_next_the_struck_and_the_failed():
    one = np.zeros(len(PATH.target), dtype=int)
    choice = choose({"GOAT": GOAT(3), "GST": GradualSelfTraining(), "flat": Says(one), "broken": Fails()}, PATH)
    assert choice.best == "GOAT"
    assert choice.sentence.startswith(
        "GOAT is chosen of 5 candidates: the highest information (nats) between the label"
    )
    for words in (
        "no target labels",
        f"next {choice.runner_up} ",
        "gain ",
        "flat is struck out: it lost the class '1'",
    ):
        assert words in choice.sentence
    assert choice.failed == {"broken": "nothing to be done; try something else"}
    assert "broken could not run: nothing to be done" in choice.sentence
    assert "broken" not in choice.scores


def test_other_errors_are_not_swallowed():
    with pytest.raises(ZeroDivisionError):
        choose({"broken": Fails(ZeroDivisionError)}, PATH)


def test_target_labels_change_nothing():
    source, target = PATH
    choices = [
        choose({"GOAT": GOAT(2), "carried": CarriedLabels()}, DomainSequence([source, other]))
        for other in (target, target.without_labels(), Domain(target.samples, 1 - target.labels, name=target.name))
    ]
    assert choices[0].scores == choices[1].scores == choices[2].scores
    assert choices[0].sentence == choices[1].sentence == choices[2].sentence


def test_plans_are_made_once():
    class Counting:
        calls = 0

        def solve(self, problem):
            Counting.calls += 1
            return Exact().solve(problem)

    transport = Transport(Counting())
    choose(
        {"two": GOAT(2, transport=transport), "four": GOAT(4, transport=transport), "c": CarriedLabels(transport)}, PATH
    )
    assert Counting.calls == 1


def test_constant_predictions_never_win():
    path = ring_path(0.02)
    for label in range(5):
        flat = Says(np.full(300, label), 0.999)
        choice = choose({"flat": flat}, path, guards=())
        assert choice.best == "source"
        assert choice.scores["flat"] == 0.0
        assert "flat" in choose({"flat": flat}, path).struck


def test_a_lost_class_is_struck_out_however_high_the_score():
    path = ring_path(0.0)
    truth = path.target.labels
    noisy = np.where(np.random.default_rng(0).random(300) < 0.3, (truth + 1) % 5, truth)
    lost = np.where(truth == 4, 3, truth)
    learner = fitted(path)
    source = replace(learner)
    choice = Chosen({"kept": SourceOnly(), "noisy": Says(noisy), "lost": Says(lost)}).adapt(source, path).choice
    assert choice.scores["lost"] > choice.scores["noisy"]
    assert list(choice.struck) == ["lost"]
    assert "it lost the class '4'" in choice.struck["lost"]


class TestNames:
    """Neighbours cannot see what classes are called."""

    path = ring_path(0.08)
    truth = path.target.labels
    turned = (truth + 1) % 5

    def test_a_renamed_candidate_has_the_same_score_and_is_struck_out(self):
        candidates = {"turned": Says(self.turned), "right": Says(self.truth)}
        plain = {"score": NeighbourInformation(), "cautious": False}
        assert choose(candidates, self.path, guards=(), **plain).best == "turned"
        choice = choose(candidates, self.path, **plain)
        assert choice.scores["turned"] == pytest.approx(choice.scores["right"])
        assert choice.best in ("right", "source")
        assert "under other names" in choice.struck["turned"]

    def test_a_candidate_that_is_struck_out_is_no_witness(self, rng):
        """One that lost a class, or is run for show alone, has the names of a poor source model on its side."""
        noise = rng.integers(0, 5, len(self.truth))
        said = {
            "source": np.where(rng.random(len(noise)) < 0.4, self.turned, noise),
            "right": self.truth,
            "lost": np.where(self.turned == 4, 3, self.turned),
            "shown": self.turned,
        }
        tables = {name: np.eye(5)[labels] for name, labels in said.items()}
        method = Chosen({"right": Says(self.truth)})
        runs = Runs(fitted(self.path), self.path, self.path.target, {}, "source", dict.fromkeys(said), tables)
        runs = replace(runs, candidates=dict.fromkeys(said, Candidate(SourceOnly())))
        alone = Names().inspect(replace(runs, adaptations=dict.fromkeys(["source", "right", "shown"])))
        assert list(alone.struck) == ["right"]
        found = method._inspected(runs, {"shown"})
        assert [list(own.struck) for own in found] == [["lost"], [], []]

    def test_the_source_model_is_believed_where_nothing_else_is_known(self):
        choice = choose({"turned": Says(self.turned)}, self.path, cautious=False)
        assert (choice.best, list(choice.struck)) == ("source", ["turned"])

    def test_names_that_keep_distances_between_classes_are_believed_where_the_drift_is_an_isometry(self):
        path = uneven_path()
        truth = path.target.labels
        assert (fitted(path).logits(path.target.samples).argmax(axis=1) != truth).mean() > 0.7
        plain = choose({"structure": Says(truth)}, path, cautious=False)
        assert "structure" in plain.struck
        confirmed = Candidate(Says(truth), isometry=bent(1.0))
        choice = choose({"structure": confirmed, "wrong": Says((truth + 1) % 3)}, path)
        assert choice.best == "structure"
        assert {"source", "wrong"} == set(choice.struck)

    def test_a_symmetry_is_left_to_the_source_model(self):
        # Five equal classes on a circle: a turn by one class keeps all distances, so these tell no names.
        turned = Candidate(Says(self.turned), isometry=bent(1.0))
        choice = choose({"structure": turned}, self.path, cautious=False)
        assert (choice.best, list(choice.struck)) == ("source", ["structure"])
        flipped = moving_gaussians((0, 0.2), n_samples=300)
        structure = Candidate(Says(1 - flipped.target.labels), isometry=bent(1.0))
        assert choose({"structure": structure}, flipped, cautious=False).best == "source"

    def test_contradictions_that_nobody_settles_are_a_caution(self):
        truth = np.arange(400) % 4
        rng = np.random.default_rng(0)
        x = 6.0 * np.eye(4)[truth] + rng.normal(size=(400, 4)) * 0.3
        # A source without a relation to the target: its model sees one class there.
        path = DomainSequence([Domain(rng.normal(size=(400, 4)) - 30, truth), Domain(x)])
        choice = choose({"a": Says(truth), "b": Says((truth + 1) % 4)}, path, cautious=False, guards=(Names(),))
        assert choice.best == "a"
        assert choice.struck == {}
        assert "caution: b sees the same classes under other names (100 % of the rows once" in choice.sentence

    def test_two_good_candidates_do_not_contradict_each_other(self):
        rng = np.random.default_rng(0)
        other = np.where(rng.random(300) < 0.2, rng.integers(0, 5, 300), self.truth)
        choice = choose({"one": Says(self.truth), "other": Says(other)}, self.path)
        assert choice.struck == {}

    def test_candidates_that_see_one_class_alone_share_no_classes(self):
        rng = np.random.default_rng(0)
        one, other = (np.where(rng.random(300) < 0.05, rng.integers(0, 5, 300), label) for label in (1, 3))
        choice = choose({"one": Says(one), "other": Says(other)}, self.path, guards=(Names(),))
        assert choice.struck == {}
        assert "other names" not in choice.sentence

    def test_agreement_when_renamed(self):
        labels = np.array([0, 0, 1, 2])
        plain, renamed, names = agreement_when_renamed(labels, (labels + 1) % 3, 3)
        assert (plain, renamed, names.tolist()) == (0.0, 1.0, [1, 2, 0])
        plain, renamed, names = agreement_when_renamed(labels, labels, 5)
        assert (plain, renamed, names.tolist()) == (1.0, 1.0, [0, 1, 2, 3, 4])
        weighted = agreement_when_renamed(labels, (labels + 1) % 3, 3, np.array([1.0, 1, 0, 0]))
        assert weighted[:2] == (0.0, 1.0)


class TestStructure:
    path = ring_path(0.0)

    def choice(self, ratio):
        return choose(
            {"s": Candidate(Says(self.path.target.labels), bent(ratio))}, self.path, guards=(StructureHolds(),)
        )

    def test_far_above_one_strikes_out(self):
        assert self.choice(1.64).struck["s"].startswith("distances are bent 1.64 times as much as between halves")
        assert self.choice(1.02).struck == {}
        assert "s" in self.choice(float("inf")).struck

    def test_a_function_is_asked_once_and_sees_no_target_labels(self):
        seen = []

        def drift(sequence):
            seen.append(sequence.target.labels)
            return bent(1.0)

        method = Says(self.path.target.labels)
        choose({"s": Candidate(method, drift), "t": Candidate(method, drift)}, self.path)
        assert seen == [None]

    def test_structural_candidates_are_measured_on_the_samples(self, monkeypatch):
        rng = np.random.default_rng(0)
        x, weights = rng.uniform(size=(200, 2)) * [9.0, 1.0], rng.random(200)
        source = Domain(x, (x[:, 0] > 4.5).astype(int), weights)
        path = DomainSequence([source, Domain(rng.uniform(size=(100, 2)) * 7.0)])
        candidate = Candidate.structural(CarriedLabels(Transport(GromovWasserstein()), feature_space=False))
        # A square is no line.
        assert "distances are bent" in choose({"structure": candidate}, path).struck["structure"]
        seen = []
        monkeypatch.setattr("driftfit.selection.runs.isometry", lambda *given: seen.append(given) or bent(1.0))
        assert "structure" in choose({"structure": candidate}, path).scores
        ((x0, x1, w0, w1),) = seen
        np.testing.assert_array_equal(x0, x)
        np.testing.assert_array_equal(x1, path.target.samples)
        assert w0 is path.source.weights
        assert w1 is None

    def test_what_is_struck_out_beforehand_runs_only_if_asked(self):
        candidate = Candidate(Says(self.path.target.labels), bent(1.9))
        assert list(choose({"s": candidate}, self.path).scores) == ["source"]
        shown = choose({"s": candidate}, self.path, run_all=True)
        assert list(shown.scores) == ["source", "s"]
        assert (shown.best, list(shown.struck)) == ("source", ["s"])


class TestCaution:
    def test_the_reference_stays_unless_a_gain_is_clear(self):
        path = ring_path(0.0)
        same = fitted(path).logits(path.target.samples).argmax(axis=1)
        almost = same.copy()
        almost[:1] = (almost[:1] + 1) % 5
        clear = choose({"almost": Says(same), "b": Says(almost)}, path)
        assert clear.best == "source"
        rng = np.random.default_rng(0)
        noisy = np.where(rng.random(300) < 0.5, rng.integers(0, 5, 300), path.target.labels)
        learner = as_learner(LogisticRegression(), path.source.classes).fit(path.source.samples, noisy)
        brave = Chosen({"right": Says(path.target.labels)}).adapt(learner, path).choice
        assert brave.best in ("right", "source")

    def test_a_gain_within_its_interval_is_held_back(self):
        @dataclass(frozen=True)
        class Noise:
            def judge(self, runs):
                rng = np.random.default_rng(0)
                return Judgement(
                    {name: 0.01 * place + rng.normal(size=100) for place, name in enumerate(runs.names)}, None, "noise"
                )

        cautious = choose({"b": Says(PATH.target.labels)}, PATH, score=Noise(), guards=())
        brave = choose({"b": Says(PATH.target.labels)}, PATH, score=Noise(), guards=(), cautious=False)
        assert cautious.best == "source"
        assert ("no other is clearly above it in noise" in cautious.sentence) == (brave.best == "b")
        assert cautious.gains == brave.gains


def test_intervals_are_those_of_paired_means(rng):
    common = rng.normal(size=2_000) * 5
    rows = {"a": common, "b": common + 0.1 + 0.2 * rng.normal(size=2_000)}
    gain = paired_gains(Judgement(rows, None, ""), "a")["b"]
    error = 0.2 / np.sqrt(2_000)
    assert gain.value == pytest.approx(0.1, abs=4 * error)
    assert gain.high - gain.low == pytest.approx(2 * 1.96 * error, rel=0.2)
    heavy = np.r_[np.ones(20), np.zeros(1_980)]
    few = paired_gains(Judgement(rows, heavy, ""), "a")["b"]
    assert few.high - few.low > 5 * (gain.high - gain.low)
    assert few.value == pytest.approx((rows["b"] - rows["a"])[:20].mean())


def test_weights_of_the_target_reach_the_score():
    path = ring_path(0.0)
    truth = path.target.labels
    half_right = np.where(np.arange(300) < 150, truth, np.random.default_rng(0).integers(0, 5, 300))
    scores = []
    for weights in (None, np.r_[np.ones(150), np.zeros(150)], np.r_[np.full(150, 1e-3), np.ones(150)]):
        target = Domain(path.target.samples, weights=weights, name="t")
        choice = choose({"half": Says(half_right)}, DomainSequence([path.source, target]), guards=())
        scores.append(choice.scores["half"])
    assert scores[1] > scores[0] > scores[2]


def test_three_target_samples():
    source = PATH.source
    few = DomainSequence([source, Domain(PATH.target.samples[:3])])
    choice = choose({"GOAT": GOAT(1), "carried": CarriedLabels()}, few)
    assert choice.best in choice.scores
    assert np.isfinite(list(choice.scores.values())).all()


def test_the_labels_that_plans_carry_are_evidence_too():
    learner = fitted(PATH)
    carried = CarriedLabels(refit=False).adapt(learner, PATH).carried
    choice = choose({"GOAT": GOAT(3), "GST": GradualSelfTraining()}, PATH, learner, score=PlanAgreement(carried))
    assert choice.best == "GOAT"
    assert len(choice.validation_labels) == len(choice.validation_rows) > 100


def test_a_guard_of_ones_own():
    @dataclass(frozen=True)
    class Never:
        def beforehand(self, runs):
            return Findings({"early": "it is not worth it"})

        def inspect(self, runs):
            assert "early" not in runs.names
            return Findings({"GOAT": "somebody said so"})

    choice = choose({"GOAT": GOAT(3), "early": Fails(ZeroDivisionError)}, PATH, guards=(Never(),))
    assert (choice.best, choice.struck["early"]) == ("source", "it is not worth it")
    assert list(choice.scores) == ["source", "GOAT"]


def test_everybody_struck_out_leaves_the_source():
    one = np.zeros(len(PATH.target), dtype=int)
    choice = choose({"a": Says(one), "b": Says(one)}, PATH, guards=(ClassShares(),))
    assert (choice.best, choice.runner_up, set(choice.struck)) == ("source", None, {"a", "b"})


def test_chosen_is_a_method_like_any_other():
    seen = []
    methods = {"GOAT": GOAT(3), "carried": CarriedLabels()}
    clf = AdaptedClassifier(method=Chosen(methods), on_step=lambda record, student: seen.append(record)).fit_path(PATH)
    assert clf.adaptation_.choice.best in ("source", *methods)
    assert seen == clf.path_
    clf.set_params(on_step=None)
    assert pickle.loads(pickle.dumps(clf)).adaptation_.choice.sentence == clf.adaptation_.choice.sentence
    inner = Chosen({"outer": Chosen(methods), "GST": GradualSelfTraining()})
    assert inner.adapt(fitted(PATH), PATH).choice.best in ("outer", "GST", "source")


def test_a_classifier_or_a_learner_may_be_given():
    methods = {"GOAT": GOAT(2)}
    by_learner = choose(methods, PATH, fitted(PATH, KNeighborsClassifier(9)))
    assert choose(methods, PATH, KNeighborsClassifier(9)).scores == by_learner.scores


@pytest.mark.parametrize("candidates", [{}, [GOAT(2)], {"a": 3}, {"source": GOAT(2)}])
def test_wrong_candidates_are_refused(candidates):
    with pytest.raises(InputError, match="candidate"):
        choose(candidates, PATH)


def test_wrong_evidence_is_refused():
    with pytest.raises(InputError, match="score"):
        Chosen({"a": GOAT(2)}, score="neighbours")
    assert isinstance(Chosen({"a": GOAT(2)}).score, NeighbourInformation)
