"""The baselines: losses in closed form, the paired loop, and that each one's alignment is what helps."""

from copy import deepcopy
from itertools import permutations

import numpy as np
import pytest
import torch
from scipy.optimize import linprog
from torch import nn

from driftfit import Domain, DomainSequence, TorchClassifier
from driftfit.datasets.toy import moving_gaussians
from driftfit.errors import InputError
from driftfit.methods.baselines import (
    DANN,
    SCORES,
    BaselineMethod,
    CoVi,
    DeepCoral,
    DeepJDOT,
    Pair,
    PairedTrainer,
    TargetStatistics,
)
from driftfit.methods.baselines.coral import coral_loss
from driftfit.methods.baselines.covi import RATIOS, consensus_labels, mix, most_uncertain_ratio
from driftfit.methods.baselines.dann import reversal_strength, reverse_gradient
from driftfit.methods.baselines.jdot import joint_cost, optimal_plan
from driftfit.methods.baselines.loop import _Order
from driftfit.models import ScikitLearner
from driftfit.models.networks import conv_net, last_hidden_layer, mlp
from driftfit.models.torch.samples import Stored, logits
from driftfit.models.torch.training import Adam, Recipe, Trainer

CPU = torch.device("cpu")
# DeepJDOT's own weights are for networks with far larger features.
ON = [DANN(), DeepCoral(), DeepJDOT(0.1, 1.0), CoVi()]
OFF = [DANN(strength=0), DeepCoral(weight=0), DeepJDOT(alpha=0, lambda_t=0), CoVi(weight=0)]


def name_of(baseline):
    return type(baseline).__name__


def small_net(sample_shape, n_classes):
    return mlp(sample_shape[0], n_classes, hidden=(32, 32), dropout=0.0, batch_norm=False)


def fitted(sequence, seed=0, module=small_net, **options):
    options = {"epochs": 30, "batch_size": 50, "optimiser": Adam(1e-3, 0.0)} | options
    classifier = TorchClassifier(module, random_state=seed, device="cpu", **options)
    classes = np.unique(sequence.source.labels)
    return classifier.make_learner(classes).fit(sequence.source.samples, sequence.source.labels)


def accuracy(learner, domain):
    return float((learner.logits(domain.samples).argmax(axis=1) == domain.labels).mean())


def moved(seed, n=200):
    """Both classes move by half of the distance between them."""
    rng = np.random.default_rng(seed)
    domains = []
    for shift in (0.0, 1.5):
        labels = np.arange(n) % 2
        points = 0.5 * rng.standard_normal((n, 2))
        points[:, 0] += 3.0 * labels + shift
        domains.append(Domain(points, labels=labels, name=f"{shift:g}"))
    return DomainSequence(domains)


def cue_lost(seed, n=200):
    """The second feature tells the class in the source and is loud noise in the target: a change of covariance."""
    rng = np.random.default_rng(seed)
    domains = []
    for name in ("cue", "noise"):
        labels = np.arange(n) % 2
        first = 2 * labels - 1 + 0.6 * rng.standard_normal(n)
        noise = rng.standard_normal(n)
        second = 2 * labels - 1 + 0.3 * noise if name == "cue" else 3.0 * noise
        domains.append(Domain(np.column_stack([first, second]), labels=labels, name=name))
    return DomainSequence(domains)


# Over seeds 0 to 23 the mean gain over the better of source model and switched-off baseline is 0.14 (DANN), 0.13 (Deep
# CORAL), 0.24 (DeepJDOT) and 0.22 (CoVi), the smallest of a single seed 0.05, 0.06, 0.16 and 0.15.
MARGIN = 0.06


@pytest.mark.parametrize(("on", "off"), list(zip(ON, OFF, strict=True)), ids=name_of)
def test_the_alignment_helps_and_nothing_else(on, off):
    # Deep CORAL compares covariances alone, which a translation does not change.
    make = cue_lost if isinstance(on, DeepCoral) else moved
    results = []
    for seed in range(2):
        sequence = make(seed)
        learner = fitted(sequence, seed)
        adapted = [BaselineMethod(baseline).adapt(learner, sequence.masked()).learner for baseline in (on, off)]
        results.append([accuracy(model, sequence.target) for model in (learner, *adapted)])
    source_only, with_alignment, without = np.mean(results, axis=0)
    assert with_alignment > source_only + MARGIN
    assert with_alignment > without + MARGIN


