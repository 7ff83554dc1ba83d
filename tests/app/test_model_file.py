"""Model files: the same predictions again, and no way in for anything else."""

import ast
import json
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

import driftfit.app
from driftfit.app import load_run
from driftfit.app.columns import conform, plan_columns
from driftfit.app.export import onnx_inputs, read_by, to_onnx, to_skops
from driftfit.app.features import as_matrix, make_preprocessing
from driftfit.app.folder import write_manifest
from driftfit.app.model_file import save_predictor
from driftfit.app.models import encoder_from_word, make_model, model_from_word
from driftfit.app.predictor import Predictor
from driftfit.app.skops_files import check_storable
from driftfit.errors import InputError
from driftfit.files import write_json

N = 150


def table(rng):
    label = rng.choice(["a", "b", "c"], N)
    x = rng.normal(size=N) + 4 * (label == "a") - 4 * (label == "b")
    gaps = np.where(rng.random(N) < 0.2, np.nan, rng.normal(size=N))
    return pd.DataFrame({"x": x, "gaps": gaps, "flag": rng.random(N) < 0.5, "city": rng.choice(["k", "l"], N)}), label


def fitted(frame, label, model="logistic", encoder="none"):
    plans = plan_columns(frame)
    conformed = conform(frame, plans)
    preprocessing = make_preprocessing(plans).fit(conformed)
    matrix = as_matrix(preprocessing, conformed)
    pipeline = make_model(model_from_word(model), encoder_from_word(encoder), *matrix.shape, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small networks on small data stop before they converge
        return Predictor(plans, preprocessing, pipeline.fit(matrix, label))


def saved(predictor, folder):
    folder.mkdir(exist_ok=True)
    files = save_predictor(predictor, folder)
    write_json(folder / "result.json", {})
    write_manifest(folder, [*files, folder / "result.json"])
    return folder


@pytest.fixture
def run(rng, tmp_path):
    return saved(fitted(*table(rng)), tmp_path / "run")


@pytest.mark.parametrize(
    ("model", "encoder"),
    [("logistic", "none"), ("forest", "none"), ("boosting", "none"), ("mlp", "pca:2"), ("logistic", "mlp")],
)
def test_a_loaded_model_predicts_the_same(rng, tmp_path, model, encoder):
    frame, label = table(rng)
    predictor = fitted(frame, label, model, encoder)
    labels, probability = predictor.predict(frame)
    again, same = load_run(saved(predictor, tmp_path / "run")).predictor.predict(frame)
    assert (labels == again).all()
    np.testing.assert_array_equal(probability, same)


@pytest.mark.parametrize("name", ["model.skops", "columns.json", "result.json"])
def test_a_changed_or_cut_file_is_refused(run, name):
    whole = (run / name).read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:-1] + bytes([whole[-1] ^ 1]), b""):
        (run / name).write_bytes(damaged)
        with pytest.raises(InputError, match="was changed or cut short"):
            load_run(run)
    (run / name).unlink()
    with pytest.raises(InputError, match="is missing"):
        load_run(run)


def test_a_damaged_manifest_is_refused(run):
    for text in ("", "{}", '{"sha256": 3}', '{"sha256": {}}', '{"sha256": {"../x": "0"}}'):
        (run / "manifest.json").write_text(text)
        with pytest.raises(InputError, match=r"damaged|does not name|format None"):
            load_run(run)
    (run / "manifest.json").unlink()
    with pytest.raises(InputError, match=r"has no manifest\.json"):
        load_run(run)


def test_a_file_that_asks_for_an_unknown_type_is_refused_even_with_a_fitting_manifest(run):
    evil = Pipeline([("columns", FunctionTransformer(os.getenv)), ("model", FunctionTransformer())])
    (run / "model.skops").write_bytes(skops.io.dumps(evil))
    write_manifest(run, [run / name for name in ("model.skops", "columns.json", "result.json")])
    with pytest.raises(InputError, match=r"asks for the type os\.getenv, which is not on the list"):
        load_run(run)


def test_noise_in_place_of_a_model_is_refused(run):
    (run / "model.skops").write_bytes(b"noise")
    write_manifest(run, [run / name for name in ("model.skops", "columns.json", "result.json")])
    with pytest.raises(InputError, match="not a skops file"):
        load_run(run)


class OwnClassifier(ClassifierMixin, BaseEstimator):
    pass


