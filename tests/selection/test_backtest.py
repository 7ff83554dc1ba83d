"""Backtests: no label of a window is seen by what is judged on it, and gains are those that there are."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, balanced_accuracy_score, f1_score, log_loss, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.methods import (
    Adaptation,
    FromHistory,
    HalfLife,
    LastWindows,
    Method,
    OwnScale,
    ProportionCorrection,
)
from driftfit.methods.history import Mixture
from driftfit.models import as_learner
from driftfit.parallel import Processes, Ray
from driftfit.selection import ALL_LABELS, ByHistory, Metric, backtest, default_metric, history_ways
from driftfit.selection.backtest import judged_windows, lag_to_imitate
from driftfit.selection.mixture import IN_ORDER, MIXTURE, method_of, mixture_weights

N, ROWS = 7, 150


def moving(step=0.5, seed=0, n=N, labelled=N - 1):
    """One of two columns decides, and the border moves by a step a window."""
    rng = np.random.default_rng(seed)
    domains = []
    for place in range(n):
        x = rng.normal(size=(ROWS, 2))
        y = np.where(x[:, 0] + 0.3 * rng.normal(size=ROWS) > step * (place - n / 2), "b", "a")
        domains.append(Domain(x, y if place < labelled else None, name=f"w{place}"))
    return DomainSequence(domains)


@pytest.fixture(scope="module")
def found():
    return backtest(moving())


class TestForecasts:
    def test_every_window_with_labels_but_the_first_is_judged(self, found):
        assert found.windows == ("w1", "w2", "w3", "w4", "w5")
        assert found.late == found.asked_late == 0

    @pytest.mark.parametrize("late", [0, 1])
    def test_labels_of_the_judged_window_and_of_later_ones_are_never_seen(self, late):
        """Those after what was known are turned around: every way, mixture and threshold says the same, bit for bit."""
        path, ways = moving(), history_ways(in_order=True)
        plain = backtest(path, ways=ways, late=late, metric=Metric("balanced_accuracy"))
        seen = set()
        for forecast in plain.forecasts:
            known = forecast.window - late
            turned = [
                own if number < known or own.labels is None
                else Domain(own.samples, np.where(own.labels == "a", "b", "a"), name=own.name)
                for number, own in enumerate(path)
            ]  # fmt: skip
            again = next(
                one
                for one in backtest(DomainSequence(turned), ways=ways, late=late, metric=plain.metric).forecasts
                if one.window == forecast.window
            )
            for name, shares in forecast.shares.items():
                # Which way is chosen depends on all labels, and it alone is given another threshold.
                if name in again.shares:
                    seen.add(name)
                    np.testing.assert_array_equal(again.shares[name], shares)
                    np.testing.assert_array_equal(again.named(name, plain.metric), forecast.named(name, plain.metric))
        assert seen >= {*ways, MIXTURE, IN_ORDER, f"{ALL_LABELS}, another threshold"}

    def test_a_way_that_looks_at_hidden_labels_finds_none(self):
        class Peeking(Method):
            def adapt(self, learner, sequence, on_step=None, workspace=None):
                assert sequence.target.labels is None
                assert sequence.late == 1
                return Adaptation(learner.fit(sequence.labelled.samples, sequence.labelled.codes(learner.classes)))

        backtest(moving(), ways={ALL_LABELS: Peeking()}, late=1)

    def test_a_lag_is_imitated_as_far_as_history_goes(self):
        path = moving(labelled=5)
        assert path.late == 1
        assert judged_windows(path, 1) == [2, 3, 4]
        assert lag_to_imitate(path, 1) == 1
        assert lag_to_imitate(path, 2) == 1
        assert lag_to_imitate(moving(n=9, labelled=8), 2) == 2
        found = backtest(path, late=2)
        assert (found.late, found.asked_late) == (1, 2)
        assert "history is too short to measure at that" in found.sentence

    def test_rows_without_a_label_are_not_judged(self):
        path = moving()
        labels = path[3].labels.astype(object)
        labels[::2] = None
        gappy = DomainSequence([*path[:3], Domain(path[3].samples, labels, name="w3"), *path[4:]])
        found = backtest(gappy)
        assert [len(forecast.codes) for forecast in found.forecasts] == [ROWS, ROWS, ROWS // 2, ROWS, ROWS]

    def test_processes_give_the_same(self, found):
        again = backtest(moving(), engine=Processes(2))
        for name, scores in found.scores.items():
            np.testing.assert_array_equal(again.scores[name], scores)
        assert again.sentence == found.sentence

    @pytest.mark.slow
    def test_a_cluster_of_two_nodes_gives_the_same(self, found):
        ray, cluster_utils = pytest.importorskip("ray"), pytest.importorskip("ray.cluster_utils")
        node = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
        cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=node)
        try:
            cluster.add_node(**node)
            again = backtest(moving(), engine=Ray(address=cluster.address))
        finally:
            ray.shutdown()
            cluster.shutdown()
        for one, other in zip(found.forecasts, again.forecasts, strict=True):
            for name, shares in one.shares.items():
                np.testing.assert_array_equal(other.shares[name], shares)
        assert again.sentence == found.sentence

    def test_a_store_is_asked_first_and_holds_everything(self, found):
        class Store(dict):
            def get(self, way, window):
                return super().get((way, window))

            def put(self, way, window, forecast):
                self[way, window] = forecast

        class Broken(Store):
            def put(self, way, window, forecast):
                if len(self) == 7:
                    raise KeyboardInterrupt
                super().put(way, window, forecast)

        broken = Broken()
        with pytest.raises(KeyboardInterrupt):
            backtest(moving(), store=broken)
        kept, counts = Store(broken), []
        again = backtest(moving(), store=kept, on_forecast=lambda done, total: counts.append((done, total)))
        assert counts[0] == (7, 25)
        assert again.sentence == found.sentence
        assert len(kept) == 25

    def test_a_single_window_with_labels_is_refused(self):
        with pytest.raises(InputError, match="two windows with labels"):
            backtest(moving(labelled=1))

    def test_a_reference_that_is_no_way_is_named(self):
        with pytest.raises(InputError, match="'plain' is none of the ways"):
            backtest(moving(), reference="plain")


class TestGains:
    def test_recent_labels_win_where_the_border_moves(self, found):
        assert found.best == MIXTURE
        gain = found.gains[found.best]
        assert gain.value > 0.02
        by_hand = found.scores[found.best] - found.scores[ALL_LABELS]
        known = np.isfinite(by_hand)
        assert gain.value == pytest.approx(by_hand[known].mean())
        # With a single window before it nothing is more recent than anything else.
        assert np.isnan(found.scores["last window"][0])

    @pytest.mark.parametrize("seed", range(6))
    def test_nothing_is_chosen_for_long_where_nothing_moves(self, seed):
        """A way that is taken all the same costs little: it was measured to be as good."""
        path = moving(step=0.0, seed=seed)
        learner = as_learner(LogisticRegression(), np.array(["a", "b"]))
        plain = FromHistory().adapt(learner, path).learner
        chosen = ByHistory().adapt(learner, path).learner
        fresh = np.random.default_rng(99).normal(size=(4_000, 2))
        said = [own.logits(fresh).argmax(axis=1) for own in (plain, chosen)]
        assert (said[0] == said[1]).mean() > 0.95

    def test_the_interval_is_wider_than_the_spread_between_windows(self, found):
        for name in found.ways[1:]:
            values = found.gains_by_window[name]
            spread = np.nanstd(values, ddof=1)
            assert found.gains[name].high - found.gains[name].low >= 2 * spread

    def test_what_to_expect_is_a_share(self, found):
        expected = found.expected(ALL_LABELS)
        assert 0 <= expected.low <= expected.value <= expected.high <= 1

    def test_a_way_that_cannot_run_is_told(self):
        ways = {ALL_LABELS: FromHistory(), "never": FromHistory(then=ProportionCorrection(n_folds=10_000))}
        found = backtest(moving(), ways=ways)
        assert "fewer than 10000" in found.failed["never"]
        assert found.best == ALL_LABELS


class TestMixtures:
    def test_what_was_seldom_right_counts_for_little(self, found):
        names = ["last window", ALL_LABELS]
        weights = mixture_weights(found.forecasts, names, ALL_LABELS)
        assert weights["last window"] > 0.6
        assert sum(weights.values()) == pytest.approx(1.0)
        still = backtest(moving(step=0.0))
        assert mixture_weights(still.forecasts, names, ALL_LABELS)[ALL_LABELS] > 0.5

    def test_the_model_that_is_kept_is_the_mixture_that_was_measured(self):
        """With the newest window's labels hidden, the weights are those of its forecast in the backtest."""
        path, ways = moving(labelled=N), history_ways()
        learner = as_learner(LogisticRegression(), np.array(["a", "b"]))
        forecast = backtest(path, learner).forecasts[-1]
        past = path.as_known_at(N - 1)
        kept = method_of(backtest(past, learner), MIXTURE, ways).adapt(learner, past).learner
        by_hand = kept.estimator.predict_proba(path.target.samples)
        # What counts for next to nothing is left out.
        np.testing.assert_allclose(by_hand, forecast.shares[MIXTURE], atol=0.03)

    def test_labels_that_come_too_late_to_learn_weights_from_earlier_windows(self):
        """Two windows can be judged, and none before them had its labels by then: each is weighed by the other."""
        path, ways = moving(n=8, labelled=5), history_ways()
        found = backtest(path, late=2)
        assert (found.late, found.best) == (1, MIXTURE)
        mixed = [one for one in found.forecasts if MIXTURE in one.shares]
        assert len(mixed) == 2
        for one, other in (mixed, mixed[::-1]):
            weights = mixture_weights([other], [name for name in ways if name in one.shares], ALL_LABELS, 2)
            by_hand = sum(weight * one.shares[name] for name, weight in weights.items())
            np.testing.assert_allclose(one.shares[MIXTURE], by_hand)
        # Where it helped nowhere it is not taken.
        assert backtest(moving(n=8, labelled=5, step=0.0), late=2).best == ALL_LABELS

    def test_what_was_measured_at_a_shorter_lag_does_not_speak_for_answers_that_never_differed_so(self):
        """Rows of today lie between the borders of all labels and of the newest: nearly all would be answered anew."""
        path = moving(step=0.35, n=8, labelled=5)
        learner = as_learner(LogisticRegression(), path.labelled.classes)
        assert ByHistory().adapt(learner, path).choice.best == MIXTURE
        between = Domain(np.column_stack([np.linspace(-0.55, -0.25, 200), np.zeros(200)]))
        held = ByHistory().adapt(learner, DomainSequence([*list(path)[:-1], between]))
        assert (held.choice.best, held.choice.backtest.best) == ("source", ALL_LABELS)
        assert "there about" in held.choice.sentence
        rows = path.labelled
        plain = learner.fit(rows.samples, rows.codes(learner.classes))
        np.testing.assert_array_equal(held.learner.logits(between.samples), plain.logits(between.samples))
        # With the real lag imitated, the windows speak for themselves.
        in_time = DomainSequence([*list(moving(step=0.35, n=8, labelled=7))[:-1], between])
        assert ByHistory().adapt(learner, in_time).choice.backtest.held_back == ""

    def test_labels_that_come_late_say_less(self, found):
        names = [ALL_LABELS, "last window"]
        weights = [mixture_weights(found.forecasts, names, ALL_LABELS, late)["last window"] for late in (0, 2, 100)]
        assert weights == sorted(weights, reverse=True)

    def test_rows_in_order_are_asked_for_only_where_that_gains(self):
        assert backtest(moving(), ways=history_ways(in_order=True)).best == MIXTURE
        rng = np.random.default_rng(0)
        domains = []
        for _ in range(6):
            move, level = rng.normal(size=600), np.cumsum(rng.normal(size=600)) * 0.5
            domains.append(Domain((move + level)[:, None], (move > 0).astype(int)))
        assert backtest(DomainSequence(domains), ways=history_ways(in_order=True)).best == IN_ORDER

    def test_an_encoder_or_a_way_that_cannot_be_mixed_is_told(self):
        class Other:
            estimator = None

        with pytest.raises(InputError, match="it cannot be mixed"):
            Mixture((FromHistory(),), (1.0,)).adapt(Other(), moving())