class TestNormalisation:
    """With batch normalisation behind the cut, where stacked batches let the classification loss shrink the target."""

    @staticmethod
    def spread(baseline, seed=0):
        """Spread of the target's features after training, of a network like those of the benchmarks."""
        torch.manual_seed(seed)
        module = mlp(2, 2, hidden=(32, 32), dropout=0.0)
        sequence = moved(seed)
        x0, x1 = (torch.from_numpy(domain.samples).float() for domain in sequence)
        labels = torch.from_numpy(sequence.source.labels)
        Trainer(module, Recipe(20, 50, Adam(1e-3))).train(Stored(x0), torch.arange(len(x0)), labels, seed=seed)
        trainer = PairedTrainer(module, "fc2", baseline, Recipe(60, 50, Adam(1e-3)), sample_shape=(2,), n_classes=2)
        trainer.train(Stored(x0), labels, Stored(x1), seed=seed)
        with torch.no_grad():
            return float(trainer.encoder(x1).std(0).mean())

    def test_an_alignment_that_weighs_nothing_leaves_the_target_s_features_alone(self):
        off = self.spread(DANN(strength=0.0))
        assert self.spread(DANN(strength=1e-9)) == pytest.approx(off, rel=0.05)

    def test_running_statistics_are_the_target_s(self):
        module = drawn(mlp, 2, 2, hidden=(8,), dropout=0.0)
        trained_weights = trained(TargetStatistics(), module=module, x0=cloud(0), x1=cloud(1) + 50)
        features = nn.functional.relu(
            (cloud(1) + 50) @ trained_weights["fc1.0.weight"].T + trained_weights["fc1.0.bias"]
        )
        plain = trained(DANN(strength=0.0), module=module, x0=cloud(0), x1=cloud(1) + 50)
        alive = features.mean(0) > 1
        # A few steps with a momentum of a tenth: on the way to the target's means, where plain training stays away.
        assert (trained_weights["norm.running_mean"][alive] > 0.3 * features.mean(0)[alive]).all()
        assert (plain["norm.running_mean"][alive] < 0.2 * features.mean(0)[alive]).all()

    def test_only_the_statistics_differ_from_plain_training(self):
        module = drawn(mlp, 2, 2, hidden=(8,), dropout=0.0)
        plain, other = (trained(baseline, module=module) for baseline in (DANN(strength=0.0), TargetStatistics()))
        for name, value in plain.items():
            assert torch.equal(value, other[name]) != ("running" in name), name

    @pytest.mark.parametrize("baseline", [DANN(), DeepCoral(), DeepJDOT(), CoVi()], ids=name_of)
    def test_the_defaults_do_something(self, baseline):
        module = drawn(mlp, 2, 2, hidden=(8,), dropout=0.0)
        learned, control = (trained(r, module=module, x1=cloud(1) + 3) for r in (baseline, TargetStatistics()))
        moved_by = (learned["fc1.0.weight"] - control["fc1.0.weight"]).abs().max()
        assert moved_by > 1e-4


class TestSwitchedOff:
    @pytest.mark.parametrize("baseline", OFF, ids=name_of)
    def test_it_is_plain_training_on_the_labelled_side(self, baseline):
        pair = some_pair()
        expected = nn.functional.cross_entropy(pair.head(pair.encoder(pair.x0)), pair.y0)
        assert baseline.prepare(pair) is None
        assert torch.equal(baseline.loss(pair), expected)

    @pytest.mark.parametrize("baseline", OFF, ids=name_of)
    def test_the_unlabelled_side_leaves_no_trace(self, baseline):
        # Not even in the statistics of normalisation layers.
        module = drawn(mlp, 2, 2, hidden=(8,))
        results = [trained(baseline, module=module, x1=x1) for x1 in (cloud(1), cloud(2) + 5)]
        assert all(torch.equal(results[0][key], results[1][key]) for key in results[0])


