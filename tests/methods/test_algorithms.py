"""Pseudo-labels, self-training, gradual self-training and GOAT as values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from driftfit import Domain, DomainSequence, GOATClassifier
from driftfit.datasets.toy import moving_gaussians, rotating_moons
from driftfit.errors import InputError
from driftfit.methods import (
    GOAT,
    Adaptation,
    GradualSelfTraining,
    PathStep,
    SelfTraining,
    Transport,
    generate_path,
    given_path,
    logit_range,
    margin,
    pseudo_label,
    top_probability,
)
from driftfit.models import ScikitLearner
from driftfit.transport import ConfidenceCutoff, OracleCoupling, Sinkhorn, SmallValueCutoff, wasserstein


def fitted(sequence, estimator=None):
    source = sequence.source
    classes = np.unique(source.labels)
    learner = ScikitLearner(estimator or LogisticRegression(), classes)
    return learner.fit(source.samples, np.searchsorted(classes, source.labels))


class FixedLogits:
    """A teacher that says what it is told to."""

    def __init__(self, logits):
        self.table = np.asarray(logits, dtype=float)
        self.classes = np.arange(self.table.shape[1])
        self.takes_weights = True
        self.seen = None

    def logits(self, samples):
        return self.table

    def place(self, samples):
        return samples

    def refit(self, samples, labels, weights=None):
        self.seen = samples, labels, weights
        return self


class TestPseudoLabels:
    def test_confidences(self):
        logits = np.log([[0.7, 0.2, 0.1], [0.4, 0.35, 0.25]])
        assert top_probability(logits) == pytest.approx([0.7, 0.4])
        assert logit_range(logits) == pytest.approx(np.log([7, 1.6]))
        assert margin(logits) == pytest.approx(np.log([3.5, 0.4 / 0.35]))

    @given(st.integers(2, 60), st.integers(0, 99).map(lambda percent: percent / 100))
    def test_the_least_confident_share_is_dropped(self, n, fraction):
        logits = np.column_stack([np.zeros(n), np.random.default_rng(n).permutation(n) / 7 + 0.1])
        labels = pseudo_label(FixedLogits(logits), np.zeros((n, 1)), fraction)
        assert labels.kept.sum() == n - int(np.ceil(fraction * (n - 1) - 1e-9))
        dropped = ~labels.kept
        assert not dropped.any() or labels.confidence[dropped].max() < labels.confidence[labels.kept].min()

    def test_ties_are_kept_and_shares_sum_to_one(self):
        labels = pseudo_label(FixedLogits(np.ones((8, 3))), np.zeros((8, 1)), 0.5)
        assert labels.kept.all()
        assert labels.shares == pytest.approx(np.full((8, 3), 1 / 3))


class TestSelfTraining:
    teacher_logits = np.log([[0.9, 0.1], [0.2, 0.8], [0.45, 0.55], [0.7, 0.3]])

    def step(self, **options):
        teacher = FixedLogits(self.teacher_logits)
        domain = Domain([[0.0], [1.0], [2.0], [3.0]], weights=options.pop("weights", None))
        SelfTraining(**options).step(teacher, PathStep(domain, 1.0, False, None), 1)
        return teacher.seen

    def test_hard_labels_of_the_confident(self):
        samples, labels, weights = self.step(drop_fraction=0.25)
        assert samples.ravel().tolist() == [0, 1, 3]
        assert labels.tolist() == [0, 1, 0]
        assert weights is None

    def test_soft_labels(self):
        _, labels, _ = self.step(drop_fraction=0.0, soft_labels=True)
        assert labels == pytest.approx(np.exp(self.teacher_logits))

    @pytest.mark.parametrize(("use", "seen"), [(None, True), (True, True), (False, False)])
    def test_weights_in_the_loss(self, use, seen):
        _, _, weights = self.step(drop_fraction=0.0, use_weights=use, weights=[1, 1, 1, 5])
        assert (weights is not None) == seen
        if seen:
            assert weights == pytest.approx([0.125, 0.125, 0.125, 0.625])

    def test_one_class_left_teaches_nothing(self):
        teacher = FixedLogits(np.log([[0.9, 0.1]] * 3))
        student, record = SelfTraining().step(teacher, PathStep(Domain(np.zeros((3, 1))), 1.0, False, None), 1)
        assert student is teacher
        assert teacher.seen is None
        assert record.class_shares == (1.0, 0.0)

    def test_the_record_tells_the_step(self):
        sequence = moving_gaussians((0, 1), n_samples=100)
        path = given_path(sequence.masked())
        teacher = fitted(sequence)
        student, record = SelfTraining(0.2).step(teacher, path.steps[0], 7)
        before, after = (model.logits(sequence.target.samples).argmax(1) for model in (teacher, student))
        assert record.step == 7
        assert record.kept_fraction == pytest.approx(0.8)
        assert record.changed_fraction == pytest.approx(np.mean(before != after))
        assert record.mean_confidence == pytest.approx(top_probability(teacher.logits(sequence.target.samples)).mean())
        assert record.shift == pytest.approx(wasserstein(sequence.source.samples, sequence.target.samples))
        assert sum(record.class_shares) == pytest.approx(1.0)


class TestPath:
    def test_positions_names_and_shifts(self):
        sequence = moving_gaussians((0, 1, 3), n_samples=60)
        path = generate_path(Transport().couple(sequence), 1)
        assert [step.position for step in path.steps] == [0.25, 0.5, 0.75, 1.0]
        assert [step.generated for step in path.steps] == [True, False, True, False]
        assert path.steps[0].domain.name == "0>1@0.50"
        assert [step.shift for step in path.steps] == pytest.approx(
            [np.sqrt(plan.cost) / 2 for plan in path.plans for _ in range(2)]
        )
        assert len(path.domains) == 5

    def test_real_domains_end_each_stretch_untouched(self):
        sequence = moving_gaussians((0, 1, 3), n_samples=40)
        path = generate_path(Transport().couple(sequence), 3)
        assert path.steps[3].domain.samples is sequence[1].samples
        assert path.steps[-1].domain.samples is sequence.target.samples

    def test_no_label_but_the_sources_is_on_the_path(self):
        path = generate_path(Transport().couple(moving_gaussians((0, 1, 3), n_samples=40)), 2)
        assert all(step.domain.labels is None for step in path.steps)

    def test_nothing_generated_is_the_given_path(self):
        sequence = moving_gaussians((0, 1, 2), n_samples=40)
        coupled = Transport().couple(sequence)
        assert [step.domain.name for step in generate_path(coupled, 0).steps] == ["1", "2"]
        assert generate_path(coupled, 0).plans == ()
        assert [step.shift for step in generate_path(coupled, 0).steps] == pytest.approx(
            [step.shift for step in given_path(sequence).steps]
        )

    def test_weights_carry_over(self, rng):
        x0, x1 = rng.normal(size=(20, 2)), rng.normal(size=(13, 2))
        w0 = rng.random(20)
        sequence = DomainSequence([Domain(x0, np.arange(20) % 2, w0), Domain(x1)])
        path = generate_path(Transport().couple(sequence), 1)
        middle = path.steps[0].domain
        assert middle.weights @ middle.samples == pytest.approx(0.5 * w0 @ x0 / w0.sum() + 0.5 * x1.mean(0))

    def test_labels_travel_along_the_plans_for_the_confidence_cutoff(self):
        sequence = moving_gaussians((0, 1, 2), n_samples=60)
        cutoffs = (SmallValueCutoff(), ConfidenceCutoff(0.9))
        path = generate_path(Transport(Sinkhorn(0.05), cutoffs=cutoffs).couple(sequence), 1)
        assert all(0 < plan.lost_mass < 0.9 for plan in path.plans)
        assert all(len(plan) <= 120 for plan in path.plans)

    @pytest.mark.parametrize("bad", [-1, 2.5, True, "auto", None])
    def test_bad_counts(self, bad):
        with pytest.raises(InputError, match="n_generated"):
            GOAT(bad)


class TestGOAT:
    def test_by_hand(self):
        """Two points per class on a line: the boundary must move with the clouds, step by step."""
        x0, move = np.array([[0.0], [1.0], [4.0], [5.0]]), 6.0
        sequence = DomainSequence([Domain(x0, [0, 0, 1, 1]), Domain(x0 + move)])
        step = SelfTraining(drop_fraction=0.0)
        model = LogisticRegression(C=100.0)
        goat = GOAT(n_generated=5, gradual=GradualSelfTraining(step)).adapt(fitted(sequence, model), sequence)
        direct = GOAT(n_generated=0, gradual=GradualSelfTraining(step)).adapt(fitted(sequence, model), sequence)
        assert goat.learner.logits(x0 + move).argmax(1).tolist() == [0, 0, 1, 1]
        assert direct.learner.logits(x0 + move).argmax(1).tolist() == [1, 1, 1, 1]
        boundary = -goat.learner.estimator.intercept_[0] / goat.learner.estimator.coef_[0, 0]
        assert boundary == pytest.approx(2.5 + move, abs=0.1)

    def test_a_true_pairing_is_no_worse_than_a_wrong_one(self):
        sequence = moving_gaussians((0, 4), n_samples=200)
        order = np.random.default_rng(0).permutation(200)
        ids = np.arange(200)
        accuracy = {}
        by_label = np.argsort(sequence.source.labels, kind="stable"), np.argsort(sequence.target.labels, kind="stable")
        ranks = [np.argsort(o) for o in by_label]
        for name, solver in {
            "true": OracleCoupling(ranks[0], ranks[1]),
            "wrong": OracleCoupling(ids, order),
        }.items():
            learner = GOAT(14, transport=Transport(solver)).adapt(fitted(sequence), sequence).learner
            accuracy[name] = np.mean(learner.logits(sequence.target.samples).argmax(1) == sequence.target.labels)
        assert accuracy["true"] > 0.95
        assert accuracy["wrong"] < 0.8

    def test_target_labels_change_nothing(self):
        honest = rotating_moons((0, 20, 40), n_samples=80)
        rng = np.random.default_rng(0)
        lying = DomainSequence(
            [honest.source, *(Domain(d.samples, rng.integers(0, 2, len(d)), name=d.name) for d in honest[1:])]
        )
        models = [GOATClassifier(n_generated=2).fit_path(sequence).estimator_ for sequence in (honest, lying)]
        assert (models[0].coef_ == models[1].coef_).all()

    def test_any_other_method_runs_on_the_generated_path(self):
        class OnlyTheLast:
            """A 'gradual' method of one's own: self-train on the target, ignore the way."""

            def along(self, learner, path, on_step=None):
                student, record = SelfTraining().step(learner, path.steps[-1], 1)
                return Adaptation(student, (record,), path.plans)

        sequence = moving_gaussians((0, 1), n_samples=80)
        clf = GOATClassifier(n_generated=3, method=OnlyTheLast()).fit_path(sequence)
        assert len(clf.path_) == 1
        assert len(clf.plans_) == 1
