"""Candidates that cannot be told apart: who takes part, by how much, and what they say together."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from driftfit import AutoAdaptedClassifier, Domain, DomainSequence
from driftfit.datasets.toy import moving_gaussians, rotating_moons
from driftfit.errors import InputError
from driftfit.methods import Adaptation, Method
from driftfit.models import as_learner
from driftfit.selection import Chosen, Committee, NeighbourInformation, choose, standard_candidates
from driftfit.selection.neighbours import named_information, shared_information


@dataclass(frozen=True, eq=False)
class Says(Method):
    """A method whose model gives these labels to the target. It remembers them."""

    labels: np.ndarray

    def adapt(self, learner, sequence, on_step=None, workspace=None):
        return Adaptation(learner.fit(sequence.target.samples, self.labels), records=())


class Table(LogisticRegression):
    """Remembers what it was told, row by row, and never learns anything else."""

    def fit(self, X, y, sample_weight=None):
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        self.classes_ = np.unique(y)
        self.rows_ = {}
        for row, label, weight in zip(map(bytes, np.ascontiguousarray(X)), y, weights, strict=True):
            self.rows_.setdefault(row, np.zeros(len(self.classes_)))[np.searchsorted(self.classes_, label)] += weight
        self.n_features_in_ = X.shape[1]
        return self

    def predict_proba(self, X):
        flat = np.ones(len(self.classes_))
        found = np.array([self.rows_.get(bytes(row), flat) for row in np.ascontiguousarray(X)]) + 1e-9
        return found / found.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.fixture
def path():
    """Two clear classes of 400 rows each, moved a little."""
    return moving_gaussians((0, 0.2), n_samples=800, seed=3)


def with_errors(labels, share, seed):
    rng = np.random.default_rng(seed)
    found = labels.copy()
    rows = rng.permutation(len(labels))[: round(share * len(labels))]
    found[rows] = 1 - found[rows]
    return found


def chosen(path, candidates, **options):
    truth = path.target.labels
    learner = as_learner(Table(), np.unique(truth)).fit(path.source.samples, path.source.codes())
    return Chosen(candidates, guards=(), **options).adapt(learner, path)


def test_those_within_the_tolerance_answer_together(path):
    truth = path.target.labels
    # Three labellings with errors of their own: most of them are outvoted.
    candidates = {f"near {seed}": Says(with_errors(truth, 0.03, seed)) for seed in range(3)}
    candidates["far"] = Says(with_errors(truth, 0.3, 9))
    adaptation = chosen(path, candidates, committee=Committee(0.05))
    choice = adaptation.choice
    assert set(choice.members) == {"near 0", "near 1", "near 2"}
    assert sum(choice.members.values()) == pytest.approx(1.0)
    assert max(choice.members, key=choice.members.get) == choice.best
    assert list(choice.members.values()) == sorted(choice.members.values(), reverse=True)
    alone = chosen(path, candidates).learner.logits(path.target.samples).argmax(axis=1)
    together = adaptation.learner.logits(path.target.samples).argmax(axis=1)
    assert (together == truth).mean() > (alone == truth).mean() + 0.01
    assert "teach one model together" in choice.sentence
    assert "less than 5 % wrong labels" in choice.sentence


def test_weights_fall_to_nothing_at_the_end_of_the_tolerance(path):
    truth = path.target.labels
    candidates = {"right": Says(truth), "worse": Says(with_errors(truth, 0.02, 1)), "bad": Says(1 - truth)}
    weights = [chosen(path, candidates, committee=Committee(share)).choice.members for share in (0.01, 0.025, 0.1)]
    assert weights[0] == {}
    assert 0 < weights[1]["worse"] < weights[2]["worse"] < 0.5
    assert all("bad" not in own for own in weights)


def test_a_model_that_cannot_learn_it_beside_the_source_does_not_take_their_place(path):
    """The target's rows are those of the source under other labels: whoever learns both learns neither."""
    truth = 1 - path.source.codes()
    source = Domain(path.source.samples, with_errors(path.source.codes(), 0.2, 5))
    same = DomainSequence([source, Domain(path.source.samples, truth, name="again")])
    candidates = {f"near {seed}": Says(with_errors(truth, 0.02, seed)) for seed in range(2)}
    score = NeighbourInformation()
    adaptation = chosen(same, candidates, committee=Committee(0.05), score=score)
    assert adaptation.choice.best.startswith("near")
    assert adaptation.choice.members == {}
    assert "teach" not in adaptation.choice.sentence
    assert (adaptation.learner.logits(source.samples).argmax(axis=1) == truth).mean() > 0.95
    # With other rows there is nothing to contradict.
    moved = DomainSequence([source, Domain(path.source.samples + 0.01, truth, name="moved")])
    assert len(chosen(moved, candidates, committee=Committee(0.05), score=score).choice.members) == 2