def test_a_class_of_the_users_own_is_refused_before_the_work():
    with pytest.raises(InputError, match="OwnClassifier cannot be stored safely"):
        check_storable(OwnClassifier())


def test_nothing_here_knows_pickle():
    for path in Path(driftfit.app.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            names.append(getattr(node, "module", None) or "")
            assert not {"pickle", "cloudpickle", "joblib", "dill"} & {name.split(".")[0] for name in names}, path


def test_networks_are_stored_as_safetensors(rng, tmp_path):
    pytest.importorskip("torch")
    from torch import nn

    from driftfit.models.torch.classifier import TorchClassifier

    frame, label = table(rng)
    plain = fitted(frame, label)
    matrix = as_matrix(plain.preprocessing, conform(frame, plain.plans))
    network = nn.Sequential(nn.Linear(matrix.shape[1], 8), nn.ReLU(), nn.Linear(8, 3))
    model = TorchClassifier(network, epochs=3, device="cpu", random_state=0).fit(matrix, label)
    predictor = Predictor(plain.plans, plain.preprocessing, model)
    folder = saved(predictor, tmp_path / "run")
    assert json.loads((folder / "manifest.json").read_text())["sha256"].keys() >= {"network.safetensors"}
    np.testing.assert_allclose(load_run(folder).predictor.predict(frame)[1], predictor.predict(frame)[1], rtol=1e-6)
    with pytest.raises(InputError, match="not a scikit-learn pipeline"):
        to_skops(predictor)


@pytest.mark.parametrize(
    ("model", "encoder"), [("logistic", "none"), ("logistic", "pca:2"), ("forest", "none"), ("mlp", "none")]
)
def test_onnx_runtime_agrees(rng, model, encoder):
    import onnxruntime

    frame, label = table(rng)
    predictor = fitted(frame, label, model, encoder)
    session = onnxruntime.InferenceSession(to_onnx(predictor))
    labels, probabilities = session.run(None, onnx_inputs(predictor, frame))
    expected, top = predictor.predict(frame)
    assert np.abs(probabilities.max(axis=1) - top).max() < 1e-5
    assert (labels == expected).all()


def test_what_has_no_onnx_form_says_so(rng):
    frame, label = table(rng)
    with pytest.raises(InputError, match="HistGradientBoostingClassifier has no ONNX form"):
        to_onnx(fitted(frame, label, "boosting"))
    with pytest.raises(InputError, match="MLPEncoder"):
        to_onnx(fitted(frame, label, encoder="mlp"))
    with pytest.raises(InputError, match="column 'when' is used as dates"):
        to_onnx(fitted(frame.assign(when=pd.date_range("2024-01-01", periods=N, freq="7h")), label))


@pytest.mark.parametrize("model", ["logistic", "forest", "boosting", "mlp"])
def test_the_exported_pipeline_is_read_by_the_line_that_is_printed(rng, model, tmp_path):
    frame, label = table(rng)
    predictor = fitted(frame, label, model)
    data = to_skops(predictor)
    (tmp_path / "export.skops").write_bytes(data)
    pipeline = eval(read_by(data, tmp_path / "export.skops"), {"skops": skops})
    assert (pipeline.predict(conform(frame, predictor.plans)) == predictor.predict(frame)[0]).all()


def test_models_from_a_file(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from sklearn.svm import SVC\nmodel = SVC(probability=True)\ndef make():\n    return SVC()\nnumber = 3\n1 / 1\n"
    )
    assert type(model_from_word(f"{tmp_path}/mine.py:make")).__name__ == "SVC"
    for word, reason in [
        (f"{tmp_path}/mine.py:absent", "defines no 'absent'"),
        (f"{tmp_path}/mine.py:number", "not a scikit-learn classifier"),
        (f"{tmp_path}/none.py:make", "there is no file"),
        ("tree", "there is no model 'tree'"),
    ]:
        with pytest.raises(InputError, match=reason):
            model_from_word(word)
    for word in ("pca:0", "pca:x", "umap"):
        with pytest.raises(InputError, match="there is no encoder"):
            encoder_from_word(word)


def test_most_of_scikit_learns_classifiers_can_be_stored(rng):
    from sklearn.ensemble import VotingClassifier
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    for model in (KNeighborsClassifier(), SVC(), VotingClassifier([("a", SVC()), ("b", KNeighborsClassifier())])):
        check_storable(model)
