"""The picture of generated digits, end to end on few images."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from driftfit.datasets import rotated_mnist
from driftfit.errors import InputError
from driftfit.lab import vae as digits
from driftfit.lab.vae import VAESettings, run_vae
from driftfit.models.networks import ConvVAE
from driftfit.transport import Plan

CHOSEN = VAESettings(epochs=2, n_generated=1, classifier_epochs=1)
OPTIONS = {"chosen": CHOSEN, "n_samples": 40, "device": "cpu", "quiet": True}
MEASURES = ("nearest", "own", "angle", "angle_error", "classifier_accuracy", "classifier_confidence")


def same_parts(result):
    """All but the seconds."""
    runs = [{key: value for key, value in run.items() if key != "seconds"} for run in result["runs"]]
    return {**result, "runs": runs}


@pytest.fixture(scope="module")
def finished(data_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("vae")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRIFTFIT_DATA", str(data_folder))
        patch.setenv("DRIFTFIT_OFFLINE", "1")
        return run_vae(**OPTIONS, output=folder), folder


def rows_of(result, name):
    return {row["position"]: row for row in result["runs"][0]["rows"] if row["images"] == name}


def test_files_hold_the_result(finished):
    result, folder = finished
    assert sorted(path.name for path in folder.iterdir()) == ["vae.json", "vae.png", "vae.svg"]
    assert json.loads((folder / "vae.json").read_text()) == result
    assert len(result["runs"][0]["rows"]) == 6 * 3
    assert (folder / "vae.png").read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(folder / "vae.svg").getroot().tag.endswith("svg")
    assert result["provenance"]["device"].startswith("cpu")
    assert result["settings"]["n_samples"] == 40
    assert set(result["runs"][0]["seconds"]) == {"data", "training", "plans and paths", "measures"}


def test_numbers_obey_what_is_known_of_them(finished):
    result, _ = finished
    for row in result["runs"][0]["rows"]:
        assert np.isfinite([row[key] for key in MEASURES]).all()
        assert 0 <= row["classifier_accuracy"] <= 100 + 1e-9
        # Ten classes: the largest probability is at least a tenth.
        assert 10 - 1e-6 <= row["classifier_confidence"] <= 100 + 1e-9
    real, pixels = rows_of(result, digits.REAL), rows_of(result, digits.INPUT_TRUE)
    assert [row["own"] for row in real.values()] == [0.0, 0.0, 0.0]
    # Pixels with true pairs begin and end with the real images and leave them between.
    for end in (0.0, 1.0):
        assert all(pixels[end][key] == real[end][key] for key in MEASURES)
    assert pixels[0.5]["own"] > 1
    plans = {plan["plan"]: plan for plan in result["runs"][0]["plans"]}
    assert set(plans) == {digits.INPUT_OT, digits.LATENT_OT}
    for plan in plans.values():
        assert 0 <= plan["same_image_percent"] <= plan["same_class_percent"] <= 100 + 1e-9
        assert plan["gap"] < 1e-6


def test_the_same_seed_gives_the_same_bits_and_several_seeds_are_kept(finished, data, tmp_path):
    result, folder = finished
    again = run_vae(**OPTIONS, seeds=2, output=tmp_path)
    assert [run["seed"] for run in again["runs"]] == [0, 1]
    assert same_parts({**again, "runs": again["runs"][:1]}) == same_parts(result)
    assert again["runs"][1]["losses"] != again["runs"][0]["losses"]
    # The picture shows the first seed whatever follows.
    for name in ("vae.png", "vae.svg"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_paths_begin_and_end_with_the_ends():
    torch.manual_seed(0)
    ends = [torch.rand(4, 1, 8, 8), torch.rand(4, 1, 8, 8)]
    cols = np.array([2, 0, 3, 1])
    plan = Plan(np.arange(4), cols, np.full(4, 0.25), (4, 4))
    path = digits._path(plan, ends, [0.0, 0.25, 1.0])
    assert torch.equal(path.images[0], ends[0])
    assert torch.allclose(path.images[1], 0.75 * ends[0] + 0.25 * ends[1][cols])
    assert torch.equal(path.images[2], ends[1][cols])
    vae = ConvVAE(8, latent=3, hidden=8, width=2)
    latents = [vae.latents(x) for x in ends]
    decoded = digits._path(plan, latents, [0.0, 1.0], vae)
    assert torch.equal(decoded.images[0], vae.images(latents[0]))
    assert torch.equal(decoded.images[1], vae.images(latents[1][cols]))


def test_true_pairs_are_the_same_digits_at_every_angle(data):
    loaded = digits.load_digits("reference", 0, 50, [0.0, 0.5, 1.0], torch.device("cpu"))
    source, target = rotated_mnist(0, n_samples=50)
    assert np.array_equal(loaded.own[0].numpy(), source.samples)
    assert np.array_equal(loaded.own[2].numpy(), target.samples)
    middle = rotated_mnist(0, n_samples=50, target_angle=22.5).target
    assert np.array_equal(loaded.own[1].numpy(), middle.samples)
    for mine, other in zip(loaded.own, loaded.heldout, strict=True):
        assert torch.cdist(mine.flatten(1), other.flatten(1)).min() > 0
    n = len(loaded.own[0])
    pairs = digits.plan_numbers(digits.true_pairs(n), loaded.labels)
    assert pairs["gap"] is None
    assert pairs["same_class_percent"] == pytest.approx(100)
    assert pairs["same_image_percent"] == pytest.approx(100)


def test_nearest_is_the_plain_minimum():
    torch.manual_seed(0)
    images, references = torch.rand(7, 1, 4, 4), [torch.rand(5, 1, 4, 4), torch.rand(6, 1, 4, 4)]
    found = digits._nearest(images, references)
    for column, real in enumerate(references):
        for row, image in enumerate(images):
            assert found[row, column] == pytest.approx(min(float((image - x).norm()) for x in real), abs=1e-5)


def test_progress_goes_to_stderr_only(data, tmp_path, capsys):
    run_vae(**{**OPTIONS, "quiet": False, "n_samples": 20}, output=tmp_path)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "epoch 1/2, loss " in shown.err
    assert "position 0.50 measured" in shown.err


@pytest.mark.parametrize("name", ["epochs", "n_generated", "batch_size"])
def test_bad_settings_are_refused(name):
    with pytest.raises(InputError, match=f"{name} must be at least 1, got 0"):
        VAESettings(**{name: 0})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": -1}, "seeds must be at least 1, got -1"),
        ({"preset": "mine"}, "preset must be"),
        ({"device": "toaster"}, "device must be"),
        ({"n_samples": 1}, "n_samples must be at least 2"),
    ],
)
def test_bad_options_are_refused_before_anything_is_written(data, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        run_vae(**{**OPTIONS, **options}, output=tmp_path / "out")
    assert not (tmp_path / "out").exists()