def drawn(make, *arguments, **options):
    """A module with the same weights in every run."""
    torch.manual_seed(0)
    return make(*arguments, **options)


def cloud(seed, n=60, d=2):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed))


def some_pair(n0=8, n1=8, d=3, n_classes=3, prepared=None, progress=0.5):
    torch.manual_seed(0)
    encoder, head = nn.Sequential(nn.Linear(d, 4), nn.Tanh()), nn.Linear(4, n_classes)
    x0, x1 = 3 * cloud(1, n0, d), 3 * cloud(2, n1, d) + 1
    return Pair(encoder, head, nn.ModuleDict(), x0, torch.arange(n0) % n_classes, x1, torch.tensor(progress), prepared)


def trained(baseline, *, module=None, x0=None, x1=None, seed=3, batch_size=16, n_trainings=1):
    module = deepcopy(module) if module is not None else drawn(small_net, (2,), 2)
    x0 = cloud(0) if x0 is None else x0
    x1 = cloud(1) + 1 if x1 is None else x1
    trainer = PairedTrainer(
        module, last_hidden_layer(module), baseline, Recipe(2, batch_size, Adam(1e-2)), sample_shape=x0.shape[1:],
        n_classes=2,
    )  # fmt: skip
    start = deepcopy(module.state_dict())
    for _ in range(n_trainings):
        module.load_state_dict(start)
        trainer.train(Stored(x0), torch.arange(len(x0)) % 2, Stored(x1), seed=seed)
    return {name: value.clone() for name, value in module.state_dict().items()}


class TestDANN:
    def test_the_gradient_is_reversed_and_the_values_stay(self):
        x = cloud(0).requires_grad_()
        y = reverse_gradient(x, torch.tensor(0.25))
        assert torch.equal(y, x)
        (y**2).sum().backward()
        assert torch.allclose(x.grad, -0.25 * 2 * x)

    def test_schedule(self):
        p = torch.tensor([0.0, 0.1, 0.5, 1.0], dtype=torch.float64)
        assert reversal_strength(p).numpy() == pytest.approx([0.0, np.tanh(0.5), np.tanh(2.5), np.tanh(5.0)])

    def test_encoder_and_discriminator_pull_in_opposite_directions(self):
        pair = some_pair(progress=1.0)
        pair.extra = DANN().networks(4, 3)
        baseline = DANN(strength=0.5)
        loss = baseline.loss(pair)
        classification = nn.functional.cross_entropy(pair.scores(pair.x0), pair.y0)
        features = pair.encoder(torch.cat([pair.x0, pair.x1]))
        side = torch.cat([torch.ones(8), torch.zeros(8)])
        domain = 2 * nn.functional.binary_cross_entropy_with_logits(pair.extra(features).squeeze(1), side)
        assert loss.item() == pytest.approx((classification + domain).item(), rel=1e-5)
        weight, judge = pair.encoder[0].weight, pair.extra[0][0].weight
        found = torch.autograd.grad(loss, [weight, judge])
        plain = torch.autograd.grad(classification, weight)[0]
        straight = torch.autograd.grad(domain, [weight, judge])
        assert torch.allclose(found[0], plain - 0.5 * np.tanh(5.0) * straight[0], atol=1e-6)
        assert torch.allclose(found[1], straight[1], atol=1e-6)


