"""`TorchClassifier` and its learner: reproducible, split at any layer, saved bit for bit."""

import json
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

from driftfit import AutoAdaptedClassifier, GOATClassifier, GradualSelfTrainingClassifier
from driftfit.domains import DomainSequence, Interpolated
from driftfit.errors import InputError
from driftfit.models import Learner, as_learner
from driftfit.models.networks import conv_net, mlp
from driftfit.models.torch.classifier import TorchClassifier
from driftfit.models.torch.files import load_classifier, save_classifier
from driftfit.models.torch.samples import Stored, logits, pick_device
from driftfit.models.torch.training import Adam, EarlyStopping, Recipe, Trainer


def images(n=240, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    samples = rng.normal(size=(n, 1, 6, 6)).astype(np.float32)
    samples[:, 0] += labels[:, None, None]
    return samples, labels


def small_net(shape, n_classes):
    return conv_net(shape[1], n_classes, n_conv=2, width=4, hidden=(16,))


def classifier(**options):
    chosen = {"epochs": 4, "batch_size": 32, "optimiser": Adam(3e-3, 0.0), "random_state": 0, "device": "cpu"}
    return TorchClassifier(small_net, **{**chosen, **options})


def test_images_are_learned_and_two_runs_agree_bit_for_bit():
    X, y = images()
    one, two = classifier().fit(X, y), classifier().fit(X, y)
    assert one.score(X, y) > 0.8
    assert np.array_equal(one.predict_proba(X), two.predict_proba(X))
    assert not np.array_equal(one.predict_proba(X), classifier(random_state=1).fit(X, y).predict_proba(X))


def test_the_choice_cuts_a_network_in_front_of_its_last_layer_with_weights(capsys, caplog):
    X, y = images()
    domain = np.repeat([0, 1], len(X) // 2)
    path = DomainSequence.from_samples(X, y, domain)
    with caplog.at_level("INFO", logger="driftfit"):
        own, named = (AutoAdaptedClassifier(classifier(**one)).fit_source(path) for one in ({}, {"encoder": "norm"}))
    assert own.layer == named.layer == "norm"
    assert np.array_equal(own.encode(X), named.encode(X))
    assert capsys.readouterr().err.count("the network is cut at its layer 'norm'") == 1
    # What runs along a path trains the whole network unless a layer is named.
    assert GOATClassifier(classifier()).fit_source(path).layer == "input"


class _Graphs:
    """Stands in for CUDA where there is none: a capture that raises."""

    def __init__(self, error):
        self.error, self.n_captures = error, 0

    def patch(self, monkeypatch):
        stream = SimpleNamespace(wait_stream=lambda other: None)
        for name in ("Stream", "current_stream"):
            monkeypatch.setattr(torch.cuda, name, lambda: stream)
        monkeypatch.setattr(torch.cuda, "stream", nullcontext)
        monkeypatch.setattr(torch.cuda, "CUDAGraph", object)
        monkeypatch.setattr(torch.cuda, "graph", self.graph)

    @contextmanager
    def graph(self, graph):
        self.n_captures += 1
        raise self.error
        yield


def test_a_step_that_cannot_be_captured_is_taken_all_the_same(monkeypatch):
    X, y = images()
    graphs = _Graphs(RuntimeError("operation not permitted when stream is capturing"))
    graphs.patch(monkeypatch)
    found = []
    for capture in (True, False):
        torch.manual_seed(0)
        module = small_net(X.shape[1:], 3)
        trainer = Trainer(module, Recipe(2, 32), capture=capture)
        trainer.train(Stored(torch.from_numpy(X)), torch.arange(len(X)), torch.from_numpy(y), seed=1)
        found.append([value.clone() for value in module.state_dict().values()])
    assert all(torch.equal(*pair) for pair in zip(*found, strict=True))
    assert graphs.n_captures == 1


def test_a_full_memory_is_no_reason_to_go_on(monkeypatch):
    _Graphs(torch.OutOfMemoryError()).patch(monkeypatch)
    X, y = images()
    with pytest.raises(torch.OutOfMemoryError):
        Trainer(small_net(X.shape[1:], 3), Recipe(2, 32), capture=True).train(
            Stored(torch.from_numpy(X)), torch.arange(len(X)), torch.from_numpy(y)
        )


def test_bfloat16_changes_nothing_on_the_cpu():
    X, y = images()

    def half_net(shape, n_classes):
        return conv_net(shape[1], n_classes, n_conv=2, width=4, hidden=(16,), half=True)

    plain, half = (
        TorchClassifier(net, epochs=2, random_state=0, device="cpu").fit(X, y) for net in (small_net, half_net)
    )
    assert np.array_equal(plain.predict_proba(X), half.predict_proba(X))


def test_the_random_state_of_torch_is_left_alone():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    classifier().fit(*images(60))
    assert torch.equal(torch.get_rng_state(), before)


def test_learner_protocol_and_cuts():
    X, y = images()
    for layer in ("input", "conv1", "conv2", "fc1", "fc1.0"):
        learner = as_learner(classifier(encoder=layer), np.arange(3)).fit(X, y)
        assert isinstance(learner, Learner)
        features = learner.encode(X)
        head = learner.head()
        assert features.ndim == 2
        assert np.allclose(head.logits(features), learner.logits(X), atol=1e-5)
        trained = head.refit(features, y)
        whole = learner.with_head(trained)
        assert np.allclose(whole.logits(X), trained.logits(features), atol=1e-5)
        # The encoder stays, and the learner before it is untouched.
        assert np.array_equal(whole.encode(X), features)


def test_soft_labels_and_weights():
    X, y = images()
    learner = as_learner(classifier(), np.arange(3))
    shares = np.eye(3)[y]
    hard, soft = learner.fit(X, y), learner.fit(X, shares)
    assert np.allclose(hard.logits(X), soft.logits(X), atol=1e-4)
    weights = np.where(y == 0, 100.0, 1e-3)
    assert (learner.fit(X, y, weights).logits(X).argmax(1) == 0).mean() > (y == 0).mean()


def test_goat_and_gradual_self_training_take_it():
    X, y = images(120)
    paths = np.concatenate([X, X + 0.3, X + 0.6])
    years = np.repeat([1, 2, 3], 120)
    labels = np.tile(y, 3)
    goat = GOATClassifier(classifier(encoder="conv2"), n_generated=1, random_state=0).fit(
        paths, labels, sample_domain=years
    )
    assert len(goat.path_) == 4
    assert goat.score(X + 0.6, y) > 0.5
    in_input_space = GOATClassifier(classifier(), n_generated=1, random_state=0).fit(paths, labels, sample_domain=years)
    assert len(in_input_space.path_) == 4
    gst = GradualSelfTrainingClassifier(classifier(), random_state=0).fit(paths, labels, sample_domain=years)
    assert gst.predict(X).shape == (120,)


def test_the_seed_orders_the_batches_and_patience_counts_epochs():
    X, y = images(60)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(0)
        module = nn.Sequential(nn.Flatten(), nn.Linear(36, 3))
        trainer = Trainer(module, Recipe(2, 16, Adam(1e-2, 0.0)))
        trainer.train(Stored(torch.from_numpy(X)), torch.arange(60), torch.from_numpy(y), seed=seed)
        found.append(module[1].weight.detach().clone())
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
    # Weights that never move are best in the first epoch: three more without improvement, and it is over.
    still = Trainer(module, Recipe(20, 16, Adam(0.0, 0.0), EarlyStopping(patience=3)))
    assert still.train(Stored(torch.from_numpy(X)), torch.arange(60), torch.from_numpy(y)) == 4


def test_early_stopping_stops_and_puts_the_best_weights_back():
    X, y = images()
    module = small_net((1, 6, 6), 3)
    recipe = Recipe(60, 32, Adam(1e-2, 0.0), EarlyStopping(patience=2, fraction=0.3))
    epochs = Trainer(module, recipe).train(Stored(torch.from_numpy(X)), torch.arange(240), torch.from_numpy(y))
    assert epochs < 60


def test_a_trainer_used_again_gives_the_same_result():
    X, y = images(100)
    module = small_net((1, 6, 6), 3)
    start = {name: value.clone() for name, value in module.state_dict().items()}
    trainer = Trainer(module, Recipe(2, 32))
    outcomes = []
    for _ in range(2):
        module.load_state_dict(start)
        trainer.train(Stored(torch.from_numpy(X)), torch.arange(100), torch.from_numpy(y), seed=1)
        outcomes.append(logits(module, Stored(torch.from_numpy(X))))
    assert torch.equal(*outcomes)


def test_other_optimisers_work():
    X, y = images(100)
    clf = classifier(optimiser=lambda parameters: torch.optim.SGD(parameters, lr=0.05)).fit(X, y)
    assert clf.score(X, y) > 0.5


def test_samples_between_are_the_interpolation():
    x0, x1 = torch.randn(4, 3), torch.randn(5, 3)
    rows, cols = torch.tensor([0, 2, 3]), torch.tensor([4, 1, 1])
    made = Interpolated(x0, x1, rows, cols, 0.25).take(torch.tensor([2, 0]))
    assert torch.allclose(made, 0.75 * x0[rows[[2, 0]]] + 0.25 * x1[cols[[2, 0]]])


@pytest.mark.parametrize("labels", [np.array([3, 5, 9]), np.array(["a", "b", "c"])])
def test_saved_models_reload_bit_for_bit(tmp_path, labels):
    X, y = images()
    fitted = classifier(encoder="conv1").fit(X, labels[y])
    path = save_classifier(fitted, tmp_path / "model")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model.json", "model.safetensors"]
    again = load_classifier(path, device="cpu")
    assert again.encoder == "conv1"
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert np.array_equal(again.predict(X), fitted.predict(X))
    assert all(
        torch.equal(a, b)
        for a, b in zip(again.module_.state_dict().values(), fitted.module_.state_dict().values(), strict=True)
    )


def test_models_that_json_cannot_describe_need_their_module(tmp_path):
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)

        def forward(self, x):
            return self.linear(x)

    X, y = np.random.default_rng(0).normal(size=(30, 2)).astype(np.float32), np.arange(30) % 2
    fitted = TorchClassifier(Own(), epochs=1, device="cpu").fit(X, y)
    save_classifier(fitted, tmp_path / "own")
    with pytest.raises(InputError, match="module="):
        load_classifier(tmp_path / "own")
    assert np.array_equal(load_classifier(tmp_path / "own", Own(), "cpu").predict_proba(X), fitted.predict_proba(X))


def test_damaged_model_files_are_refused(tmp_path):
    X, y = images(60)
    save_classifier(classifier(epochs=1).fit(X, y), tmp_path / "model")
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(InputError, match="damaged"):
        load_classifier(tmp_path / "model")
    weights.unlink()
    with pytest.raises(InputError, match="missing"):
        load_classifier(tmp_path / "model")
    about = json.loads((tmp_path / "model.json").read_text())
    assert about["parameters"]["epochs"] == 1


def test_clone_keeps_parameters_and_fit_leaves_them_alone():
    net = mlp(3, 2, hidden=(4,))
    before = {name: value.clone() for name, value in net.state_dict().items()}
    clf = TorchClassifier(net, epochs=2, device="cpu")
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    clone(clf).fit(X, y)
    clf.fit(X, y)
    assert all(torch.equal(before[name], value) for name, value in net.state_dict().items())


def test_bad_input_is_refused():
    X, y = images(30)
    with pytest.raises(InputError, match=r"torch sees no GPU|'auto', 'cpu' or 'cuda'"):
        pick_device("cuda:99" if not torch.cuda.is_available() else "nowhere")
    with pytest.raises(InputError, match="epochs"):
        classifier(epochs=0).fit(X, y)
    with pytest.raises(InputError, match="module must be"):
        TorchClassifier(3, device="cpu").fit(X, y)
    with pytest.raises(InputError, match="shape"):
        classifier(epochs=1).fit(X, y).predict(X[:, :, :5])
    with pytest.raises(InputError, match="3 classes"):
        TorchClassifier(lambda shape, n: nn.Flatten(), device="cpu").fit(X, y)


def test_a_learner_is_trained_by_its_own_recipe_and_network():
    X, y = images(60)
    learner = classifier(epochs=1).make_learner(np.arange(3)).fit(X, y)
    longer = Recipe(3, 32, Adam(3e-3, 0.0))
    later = replace(learner, recipe=longer).fit(X, y)
    alone = replace(classifier(epochs=3).make_learner(np.arange(3)), recipe=longer).fit(X, y)
    assert np.array_equal(later.logits(X), alone.logits(X))
    other = replace(
        learner, build=lambda shape, n: nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.Tanh(), nn.Linear(8, n))
    )
    assert "Tanh" in repr(other.fit(X, y).trained)