def test_neighbours_are_looked_for_once(path, monkeypatch):
    from driftfit.selection import neighbours

    asked, found = [], neighbours.nearest_neighbours
    monkeypatch.setattr(neighbours, "nearest_neighbours", lambda *given: asked.append(1) or found(*given))
    truth = path.target.labels
    chosen(path, {"one": Says(truth), "same": Says(truth)}, committee=Committee(0.05))
    assert len(asked) == 2  # within the target, and in the source


def test_without_a_committee_the_best_candidate_is_taken_as_it_is(path):
    truth = path.target.labels
    candidates = {"one": Says(truth), "same": Says(truth)}
    adaptation = chosen(path, candidates)
    assert adaptation.choice.members == {}
    assert "teach one model together" not in adaptation.choice.sentence


def test_the_source_model_is_kept_without_a_committee(path):
    noise = Says(np.random.default_rng(0).integers(0, 2, len(path.target)))
    adaptation = chosen(path, {"noise": noise}, committee=Committee(0.5), score=NeighbourInformation())
    assert (adaptation.choice.best, adaptation.choice.members) == ("source", {})


@pytest.mark.parametrize("tolerance", [0.0, -0.1, 1.0, float("nan")])
def test_a_tolerance_that_is_no_share_is_refused(tolerance):
    with pytest.raises(InputError, match="tolerance must be a share"):
        Committee(tolerance)


def test_the_same_seed_gives_the_same_committee(path):
    truth = path.target.labels
    candidates = {f"near {seed}": Says(with_errors(truth, 0.03, seed)) for seed in range(3)}
    first, second = (chosen(path, candidates, committee=Committee(0.05)).choice.members for _ in range(2))
    assert first == second


class TestNames:
    def test_the_sign_says_whether_the_names_agree(self, rng):
        labels, around = rng.integers(0, 3, 300), rng.integers(0, 3, (300, 5))
        around[:, :3] = labels[:, None]
        information = shared_information(labels, around, 3)
        np.testing.assert_array_equal(named_information(labels, around, 3), information)
        np.testing.assert_allclose(named_information((labels + 1) % 3, (around + 1) % 3, 3), information)
        renamed = named_information((labels + 1) % 3, around, 3)
        np.testing.assert_array_equal(renamed, -shared_information((labels + 1) % 3, around, 3))
        assert information.mean() > 0 > renamed.mean()

    def test_no_neighbours_say_nothing(self):
        assert named_information(np.array([0]), np.empty((1, 0), dtype=np.int64), 2).tolist() == [0.0]

    def test_exchanged_classes_lose_to_right_ones_without_a_guard(self):
        path = moving_gaussians((0, 1.0, 2.0, 3.0), seed=1)
        truth = path.target.labels
        choice = choose({"exchanged": Says(1 - truth), "right": Says(truth)}, path, guards=(), cautious=False)
        assert choice.best == "right"
        assert choice.scores["exchanged"] < choice.scores["right"] - 1.0


class TestGivenDomains:
    def test_moons_that_turn_in_steps_are_followed(self):
        """Ends alone are ambiguous: the moon that lies nearer to the source's is the other one."""
        path = rotating_moons((0, 20, 40, 60), seed=1)
        source = path.source
        learner = as_learner(SVC(), source.classes).fit(source.samples, source.codes())
        adaptation = Chosen(standard_candidates(), run_all=True).adapt(learner, path)
        scores = adaptation.choice.scores
        assert adaptation.choice.best in ("GOAT", "gradual self-training")
        assert (adaptation.learner.logits(path.target.samples).argmax(axis=1) == path.target.labels).mean() > 0.95
        # It joins each moon with the other one.
        assert scores["carried by structure"] < scores["GOAT"] - 0.5

    def test_labels_of_given_domains_are_never_looked_at(self):
        path = moving_gaussians((0, 1.0, 2.0), seed=0)
        false = DomainSequence([path.source, *(Domain(d.samples, 1 - d.labels, name=d.name) for d in path[1:])])
        candidates = {"right": Says(path.target.labels)}
        assert choose(candidates, path).scores == choose(candidates, false).scores


def test_networks_answer_together_and_others_do_not():
    assert not AutoAdaptedClassifier(LogisticRegression())._default_method().otherwise.networks
    torch_classifier = pytest.importorskip("driftfit.models.torch.classifier").TorchClassifier
    assert AutoAdaptedClassifier(torch_classifier())._default_method().otherwise.networks