class TestDeepCoral:
    def test_closed_form(self):
        x0, x1 = cloud(0, 30, 4).double(), (2 * cloud(1, 40, 4)).double()
        expected = ((torch.cov(x0.T) - torch.cov(x1.T)) ** 2).sum() / (4 * 16)
        assert coral_loss(x0, x1).item() == pytest.approx(expected.item())

    @pytest.mark.parametrize("n1", [6, 9])
    def test_the_form_without_covariances_agrees_in_value_and_gradient(self, n1):
        x0, x1 = cloud(0, 6, 40).double().requires_grad_(), (cloud(1, n1, 40).double() * 1.5).requires_grad_()
        expected = ((torch.cov(x0.T) - torch.cov(x1.T)) ** 2).sum() / (4 * 40**2)
        found = coral_loss(x0, x1)
        assert found.item() == pytest.approx(expected.item())
        for a, b in zip(torch.autograd.grad(found, [x0, x1]), torch.autograd.grad(expected, [x0, x1]), strict=True):
            assert torch.allclose(a, b)

    @pytest.mark.parametrize("d", [3, 100])
    def test_zero_for_equal_and_for_translated_clouds(self, d):
        x = cloud(0, 20, d).double()
        assert coral_loss(x, x).item() == pytest.approx(0.0, abs=1e-12)
        assert coral_loss(x, x + 3).item() == pytest.approx(0.0, abs=1e-12)
        assert coral_loss(x, 2 * x).item() > 0.01

    def test_scores_are_aligned_unless_a_layer_is_named(self):
        learner = fitted(cue_lost(0), epochs=1)
        found = {layer: BaselineMethod(DeepCoral(), layer=layer, epochs=1) for layer in (None, SCORES, "fc1")}
        weights = {
            layer: adaptation.adapt(learner, cue_lost(0)).learner.trained.fc1[0].weight
            for layer, adaptation in found.items()
        }
        assert torch.equal(weights[None], weights[SCORES])
        assert not torch.equal(weights[None], weights["fc1"])


class TestDeepJDOT:
    def test_the_plan_is_the_best_permutation(self):
        cost = cloud(3, 5, 5)
        best = min(sum(cost[i, j].item() for i, j in enumerate(order)) for order in permutations(range(5)))
        plan = optimal_plan(cost)
        assert (plan * cost).sum().item() == pytest.approx(best / 5)
        assert plan.sum(0).tolist() == pytest.approx([0.2] * 5)
        assert plan.sum(1).tolist() == pytest.approx([0.2] * 5)

    def test_the_plan_of_unequal_batches(self):
        cost = cloud(4, 3, 5).double()
        rows, cols = np.kron(np.eye(3), np.ones(5)), np.kron(np.ones(3), np.eye(5))
        best = linprog(cost.numpy().ravel(), A_eq=np.vstack([rows, cols]), b_eq=[1 / 3] * 3 + [1 / 5] * 5).fun
        plan = optimal_plan(cost)
        assert (plan * cost).sum().item() == pytest.approx(best)
        assert plan.sum(0).tolist() == pytest.approx([0.2] * 5)

    def test_cost_of_features_and_labels(self):
        g0, g1, scores = cloud(0, 4, 3).double(), cloud(1, 5, 3).double(), cloud(2, 5, 2).double()
        labels = torch.tensor([0, 1, 1, 0])
        cost = joint_cost(g0, g1, labels, scores, 0.3, 0.7)
        expected = [
            0.3 * ((g0[i] - g1[j]) ** 2).sum().item()
            + 0.7 * nn.functional.cross_entropy(scores[j], labels[i]).item()
            for i in range(4) for j in range(5)
        ]  # fmt: skip
        assert cost.ravel().tolist() == pytest.approx(expected)

    def test_loss_is_the_cost_along_the_prepared_plan(self):
        baseline, pair = DeepJDOT(0.3, 0.7), some_pair()
        with torch.no_grad():
            pair.prepared = baseline.prepare(pair)
        out = pair.outputs()
        cost = joint_cost(out.features0, out.features1, pair.y0, out.scores1, 0.3, 0.7)
        assert torch.equal(pair.prepared, optimal_plan(cost))
        expected = nn.functional.cross_entropy(out.scores0, pair.y0) + (pair.prepared * cost).sum()
        assert baseline.loss(pair).item() == pytest.approx(expected.item())

    def test_values_that_are_not_finite_are_an_error(self):
        with pytest.raises(InputError, match="not finite"):
            optimal_plan(torch.tensor([[np.nan, 1.0], [1.0, 0.0]]))