@pytest.mark.parametrize("position", [0.0, 0.3])
@pytest.mark.parametrize("n", [90, 10])
@pytest.mark.parametrize("kind", ["plain", "unflattened", "hidden images"])
def test_scores_between_two_ends_are_those_of_the_formed_rows(position, n, kind, monkeypatch):
    """Also of few rows between long ends, and by networks that the ends cannot be mixed behind."""
    rng = np.random.default_rng(0)
    x0, x1 = (torch.from_numpy(rng.normal(size=(size, 36))) for size in (60, 50))
    samples = Interpolated.of(x0, x1, rng.integers(0, 60, n), rng.integers(0, 50, n), position)
    torch.manual_seed(0)
    module = mlp(36, 3, hidden=(8, 8))
    if kind == "unflattened":
        module = nn.Sequential(nn.Unflatten(1, (1, 6, 6)), nn.Flatten(), module)
    elif kind == "hidden images":
        module = nn.Sequential(nn.Unflatten(1, (6, 6)), nn.Linear(6, 6), nn.Flatten(), module)
    module.double()
    formed = []
    take = Interpolated.take
    monkeypatch.setattr(Interpolated, "take", lambda *args: formed.append(1) or take(*args))
    found = logits(module, samples)
    assert bool(formed) == (n == 10 or kind == "hidden images")
    torch.testing.assert_close(found, logits(module, Stored(samples.whole())), rtol=0, atol=1e-12)