class TestWays:
    def test_classifiers_without_weights_learn_from_drawn_rows(self):
        path = moving()
        learner = as_learner(KNeighborsClassifier(), np.array(["a", "b"]))
        one, other = (FromHistory(HalfLife(0.5), seed=seed).adapt(learner, path).learner for seed in (0, 0))
        rows = path.target.samples
        np.testing.assert_array_equal(one.logits(rows), other.logits(rows))
        assert FromHistory(LastWindows(2)).adapt(learner, path).learner.estimator.n_samples_fit_ == 2 * ROWS

    def test_windows_in_their_own_scale(self):
        rng = np.random.default_rng(0)
        parts = []
        for place in range(4):
            y = rng.integers(0, 2, ROWS)
            x = (rng.normal(size=(ROWS, 1)) + 3.0 * y[:, None]) * 3.0**place + 50.0 * place
            parts.append((x, y))
        path = DomainSequence([*(Domain(x, y) for x, y in parts[:3]), Domain(parts[3][0])])
        learner = as_learner(LogisticRegression(), np.array([0, 1]))
        plain, scaled = (way.adapt(learner, path).learner for way in (FromHistory(), FromHistory(align=OwnScale())))
        right = [(own.logits(parts[3][0]).argmax(axis=1) == parts[3][1]).mean() for own in (plain, scaled)]
        assert right[0] < 0.7 < 0.9 < right[1]

    def test_a_window_of_one_class_is_refused(self):
        rows = np.arange(8.0)[:, None]
        path = DomainSequence([Domain(rows, [0, 1] * 4), Domain(rows, [1] * 8), Domain(rows)])
        with pytest.raises(InputError, match="a single class"):
            FromHistory(LastWindows(1)).adapt(as_learner(LogisticRegression(), np.array([0, 1])), path)

    @pytest.mark.parametrize("windows", [0.0, -1.0, float("nan")])
    def test_half_lives_that_make_no_sense(self, windows):
        with pytest.raises(InputError, match="half-life must be a number of windows above 0"):
            HalfLife(windows)


