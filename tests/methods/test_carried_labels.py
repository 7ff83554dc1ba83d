"""Carried labels: what is trained on, along which plans, and in which company."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from driftfit import Domain, DomainSequence
from driftfit.datasets.toy import moving_gaussians
from driftfit.errors import InputError
from driftfit.methods import (
    ByConfusion,
    ByLikelihood,
    CarriedLabels,
    GivenProportions,
    Relabelling,
    Transport,
    Workspace,
)
from driftfit.models import ScikitLearner
from driftfit.transport import Exact

PATH = moving_gaussians((0, 1.5, 3.0), n_samples=120)


class Remembers(LogisticRegression):
    """Logistic regression that shows what it was fitted on."""

    seen = ()

    def fit(self, X, y, sample_weight=None):
        Remembers.seen = (*Remembers.seen, (np.asarray(X), np.asarray(y), sample_weight))
        return super().fit(X, y, sample_weight)


class Counting:
    def __init__(self):
        self.calls = 0

    def solve(self, problem):
        self.calls += 1
        return Exact().solve(problem)


def fitted(sequence, estimator=None):
    source = sequence.source
    Remembers.seen = ()
    learner = ScikitLearner(estimator or Remembers(), source.classes).fit(source.samples, source.codes())
    Remembers.seen = ()
    return learner


def accuracy(adaptation, sequence):
    labels = adaptation.learner.classes[adaptation.learner.logits(sequence.target.samples).argmax(axis=1)]
    return float((labels == sequence.target.labels).mean())


def test_direct_makes_one_plan_and_along_one_for_each_pair():
    for direct, calls in ((True, 1), (False, 2)):
        solver = Counting()
        adaptation = CarriedLabels(Transport(solver), direct=direct).adapt(fitted(PATH), PATH)
        assert (solver.calls, len(adaptation.plans)) == (calls, calls)
    ends = DomainSequence([PATH[0], PATH[2]])
    alone = CarriedLabels().adapt(fitted(ends), ends)
    np.testing.assert_array_equal(alone.carried, CarriedLabels(direct=True).adapt(fitted(PATH), PATH).carried)


def test_direct_and_other_methods_share_a_workspace():
    solver, work = Counting(), Workspace()
    transport = Transport(solver)
    learner = fitted(PATH)
    for method in (CarriedLabels(transport, direct=True), CarriedLabels(transport, direct=True, joint=True)):
        method.adapt(learner, PATH, workspace=work)
    assert solver.calls == 1


def test_fresh_trains_on_the_target_and_joint_on_both():
    learner = fitted(PATH)
    fresh = CarriedLabels().adapt(learner, PATH)
    joint = CarriedLabels(joint=True).adapt(learner, PATH)
    (x0, y0, _), (x1, y1, w1) = Remembers.seen
    np.testing.assert_array_equal(x0, PATH.target.samples)
    np.testing.assert_array_equal(y0, fresh.carried.argmax(axis=1))
    np.testing.assert_array_equal(x1, np.concatenate([PATH.source.samples, PATH.target.samples]))
    np.testing.assert_array_equal(y1, np.concatenate([PATH.source.labels, y0]))
    assert w1 is None
    assert joint.records[0].n_samples == len(PATH.target)


def test_weights_of_both_domains_have_mean_one():
    source, target = PATH[0], PATH[2]
    heavy = np.arange(1.0, len(target) + 1)
    path = DomainSequence([Domain(source.samples[:60], source.labels[:60]), Domain(target.samples, weights=heavy)])
    CarriedLabels(joint=True).adapt(fitted(path), path)
    ((_, _, weights),) = Remembers.seen
    weights = weights / weights[0]
    np.testing.assert_allclose(weights[:60], 1.0)
    np.testing.assert_allclose(weights[60:], heavy / heavy.mean())


def test_relabelling_replaces_the_labels_of_the_surest_share():
    learner = fitted(PATH)
    seen = []
    method = CarriedLabels(relabelling=Relabelling(2, share=0.75))
    adaptation = method.adapt(learner, PATH, lambda record, student: seen.append((record, student)))
    assert [record.step for record in adaptation.records] == [1, 2, 3]
    assert [record for record, _ in seen] == list(adaptation.records)
    (_, carried, _), (_, again, _), _ = Remembers.seen
    said = seen[0][1].logits(PATH.target.samples)
    sure = np.sort(said.max(axis=1))[-int(0.75 * len(said))]
    np.testing.assert_array_equal(again, np.where(said.max(axis=1) >= sure, said.argmax(axis=1), carried))


@pytest.mark.parametrize("seed", range(3))
def test_relabelling_mends_labels_that_were_carried_wrong(seed):
    path = moving_gaussians((0, 2.0), n_samples=400, seed=seed)

    class Spoilt:
        def solve(self, problem):
            solution = Exact().solve(problem)
            rng = np.random.default_rng(seed)
            cols = solution.cols.copy()
            wrong = rng.choice(len(cols), len(cols) // 2, replace=False)
            cols[wrong] = cols[rng.permutation(wrong)]
            return type(solution)(solution.rows, cols, solution.mass)

    CarriedLabels(Transport(Spoilt(), certified=False), relabelling=Relabelling()).adapt(fitted(path), path)
    before, after = (float((labels == path.target.labels).mean()) for _, labels, _ in Remembers.seen)
    assert before < 0.85
    assert after > before + 0.08


def test_mixup_reaches_the_learner_and_is_refused_by_others():
    learner = fitted(PATH)
    mixture = CarriedLabels(mixup=0.5).adapt(learner, PATH)
    ((x, _, weights),) = Remembers.seen
    assert len(x) > 2 * len(PATH.target)
    assert weights is not None
    assert accuracy(mixture, PATH) > 0.95
    with pytest.raises(InputError, match="does not take"):
        CarriedLabels(mixup=0.5).adapt(fitted(PATH, KNeighborsClassifier()), PATH)


def test_the_encoder_is_trained_anew_and_couples_meanwhile():
    learner = fitted(PATH, make_pipeline(StandardScaler(), LogisticRegression()))
    coded = CarriedLabels().adapt(learner, PATH)
    plain = CarriedLabels(feature_space=False).adapt(learner, PATH)
    assert coded.plans[0].cost != pytest.approx(plain.plans[0].cost)
    np.testing.assert_allclose(coded.learner.estimator[0].mean_, PATH.target.samples.mean(axis=0))


def test_networks_on_tensors_stay_where_they_are():
    torch = pytest.importorskip("torch")
    from driftfit.models.torch.classifier import TorchClassifier
    from driftfit.models.torch.training import Adam

    domains = [Domain(torch.from_numpy(d.samples).float(), d.labels, name=d.name) for d in PATH]
    path = DomainSequence(domains)
    learner = TorchClassifier(epochs=60, optimiser=Adam(2e-2, 0.0), random_state=0, device="cpu").make_learner(
        np.array([0, 1])
    )
    learner = learner.fit(path.source.samples, path.source.codes())
    adaptation = CarriedLabels(mixup=0.5, relabelling=Relabelling()).adapt(learner, path)
    assert accuracy(adaptation, path) > 0.95
    assert len(adaptation.records) == 2
    near = DomainSequence([domains[0], Domain(domains[0].samples + 0.5)])
    joint = CarriedLabels(joint=True, mixup=0.5).adapt(learner, near)
    assert accuracy(joint, DomainSequence([domains[0], domains[0]])) > 0.9


def test_labels_of_the_target_change_nothing():
    learner = fitted(PATH)
    other = DomainSequence([PATH[0], *(Domain(d.samples, 1 - d.labels, name=d.name) for d in PATH[1:])])
    method = CarriedLabels(joint=True, relabelling=Relabelling())
    one, two = (method.adapt(learner, path).learner.estimator.coef_ for path in (PATH, other))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    "options", [{"mixup": 0.0}, {"mixup": float("nan")}, {"refit": False, "joint": True}, {"refit": False, "mixup": 1}]
)
def test_wrong_options_are_refused(options):
    with pytest.raises(InputError):
        CarriedLabels(**options)


@pytest.mark.parametrize(("rounds", "share"), [(0, 0.9), (1, 0.0), (1, 1.1)])
def test_wrong_relabelling_is_refused(rounds, share):
    with pytest.raises(InputError):
        Relabelling(rounds, share)


class TestProportions:
    """A plan moves all mass: with other proportions it must put labels where they do not belong."""

    @staticmethod
    def path(seed=0, rare=40, n=300):
        source, target = moving_gaussians((0, 0.3), n_samples=n, seed=seed)
        kept = np.r_[np.flatnonzero(target.labels == 0), np.flatnonzero(target.labels == 1)[:rare]]
        return DomainSequence([source, target.take(kept)])

    @pytest.mark.parametrize("estimator", [ByLikelihood(10), ByConfusion(10)], ids=lambda own: type(own).__name__)
    def test_labels_of_a_class_that_shrank_stay_with_it(self, estimator):
        path = self.path()
        truth = path.target.labels
        plain = CarriedLabels().adapt(fitted(path), path)
        corrected = CarriedLabels(proportions=estimator).adapt(fitted(path), path)
        before, after = ((own.carried.argmax(axis=1) == truth).mean() for own in (plain, corrected))
        assert before < 0.75
        assert after > 0.95

    def test_a_joint_training_weighs_the_source_so(self):
        path = self.path()
        shares = np.bincount(path.target.labels) / len(path.target)
        CarriedLabels(joint=True, proportions=GivenProportions(tuple(shares))).adapt(fitted(path), path)
        weights = Remembers.seen[-1][2][: len(path.source)]
        share = weights[path.source.labels == 1].sum() / weights.sum()
        assert share == pytest.approx(shares[1])

    def test_the_plan_has_these_marginals_in_any_space(self):
        path = self.path()
        for feature_space in (True, False):
            model = make_pipeline(StandardScaler(), LogisticRegression())
            method = CarriedLabels(proportions=GivenProportions((0.9, 0.1)), feature_space=feature_space)
            plan = method.adapt(fitted(path, model), path).plans[0]
            assert plan.row_mass()[path.source.labels == 1].sum() == pytest.approx(0.1)

    def test_an_estimate_that_tells_nothing_changes_nothing(self):
        rng = np.random.default_rng(0)
        source = Domain(rng.normal(size=(200, 2)), np.arange(200) % 2)
        path = DomainSequence([source, Domain(rng.normal(size=(60, 2)))])
        plain = CarriedLabels().adapt(fitted(path), path)
        same = CarriedLabels(proportions=ByLikelihood(20)).adapt(fitted(path), path)
        np.testing.assert_array_equal(plain.carried, same.carried)

    def test_given_domains_need_a_direct_plan(self):
        with pytest.raises(InputError, match="direct=True"):
            CarriedLabels(proportions=ByLikelihood()).adapt(fitted(PATH), PATH)
        CarriedLabels(proportions=GivenProportions((0.5, 0.5)), direct=True).adapt(fitted(PATH), PATH)