class TestCoVi:
    def test_the_ratio_maximises_the_entropy(self):
        pair = some_pair(n0=20, n1=20)
        ratio = most_uncertain_ratio(pair, pair.x0)
        for i, found in enumerate(ratio.tolist()):
            entropy = []
            for share in RATIOS:
                p = pair.scores((share * pair.x0[i] + (1 - share) * pair.x1[i])[None]).softmax(1)
                entropy.append(-(p * p.log()).sum().item())
            assert max(entropy) == pytest.approx(entropy[RATIOS.index(round(found, 1))], abs=1e-6)
        assert len(set(ratio.tolist())) > 1

    def test_views_stay_between_and_only_confident_ones_are_used(self):
        pair = some_pair(n0=64, n1=64)
        baseline = CoVi(margin=0.2)
        with torch.no_grad():
            ratio, label, used = baseline.prepare(pair)
            sure, expected = pair.scores(pair.x1).softmax(1).max(1)
        inside = (ratio + 0.2 <= 0.9001) & (ratio - 0.2 >= 0.0999)
        assert torch.equal(label.long(), expected)
        assert torch.equal(used.bool(), inside & (sure >= sure.mean() - sure.std()))
        assert 0 < used.sum() < 64
        assert not inside.all()

    def test_mixtures(self):
        share = torch.tensor([0.0, 0.3, 1.0])
        x0, x1 = torch.zeros(3, 1, 2, 2), torch.ones(3, 1, 2, 2)
        assert mix(x0, x1, share)[:, 0, 0, 0].tolist() == pytest.approx([1.0, 0.7, 0.0])

    def test_consensus_is_the_best_mean_probability(self):
        first = torch.tensor([[0.9, 0.1], [0.45, 0.55]]).log()
        second = torch.tensor([[0.2, 0.8], [0.9, 0.1]]).log()
        assert consensus_labels(first, second).tolist() == [0, 0]
        assert consensus_labels(second, first).tolist() == [0, 0]

    def test_loss_by_hand(self):
        baseline, pair = CoVi(weight=0.5), some_pair(n0=12, n1=12)
        with torch.no_grad():
            pair.prepared = baseline.prepare(pair)
        ratio, label1, used = pair.prepared.tolist()

        def log_p(i, share, partner=None):
            x0 = pair.x0[i if partner is None else partner]
            return pair.scores((share * x0 + (1 - share) * pair.x1[i])[None]).log_softmax(1)[0]

        least, contrast, agree = [], [], []
        for i in range(12):
            y, t, r = int(pair.y0[i]), int(label1[i]), ratio[i]
            least.append(-(r * log_p(i, r)[y] + (1 - r) * log_p(i, r)[t]))
            more, less = log_p(i, r + 0.1), log_p(i, r - 0.1)
            up, low = r + 0.1, r - 0.1
            views = -(up * more[y] + (1 - up) * more[less.argmax()]) - (low * less[more.argmax()] + (1 - low) * less[t])
            if used[i]:
                contrast.append(views / 2)
            a, b = log_p(i, 0.1), log_p(i, 0.1, partner=i - 1)
            both = (a.exp() + b.exp()).argmax()
            agree.append(-(a[both] + b[both]) / 2)
        terms = sum(torch.stack(part).mean() for part in (least, contrast, agree))
        plain = nn.functional.cross_entropy(pair.scores(pair.x0), pair.y0)
        assert baseline.loss(pair).item() == pytest.approx((plain + 0.5 * terms).item(), rel=1e-5)

    def test_neighbours_one_after_the_other_reach_further_than_one_leap(self):
        sequence = moving_gaussians((0, 1, 2, 3), n_samples=200)
        learner = fitted(sequence)
        stepwise = BaselineMethod(CoVi(), sequential=True).adapt(learner, sequence.masked())
        leap = BaselineMethod(CoVi()).adapt(learner, sequence.masked())
        assert [(r.name, round(r.position, 2)) for r in stepwise.records] == [("1", 0.33), ("2", 0.67), ("3", 1.0)]
        assert accuracy(stepwise.learner, sequence.target) > accuracy(leap.learner, sequence.target) + 0.2


