"""A model behind a remedy is written, read and exported like any other."""

import numpy as np
import pandas as pd
import pytest

from driftfit.app import Column, Settings, check_frame, load_run, read, table_of
from driftfit.app.export import onnx_inputs, to_onnx, to_skops
from driftfit.app.folder import write_manifest
from driftfit.app.model_file import save_predictor
from driftfit.app.models import model_from_word
from driftfit.app.predictor import Predictor
from driftfit.errors import AdaptationWarning, InputError
from driftfit.files import write_json
from driftfit.methods import CovarianceAlignment, FromHistory, OwnRank, OwnScale, ProportionCorrection, RecentScale
from driftfit.methods.history import Mixture

REMEDIES = [
    OwnScale(),
    OwnRank(),
    CovarianceAlignment(),
    ProportionCorrection(),
    OwnScale(then=ProportionCorrection()),
    RecentScale(8),
    FromHistory(with_time=True),
    Mixture((FromHistory(), FromHistory(before=(4, 8))), (1.0, 1.0)),
]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 300)
    when = np.repeat([0, 1], 150)
    x = (rng.normal(size=300) + 3 * label) * (1 + when) + 5 * when
    return pd.DataFrame(
        {"x": x, "y": rng.normal(size=300), "city": rng.choice(["k", "l"], 300), "is": label, "t": when}
    )


def adapted(frame, method, model):
    checked = check_frame(frame, Settings(label="is", order=Column("t"), model=model_from_word(model)))
    prepared = checked.prepared
    learner = method.adapt(checked.source, prepared.training).learner
    return Predictor(prepared.plans, prepared.preprocessing, learner.estimator, prepared.boolean)


@pytest.mark.parametrize("model", ["logistic", "boosting"])
@pytest.mark.parametrize("method", REMEDIES, ids=lambda method: type(method).__name__)
def test_a_stored_model_predicts_the_same(frame, tmp_path, method, model):
    predictor = adapted(frame, method, model)
    labels, probability = predictor.predict(frame)
    files = save_predictor(predictor, tmp_path)
    write_json(tmp_path / "result.json", {})
    write_manifest(tmp_path, [*files, tmp_path / "result.json"])
    loaded = load_run(tmp_path).predictor
    again, same = loaded.predict(frame)
    np.testing.assert_array_equal(labels, again)
    np.testing.assert_array_equal(probability, same)
    assert to_skops(loaded) == to_skops(predictor)


def test_own_scale_goes_to_onnx_and_what_cannot_says_so(frame):
    onnxruntime = pytest.importorskip("onnxruntime")
    predictor = adapted(frame, OwnScale(), "logistic")
    session = onnxruntime.InferenceSession(to_onnx(predictor), providers=["CPUExecutionProvider"])
    label, probability = session.run(None, onnx_inputs(predictor, frame))
    np.testing.assert_array_equal(label, predictor.predict(frame)[0])
    np.testing.assert_allclose(probability.max(axis=1), predictor.predict(frame)[1], atol=1e-5)
    with pytest.raises(InputError, match="export to skops"):
        to_onnx(adapted(frame, OwnRank(), "logistic"))


def test_a_map_with_broken_arrays_is_refused(frame, tmp_path):
    predictor = adapted(frame, OwnRank(), "logistic")
    steps = predictor.model.steps
    steps[0][1].starts_ = [np.zeros(1) for _ in steps[0][1].starts_]
    files = save_predictor(predictor, tmp_path)
    write_json(tmp_path / "result.json", {})
    write_manifest(tmp_path, [*files, tmp_path / "result.json"])
    with pytest.raises(InputError, match="does not work"):
        load_run(tmp_path)


@pytest.mark.parametrize("method", REMEDIES[-3::2], ids=lambda method: type(method).__name__)
def test_rows_go_on_from_batch_to_batch_and_too_few_are_told(frame, method, monkeypatch):
    predictor = adapted(frame, method, "logistic")
    whole = predictor.predict_table(table_of(frame))
    monkeypatch.setattr(read, "BATCH_ROWS", 50)
    pd.testing.assert_frame_equal(predictor.predict_table(table_of(frame)), whole)
    with pytest.warns(AdaptationWarning, match="compares each row with the 8 last ones, and there are 3"):
        predictor.predict_table(table_of(frame[:3]))