class TestMetrics:
    @pytest.fixture
    def drawn(self):
        rng = np.random.default_rng(1)
        codes = (rng.random(400) < 0.2).astype(int)
        score = 1 / (1 + np.exp(-(rng.normal(size=400) + 1.5 * codes - 1.5)))
        return np.column_stack([1 - score, score]), codes

    def test_as_scikit_learn_counts(self, drawn):
        shares, codes = drawn
        said = shares.argmax(axis=1)
        expected = {
            "balanced_accuracy": balanced_accuracy_score(codes, said),
            "f1": f1_score(codes, said),
            "f1_macro": f1_score(codes, said, average="macro"),
            "roc_auc": roc_auc_score(codes, shares[:, 1]),
            "average_precision": average_precision_score(codes, shares[:, 1]),
            "neg_log_loss": -log_loss(codes, shares),
        }
        for name, value in expected.items():
            assert Metric(name).of(shares, codes) == pytest.approx(value), name

    def test_the_rarer_class_is_looked_for(self, drawn):
        shares, codes = drawn
        turned = Metric("average_precision").for_labels(1 - codes, ["no", "yes"])
        assert turned.positive == 0
        assert turned.of(shares[:, ::-1], 1 - codes) == pytest.approx(Metric("average_precision").of(shares, codes))

    def test_costs_change_the_answers(self, drawn, tmp_path):
        shares, codes = drawn
        (tmp_path / "c.csv").write_text("true,yes,no\nyes,0,10\nno,1,0\n")
        metric = Metric.from_word(f"cost:{tmp_path / 'c.csv'}").for_labels(codes, ["no", "yes"])
        answers = metric.answers(shares)
        np.testing.assert_array_equal(answers, shares[:, 1] * 10 > shares[:, 0])
        by_hand = np.where(codes == 1, np.where(answers == 1, 0, 10), np.where(answers == 1, 1, 0)).mean()
        assert metric.of(shares, codes) == pytest.approx(-by_hand)

    @pytest.mark.parametrize(
        ("word", "message"),
        [
            ("acuracy", "there is no metric 'acuracy'"),
            ("r2", "there is no metric 'r2'"),
            ("adjusted_rand_score", "there is no metric"),
            ("cost:nowhere.csv", "is no table of costs"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, drawn, word, message):
        with pytest.raises(InputError, match=message):
            Metric.from_word(word).for_labels(drawn[1], ["no", "yes"])

    def test_metrics_of_two_classes_name_one_for_several(self):
        with pytest.raises(InputError, match="roc_auc_ovr"):
            Metric("roc_auc").for_labels(np.arange(9) % 3, ["a", "b", "c"])

    def test_a_window_of_one_class_has_no_area(self):
        assert np.isnan(Metric("roc_auc").of(np.full((4, 2), 0.5), np.zeros(4, dtype=int)))

    def test_accuracy_is_the_default_only_without_rare_classes(self):
        assert default_metric(np.arange(10) % 2, 2)[0].name == "accuracy"
        assert default_metric((np.arange(100) < 9).astype(int), 2)[0].name == "balanced_accuracy"

    def test_a_rare_class_is_chosen_for_by_its_metric(self):
        """A model that forgets the rare class is right most often, and average precision is not fooled."""
        rng = np.random.default_rng(0)
        domains = []
        for place in range(6):
            y = (rng.random(600) < 0.03).astype(int)
            x = rng.normal(size=(600, 2)) + 2.5 * y[:, None] * [np.cos(place / 2), np.sin(place / 2)]
            domains.append(Domain(x, y if place < 5 else None, name=str(place)))
        found = backtest(DomainSequence(domains), metric=Metric("average_precision"))
        assert found.best != ALL_LABELS
        assert found.gains[found.best].value > 0.05