class TestLoop:
    @pytest.mark.parametrize("baseline", ON, ids=name_of)
    def test_same_seed_same_bits_and_trainings_start_anew(self, baseline):
        module = drawn(mlp, 2, 2, hidden=(8,), dropout=0.5)
        first, second = trained(baseline, module=module), trained(baseline, module=module)
        again = trained(baseline, module=module, n_trainings=2)
        other = trained(baseline, module=module, seed=4)
        assert all(torch.equal(first[key], second[key]) for key in first)
        assert all(torch.equal(first[key], again[key]) for key in first)
        assert not all(torch.equal(first[key], other[key]) for key in first)

    def test_an_order_passes_over_everything_in_full_batches(self):
        order = _Order(10, 3, 0, CPU)
        passes = [torch.cat([order.next() for _ in range(order.n_batches)]) for _ in range(2)]
        assert order.n_batches == 3
        assert all(len(set(one.tolist())) == 9 for one in passes)
        assert not torch.equal(*passes)

    def test_an_epoch_passes_over_the_longer_side_and_the_shorter_cycles(self):
        seen = []

        class Watching(DANN):
            def prepare(self, pair):
                seen.append((len(pair.x0), len(pair.x1), pair.progress.item(), pair.head.training))
                return None

        trained(Watching(), x0=cloud(0, 10), x1=cloud(1, 70), batch_size=16)
        sizes, progress = [step[:2] for step in seen], [step[2] for step in seen]
        assert sizes == [(10, 16)] * 8
        assert progress == pytest.approx([step / 8 for step in range(8)])
        assert not any(training for *_, training in seen)

    @pytest.mark.parametrize("baseline", ON, ids=name_of)
    def test_unequal_batches(self, baseline):
        weights = trained(baseline, x0=cloud(0, 10), x1=cloud(1, 40), batch_size=16)
        assert all(torch.isfinite(value).all() for value in weights.values())

    def test_an_off_rival_follows_the_plain_trainer(self):
        # One batch of everything: the same gradient, up to the order of the samples.
        x0, labels = cloud(0).double(), torch.arange(60) % 2
        start = drawn(small_net, (2,), 2).double()
        plain, paired = deepcopy(start), deepcopy(start)
        recipe = Recipe(5, None, Adam(1e-2, 0.0))
        Trainer(plain, recipe).train(Stored(x0), torch.arange(60), labels, seed=1)
        trainer = PairedTrainer(paired, "fc2", DANN(strength=0), recipe, sample_shape=(2,), n_classes=2)
        trainer.train(Stored(x0), labels, Stored(x0), seed=2)
        assert torch.allclose(logits(plain, Stored(x0)), logits(paired, Stored(x0)), atol=1e-9)

    def test_batches_of_one_are_refused(self):
        with pytest.raises(InputError, match="at least 2 samples"):
            trained(DANN(), batch_size=1)

    @pytest.mark.parametrize("baseline", [DANN(), DeepCoral()], ids=name_of)
    def test_an_encoder_that_cannot_learn_is_refused(self, baseline):
        with pytest.raises(InputError, match="later layer"):
            PairedTrainer(small_net((2,), 2), "input", baseline, Recipe(), sample_shape=(2,), n_classes=2)

    def test_a_module_without_parameters_is_refused(self):
        with pytest.raises(InputError, match="no parameters"):
            PairedTrainer(nn.Flatten(), "input", CoVi(), Recipe(), sample_shape=(2,), n_classes=2)


