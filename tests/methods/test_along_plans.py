"""CoVi's mixtures drawn along a plan: who meets whom, and that it reaches the training."""

import numpy as np
import pytest
import torch

from driftfit import Domain, DomainSequence
from driftfit.datasets.toy import moving_gaussians
from driftfit.errors import InputError
from driftfit.methods import Transport, Workspace
from driftfit.methods.baselines import BaselineMethod, CoVi, DeepCoral
from driftfit.methods.baselines.loop import Partners
from driftfit.models.torch.classifier import TorchClassifier
from driftfit.models.torch.training import Adam
from driftfit.transport import Plan, Sinkhorn, transport

PATH = moving_gaussians((0, 0.7, 1.4), n_samples=64)
CPU = torch.device("cpu")


def fitted(path, epochs=20):
    network = TorchClassifier(epochs=epochs, batch_size=32, optimiser=Adam(1e-2, 0.0), random_state=0, device="cpu")
    return network.make_learner(np.array([0, 1])).fit(path.source.samples, path.source.labels)


class TestPartners:
    def test_a_permutation_gives_everybody_the_one_partner(self, rng):
        order = rng.permutation(50)
        plan = Plan(order, np.arange(50), np.full(50, 0.02), (50, 50))
        partners = Partners(plan, 0, CPU)
        for number in (1, 2):
            assert partners.of(torch.arange(50), number).tolist() == order.tolist()

    def test_they_are_drawn_by_mass_and_anew_in_each_pass(self):
        plan = Plan(np.array([0, 1, 2, 2]), np.array([0, 0, 0, 1]), np.array([0.1, 0.3, 0.1, 0.5]), (3, 2))
        partners = Partners(plan, 0, CPU)
        drawn = np.array([partners.of(torch.arange(2), number).tolist() for number in range(1, 2_001)])
        shares = np.bincount(drawn[:, 0], minlength=3) / 2_000
        np.testing.assert_allclose(shares, [0.2, 0.6, 0.2], atol=0.04)
        assert set(drawn[:, 1]) == {2}
        same = partners.of(torch.arange(2), 7)
        assert torch.equal(same, partners.of(torch.arange(2), 7))

    def test_what_lost_its_mass_meets_anybody(self):
        plan = Plan(np.array([1, 1]), np.array([0, 3]), np.array([0.5, 0.5]), (4, 5))
        partners = Partners(plan, 0, CPU)
        drawn = np.array([partners.of(torch.arange(5), number).tolist() for number in range(1, 201)])
        assert set(drawn[:, 0]) == set(drawn[:, 3]) == {1}
        assert all(set(drawn[:, column]) == {0, 1, 2, 3} for column in (1, 2, 4))

    @pytest.mark.parametrize("seed", range(5))
    def test_every_pair_is_one_of_the_plan(self, seed):
        rng = np.random.default_rng(seed)
        plan = transport(rng.normal(size=(40, 2)), rng.normal(size=(70, 2)), solver=Sinkhorn(epsilon=0.3))
        joined = {*zip(plan.rows.tolist(), plan.cols.tolist(), strict=True)}
        partners = Partners(plan, seed, CPU)
        for number in range(1, 30):
            met = partners.of(torch.arange(70), number).tolist()
            assert joined.issuperset(zip(met, range(70), strict=True))


def test_batches_meet_along_the_plan():
    seen = []

    class Watched(CoVi):
        def loss(self, pair):
            seen.append((pair.x0, pair.y0, pair.x1))
            return super().loss(pair)

    path = DomainSequence([PATH[0], Domain(PATH[0].samples[::-1] + 7.0)])
    learner = fitted(path, 1)
    BaselineMethod(Watched(), transport=Transport(), epochs=2).adapt(learner, path)
    labels = dict(zip(map(tuple, PATH[0].samples.tolist()), PATH[0].labels, strict=True))
    assert len(seen) == 2 * 2
    for x0, y0, x1 in seen:
        # The optimal plan of a moved cloud joins each sample with its own image.
        torch.testing.assert_close(x0 + 7.0, x1)
        assert y0.tolist() == [labels[tuple(row)] for row in x0.tolist()]


@pytest.mark.parametrize("baseline", [CoVi(), DeepCoral()], ids=lambda own: type(own).__name__)
@pytest.mark.parametrize("sequential", [False, True])
def test_it_changes_the_training_and_shares_plans(baseline, sequential):
    learner, work = fitted(PATH), Workspace()
    random = BaselineMethod(baseline, sequential=sequential, epochs=2).adapt(learner, PATH)
    method = BaselineMethod(baseline, sequential=sequential, epochs=2, transport=Transport(), feature_space=False)
    along, again = (method.adapt(learner, PATH, workspace=work) for _ in range(2))
    assert len(along.plans) == (2 if sequential else 1)
    assert along.plans[0] is again.plans[0]
    x = PATH.target.samples
    np.testing.assert_array_equal(along.learner.logits(x), again.learner.logits(x))
    assert not np.allclose(along.learner.logits(x), random.learner.logits(x))


def test_a_sample_of_each_domain_is_trained_on_where_plans_join_no_more():
    method = BaselineMethod(CoVi(), sequential=True, epochs=1, transport=Transport(max_samples=40))
    adaptation = method.adapt(fitted(PATH, 1), PATH)
    assert [record.n_samples for record in adaptation.records] == [40, 40]
    assert adaptation.plans[0].shape == (40, 40)


def test_pooled_domains_have_no_plan():
    with pytest.raises(InputError, match="joins two domains"):
        BaselineMethod(CoVi(), with_given=True, transport=Transport())
