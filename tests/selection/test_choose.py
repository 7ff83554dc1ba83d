"""Choosing the number of generated domains: no target labels, plans made once, the rule at work."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from driftfit import Domain, DomainSequence
from driftfit.datasets.toy import moving_gaussians, rotating_moons
from driftfit.errors import InputError
from driftfit.methods import GOAT, GradualSelfTraining, SelfTraining, Transport, Workspace, carry_labels
from driftfit.models import ScikitLearner
from driftfit.selection import ChosenGOAT
from driftfit.transport import Exact, Sinkhorn, SmallValueCutoff

PATH = moving_gaussians((0, 1.0, 2.0), n_samples=120)


def fitted(sequence, estimator=None):
    source = sequence.source
    classes = np.unique(source.labels)
    learner = ScikitLearner(estimator or LogisticRegression(), classes)
    return learner.fit(source.samples, np.searchsorted(classes, source.labels))


class Counting:
    """The exact solver, counting its calls."""

    def __init__(self):
        self.calls = 0

    def solve(self, problem):
        self.calls += 1
        return Exact().solve(problem)


def accuracy(adaptation, sequence):
    learner, target = adaptation.learner, sequence.target
    return float((learner.classes[learner.logits(target.samples).argmax(axis=1)] == target.labels).mean())


def test_the_winner_is_what_goat_alone_would_have_made():
    learner = fitted(PATH)
    seen = {}
    chosen = ChosenGOAT(candidates=(3, 0, 1, 1), on_candidate=seen.__setitem__).adapt(learner, PATH)
    choice = chosen.choice
    assert list(seen) == list(choice.scores) == [0, 1, 3]
    assert chosen.learner is seen[choice.n_generated].learner
    assert choice.how == "selection"
    assert choice.n_generated == max(choice.scores, key=choice.scores.get)
    for number, adaptation in seen.items():
        alone = GOAT(number).adapt(learner, PATH)
        np.testing.assert_array_equal(adaptation.learner.estimator.coef_, alone.learner.estimator.coef_)
        assert len(adaptation.plans) == len(alone.plans)
        assert [r.shift for r in adaptation.records] == pytest.approx([r.shift for r in alone.records])


def test_plans_are_made_once_and_domains_encoded_once():
    class Scaler(StandardScaler):
        calls = 0

        def transform(self, X, copy=None):
            Scaler.calls += 1
            return super().transform(X, copy)

    learner = fitted(PATH, make_pipeline(Scaler(), LogisticRegression()))
    Scaler.calls = 0
    solver = Counting()
    ChosenGOAT(GOAT(transport=Transport(solver))).adapt(learner, PATH)
    assert solver.calls == len(PATH) - 1
    assert Scaler.calls == len(PATH)


def test_target_labels_change_nothing():
    learner = fitted(PATH)
    source, *rest = PATH
    choices = [
        ChosenGOAT().adapt(learner, DomainSequence([source, *others])).choice
        for others in (rest, [d.without_labels() for d in rest], [Domain(d.samples, 1 - d.labels) for d in rest])
    ]
    for other in choices[1:]:
        assert other.scores == choices[0].scores
        assert other.n_generated == choices[0].n_generated
        np.testing.assert_array_equal(other.validation_labels, choices[0].validation_labels)


def test_steps_of_the_chosen_number_alone_are_shown():
    steps = []
    chosen = ChosenGOAT().adapt(fitted(PATH), PATH, lambda record, student: steps.append((record, student)))
    assert [record for record, _ in steps] == list(chosen.records)
    np.testing.assert_array_equal(steps[-1][1].estimator.coef_, chosen.learner.estimator.coef_)


def test_options_of_goat_reach_every_candidate():
    path = moving_gaussians((0, 1.0), n_samples=60)
    method = GradualSelfTraining(SelfTraining(drop_fraction=0.3))
    goat = GOAT(2, method, Transport(Sinkhorn(epsilon=0.05), cutoffs=(SmallValueCutoff(),)), feature_space=False)
    chosen = ChosenGOAT(goat, candidates=(2,)).adapt(fitted(path), path)
    alone = goat.adapt(fitted(path), path)
    np.testing.assert_array_equal(chosen.learner.estimator.coef_, alone.learner.estimator.coef_)
    assert chosen.records[0].kept_fraction == pytest.approx(0.7, abs=0.02)


def test_own_confidence_chooses_a_collapsed_model_where_carried_labels_do_not():
    """Of the broken rule that asks each candidate how sure it is, on a path where one step is far too long."""
    wrong, right = [], []
    for seed in range(5):
        path = moving_gaussians((0, 2.5), n_samples=300, seed=seed)
        runs = {}
        choice = ChosenGOAT(on_candidate=runs.__setitem__).adapt(fitted(path), path).choice
        truth = {number: accuracy(run, path) for number, run in runs.items()}
        sure = {
            number: np.sort(run.learner.estimator.predict_proba(path.target.samples).max(axis=1))[150:].mean()
            for number, run in runs.items()
        }
        best = max(truth.values())
        wrong.append(best - truth[max(sure, key=sure.get)])
        right.append(best - truth[choice.n_generated])
    assert np.mean(right) < 0.02
    assert np.mean(wrong) > 0.2


def test_labels_travel_along_all_plans():
    carried = Transport().couple(PATH).carried().argmax(axis=1)
    assert (carried == PATH.target.labels).mean() > 0.95
    three = DomainSequence([Domain([[0.0], [9.0]], ["a", "b"]), Domain([[10.0], [1.0]]), Domain([[2.0], [11.0]])])
    plans = Transport().couple(three).plans
    assert carry_labels(three.source, plans).tolist() == [[1, 0], [0, 1]]
    wide = carry_labels(three.source, plans, np.array(["a", "b", "c"]))
    assert wide.tolist() == [[1, 0, 0], [0, 1, 0]]


def test_a_workspace_shares_plans_between_methods():
    moons = rotating_moons((0, 20, 40), n_samples=40)
    learner, work = fitted(moons), Workspace()
    one, two = (GOAT(number).adapt(learner, moons, workspace=work) for number in (1, 2))
    assert all(a is b for a, b in zip(one.plans, two.plans, strict=True))
    alone = GOAT(2).adapt(learner, moons)
    assert alone.plans[0] is not two.plans[0]
    np.testing.assert_array_equal(alone.learner.estimator.coef_, two.learner.estimator.coef_)


def test_a_huge_sequence_gets_its_number_by_the_rule():
    learner = fitted(PATH)
    for ratio, number in ((None, 3), (float("nan"), 3), (0.1, 1), (0.9, 3), (50.0, 8)):
        chosen = ChosenGOAT(max_values=10, largest_ratio=ratio).adapt(learner, PATH)
        assert (chosen.choice.n_generated, chosen.choice.how, chosen.choice.scores) == (number, "rule", {})
        assert len(chosen.records) == 2 * (number + 1)
    assert ChosenGOAT(max_values=10**9).adapt(learner, PATH).choice.how == "selection"


@pytest.mark.parametrize("candidates", [(), (-1,), (1.5,), "auto", 3, (True,)])
def test_candidates_are_checked(candidates):
    with pytest.raises(InputError, match="candidates"):
        ChosenGOAT(candidates=candidates)