class HandWritten(nn.Module):
    """Not a sequence: it has to be traced to be cut."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.hidden = nn.Linear(4 * 36, 8)
        self.norm = nn.BatchNorm1d(8)
        self.scores = nn.Linear(8, 2)

    def forward(self, x):
        x = torch.relu(self.conv(x)).flatten(1)
        return self.scores(self.norm(torch.relu(self.hidden(x))))


def images(n=40):
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 2
    clean = rng.normal(size=(n, 1, 6, 6)) + labels[:, None, None, None]
    return DomainSequence(
        [Domain(clean, labels=labels, name="0"), Domain(clean + 0.2, name="mid"), Domain(clean + 0.5, name="1")]
    )


class TestAdaptation:
    @pytest.mark.parametrize("baseline", ON, ids=name_of)
    @pytest.mark.parametrize(
        ("module", "layer"),
        [
            (drawn(conv_net, 6, 2, n_conv=2, hidden=(8,)), "conv2"),
            (drawn(conv_net, 6, 2, n_conv=1, hidden=(8,)), None),
            (drawn(HandWritten), "conv"),
            (drawn(HandWritten), None),
        ],
        ids=["conv", "sequence", "hand-written conv", "hand-written"],
    )
    def test_networks_on_images(self, baseline, module, layer):
        sequence = images()
        learner = fitted(sequence, module=deepcopy(module), epochs=2, batch_size=16)
        adaptation = BaselineMethod(baseline, layer=layer, epochs=2).adapt(learner, sequence)
        before, after = (model.trained.state_dict() for model in (learner, adaptation.learner))
        # Everything that can be trained was.
        assert [name for name in before if torch.equal(before[name], after[name])] == []
        assert np.isfinite(adaptation.learner.logits(sequence.target.samples)).all()

    @pytest.mark.parametrize("sequential", [False, True])
    def test_learners_are_values(self, sequential):
        sequence = moving_gaussians((0, 1, 2), n_samples=60)
        learner = fitted(sequence, epochs=3)
        weights = deepcopy(learner.trained.state_dict())
        seen = []
        method = BaselineMethod(CoVi(), sequential=sequential)
        adaptation = method.adapt(learner, sequence.masked(), lambda record, model: seen.append((record, model)))
        assert all(torch.equal(value, weights[name]) for name, value in learner.trained.state_dict().items())
        assert [record for record, _ in seen] == list(adaptation.records)
        assert [model.step for _, model in seen] == list(range(1, len(seen) + 1))
        assert seen[-1][1] is adaptation.learner
        # A model that was handed out is not trained on.
        first = seen[0][1].logits(sequence.target.samples)
        record = adaptation.records[-1]
        before = learner if not sequential else seen[0][1]
        labels = before.logits(sequence.target.samples).argmax(1)
        after = adaptation.learner.logits(sequence.target.samples).argmax(1)
        assert record.changed_fraction == pytest.approx(np.mean(labels != after))
        assert sum(record.class_shares) == pytest.approx(1.0)
        assert np.array_equal(first, seen[0][1].logits(sequence.target.samples))

    def test_the_same_learner_is_adapted_to_the_same_bits(self):
        sequence = moved(0, n=60)
        learner = fitted(sequence, epochs=2)
        first, second = (BaselineMethod(DANN(), epochs=2).adapt(learner, sequence.masked()) for _ in range(2))
        assert np.array_equal(
            first.learner.logits(sequence.target.samples), second.learner.logits(sequence.target.samples)
        )

    def test_with_given_pools_the_given_domains(self):
        sequence = moving_gaussians((0, 1, 2), n_samples=60)
        learner = fitted(sequence, epochs=2)
        plain = BaselineMethod(DANN(), epochs=2).adapt(learner, sequence.masked())
        pooled = BaselineMethod(DANN(), with_given=True, epochs=2).adapt(learner, sequence.masked())
        assert [(r.name, r.n_samples) for r in plain.records] == [("2", 60)]
        assert [(r.name, r.n_samples) for r in pooled.records] == [("1+2", 120)]
        assert not np.array_equal(*(a.learner.logits(sequence.target.samples) for a in (plain, pooled)))
        # By default what lies between is not looked at.
        ends = DomainSequence([sequence.source, sequence.target])
        direct = BaselineMethod(DANN(), epochs=2).adapt(learner, ends.masked())
        assert np.array_equal(*(a.learner.logits(sequence.target.samples) for a in (plain, direct)))

    def test_target_labels_are_not_used(self):
        sequence = moved(0, n=60)
        learner = fitted(sequence, epochs=2)
        flipped = DomainSequence([sequence.source, Domain(sequence.target.samples, 1 - sequence.target.labels)])
        for baseline in ON:
            models = [BaselineMethod(baseline, epochs=1).adapt(learner, s).learner for s in (sequence, flipped)]
            assert np.array_equal(*(model.logits(sequence.target.samples) for model in models))

    @pytest.mark.parametrize(
        ("module", "layer"),
        [
            (small_net((2,), 2), "fc2.1"),
            (conv_net(6, 2, n_conv=1, hidden=(8,)), "norm"),
            (HandWritten(), "norm"),
            (nn.Linear(2, 2), "input"),
        ],
        ids=["mlp", "conv", "hand-written", "linear"],
    )
    def test_the_last_hidden_layer(self, module, layer):
        assert last_hidden_layer(module) == layer


class TestBadInput:
    @pytest.mark.parametrize("value", [-1, np.nan, np.inf, "much"])
    @pytest.mark.parametrize("make", [DANN, DeepCoral, DeepJDOT, CoVi], ids=lambda make: make.__name__)
    def test_weights(self, make, value):
        with pytest.raises(InputError, match=r">= 0.*" + str(value)):
            make(value)

    @pytest.mark.parametrize("options", [{"margin": 0.0}, {"margin": 0.5}, {"consensus": 0.7}, {"consensus": -0.1}])
    def test_ratios(self, options):
        with pytest.raises(InputError, match="strictly between"):
            CoVi(**options)

    def test_other_learners(self):
        sequence = moved(0, n=20)
        from sklearn.linear_model import LogisticRegression

        learner = ScikitLearner(LogisticRegression(), np.array([0, 1]))
        with pytest.raises(InputError, match="TorchClassifier"):
            BaselineMethod(DANN()).adapt(learner.fit(sequence.source.samples, sequence.source.labels), sequence)

    def test_options(self):
        with pytest.raises(InputError, match="exclude each other"):
            BaselineMethod(DANN(), with_given=True, sequential=True)
        with pytest.raises(InputError, match="epochs must be at least 1"):
            BaselineMethod(DANN(), epochs=0)

    def test_weighted_domains(self):
        sequence = moved(0, n=20)
        weighted = DomainSequence(
            [Domain(sequence.source.samples, sequence.source.labels, weights=np.arange(1, 21)), sequence.target]
        )
        with pytest.raises(InputError, match="no sample weights"):
            BaselineMethod(DANN()).adapt(fitted(sequence, epochs=1), weighted)

    def test_unknown_layer(self):
        sequence = moved(0, n=20)
        with pytest.raises(InputError, match="no layer 'fc9'"):
            BaselineMethod(DANN(), layer="fc9").adapt(fitted(sequence, epochs=1), sequence)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("baseline", ON, ids=name_of)
class TestOnGPU:
    def run(self, baseline, device, capture, dropout=0.0):
        torch.manual_seed(0)
        module = conv_net(8, 2, n_conv=2, hidden=(16,), dropout=dropout).to(device)
        x0 = torch.randn(200, 1, 8, 8) + (torch.arange(200) % 2)[:, None, None, None]
        x1 = x0 + 0.3
        trainer = PairedTrainer(
            module, "conv2", baseline, Recipe(3, 64), sample_shape=(1, 8, 8), n_classes=2, capture=capture
        )
        start = deepcopy(module.state_dict())
        for _ in range(2):
            module.load_state_dict(start)
            labels = (torch.arange(200) % 2).to(device)
            trainer.train(Stored(x0.to(device)), labels, Stored(x1.to(device)), seed=5)
        return logits(module, Stored(x1.to(device))).cpu()

    def test_gpu_agrees_with_cpu(self, baseline):
        assert torch.allclose(self.run(baseline, "cuda", True), self.run(baseline, "cpu", False), atol=5e-2)

    def test_captured_step_agrees_with_plain_step(self, baseline):
        assert torch.allclose(self.run(baseline, "cuda", True), self.run(baseline, "cuda", False), atol=1e-2)

    def test_captured_dropout_is_reproducible(self, baseline):
        assert torch.allclose(self.run(baseline, "cuda", True, 0.5), self.run(baseline, "cuda", True, 0.5), atol=1e-2)
