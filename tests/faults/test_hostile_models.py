"""Model files by an enemy: right hashes, allowed types, wrong insides. One clear line each; the interpreter lives."""

import io
import json
import os
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from driftfit.app import load_run
from driftfit.app.columns import conform, plan_columns
from driftfit.app.features import as_matrix, make_preprocessing
from driftfit.app.folder import write_manifest
from driftfit.app.model_file import save_predictor
from driftfit.app.predictor import Predictor
from driftfit.errors import InputError
from driftfit.files import write_bytes, write_json

N = 120


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"u": rng.normal(size=N), "v": rng.normal(size=N), "city": rng.choice(["k", "l"], N)})


@pytest.fixture
def stored(table, tmp_path):
    """Write a run with a classifier that was spoiled after its training; returns its folder."""

    def write(classifier, spoil=lambda model, preprocessing: None):
        plans = plan_columns(table)
        preprocessing = make_preprocessing(plans).fit(conform(table, plans))
        features = as_matrix(preprocessing, conform(table, plans))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            classifier.fit(features, np.where(table["u"] + table["v"] > 0, "a", "b"))
        spoil(classifier, preprocessing)
        folder = tmp_path / "RUN"
        folder.mkdir(exist_ok=True)
        files = save_predictor(Predictor(plans, preprocessing, Pipeline([("model", classifier)])), folder)
        write_json(folder / "result.json", {})
        write_manifest(folder, [*files, folder / "result.json"])
        return folder

    return write


_LOAD = """
import sys, pathlib, pandas as pd
from driftfit.errors import InputError
from driftfit.app import load_run
try:
    predictor = load_run(pathlib.Path(sys.argv[1])).predictor
except InputError as error:
    print("refused:", error)
else:
    frame = pd.DataFrame({"u": [0.0, 1e30, -1e30], "v": [0.0, -1e30, 1e30], "city": ["k", "l", "x"]})
    print("answered:", *predictor.predict(frame)[0])
"""


def loaded(*folders):
    """What another interpreter says to each run, in turn; it must live to the end."""
    said = []
    for folder in folders:
        done = subprocess.run([sys.executable, "-c", _LOAD, str(folder)], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr[-500:]
        said.append(done.stdout.strip())
    return said[0] if len(said) == 1 else said


def tree_state(**changes):
    """Spoil the nodes of a tree, or what it says about them."""

    def spoil(model, preprocessing):
        tree = model.tree_ if hasattr(model, "tree_") else model.estimators_[0].tree_
        state = tree.__getstate__()
        nodes = state["nodes"].copy()
        inner = int(np.flatnonzero(nodes["left_child"] != -1)[-1])
        for name, value in changes.items():
            if name in ("node_count", "max_depth"):
                state[name] = value
            elif name == "values":
                state["values"] = np.full_like(state["values"], value)
            else:
                nodes[name][inner] = value
        state["nodes"] = nodes
        tree.__setstate__(state)

    return spoil


TREES = {
    "child beyond": ({"left_child": 2**40}, "names the child 1099511627776 among"),
    "child just beyond": ({"right_child": 10**6}, "names the child 1000000 among"),
    "child negative": ({"right_child": -7}, "names the child -7"),
    "cycle": ({"left_child": 0}, "names the child 0"),
    "one child": ({"right_child": -1}, "names the child -1"),
    "feature beyond": ({"feature": 2**33}, "asks for feature 8589934592 of 4"),
    "feature negative": ({"feature": -3}, "asks for feature -3"),
    "NaN values": ({"values": np.nan}, "does not work"),
    "no nodes": ({"node_count": 0}, "says it has 0 nodes"),
}


@pytest.mark.parametrize("case", TREES)
@pytest.mark.parametrize("kind", ["tree", "forest"])
def test_a_spoiled_tree_is_refused(stored, case, kind):
    changes, words = TREES[case]
    small = {"max_depth": 4, "random_state": 0}
    model = DecisionTreeClassifier(**small) if kind == "tree" else RandomForestClassifier(3, **small)
    with pytest.raises(InputError, match=words):
        load_run(stored(model, tree_state(**changes)))


def edited(folder, change):
    """Change the description inside a model file, and the manifest to fit."""
    path = folder / "model.skops"
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(contents["schema.json"])
    change(schema, contents)
    contents["schema.json"] = json.dumps(schema).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    write_bytes(path, buffer.getvalue())
    write_manifest(folder, [folder / name for name in ("model.skops", "columns.json", "result.json")])
    return folder


def nodes_named(schema, name):
    """All descriptions in a schema that have an item of this name."""
    found = []
    if isinstance(schema, dict):
        found += [schema] if name in schema else []
        schema = list(schema.values())
    if isinstance(schema, list):
        for item in schema:
            found += nodes_named(item, name)
    return found


def test_a_file_that_lies_about_its_number_of_nodes_does_no_harm(stored):
    def lie(schema, contents):
        for state in nodes_named(schema, "node_count"):
            # Under an address of its own: equal numbers share one, and the first of them counts.
            state["node_count"] |= {"content": str(2**40), "__id__": 2**60}

    folder = edited(stored(DecisionTreeClassifier(max_depth=3)), lie)
    # scikit-learn itself takes the number of nodes that are there.
    assert loaded(folder).startswith(("answered: ", "refused: "))


def test_what_ended_the_interpreter_is_one_line_now(stored):
    folder = stored(RandomForestClassifier(3, max_depth=4, random_state=0), tree_state(left_child=2**40))
    said = loaded(folder)
    assert said.startswith("refused: ")
    assert "holds a damaged model (a node of a tree names the child" in said


def boosting(**changes):
    def spoil(model, preprocessing):
        nodes = model._predictors[0][0].nodes
        inner = int(np.flatnonzero(nodes["is_leaf"] == 0)[-1])
        for name, value in changes.items():
            nodes[name][inner] = value

    return spoil


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"left": 2**31}, "names the child"),
        ({"right": 0}, "names the child 0"),
        ({"feature_idx": 10**9}, "asks for feature 1000000000 of 4"),
        ({"feature_idx": -1}, "asks for feature -1"),
        ({"is_categorical": 1, "bitset_idx": 77}, "names categories that are not there"),
    ],
)
def test_a_spoiled_boosted_tree_is_refused(stored, changes, words):
    model = HistGradientBoostingClassifier(max_iter=2, early_stopping=False)
    with pytest.raises(InputError, match=words):
        load_run(stored(model, boosting(**changes)))


def setting(**values):
    def spoil(model, preprocessing):
        for name, value in values.items():
            setattr(model, name, value(getattr(model, name)))

    return spoil


def scaler(model, preprocessing):
    preprocessing.transformers_[0][1].steps[1][1].scale_ = np.ones(9)


def words_of(model, preprocessing):
    encoder = next(part for _, part, _ in preprocessing.transformers_ if hasattr(part, "categories_"))
    encoder.categories_ = [np.array(["k", "l", "m", "n"], dtype=object)]


OTHERS = {
    "coefficients of another shape": (LogisticRegression, setting(coef_=lambda c: c[:, :2]), "does not work"),
    "coefficients that are no numbers": (LogisticRegression, setting(coef_=lambda c: c * np.nan), "does not work"),
    "another number of classes": (
        LogisticRegression,
        setting(classes_=lambda c: np.array(["a", "b", "c"])),
        "not work",
    ),
    "a scaler of another table": (LogisticRegression, scaler, "does not work"),
    "words of another table": (LogisticRegression, words_of, r"one-hot words take \[4\] columns"),
    "layers that do not fit": (MLPClassifier, setting(coefs_=lambda c: [c[0][:2], c[1]]), "does not work"),
    "labels beyond the classes": (KNeighborsClassifier, setting(_y=lambda y: y + 10**6), "not among the classes"),
    "rows of another width": (KNeighborsClassifier, setting(_fit_X=lambda x: x[:, :1]), "not a table of the model's"),
    "more vectors than there are": (SVC, setting(_n_support=lambda n: n * 1000), "not those of their classes"),
    "few coefficients": (SVC, setting(_dual_coef_=lambda c: c[:, :1]), "_dual_coef_ of the support vectors has shape"),
    "trees of other features": (
        lambda: GradientBoostingClassifier(n_estimators=2),
        setting(n_features_in_=lambda n: 2),
        "differ in their number of features",
    ),
    "trees for other classes": (
        lambda: GradientBoostingClassifier(n_estimators=2),
        setting(estimators_=lambda e: np.hstack([e, e, e])),
        "not one for each class",
    ),
    "a forest of other features": (
        lambda: RandomForestClassifier(2, max_depth=2),
        setting(n_features_in_=lambda n: 1),
        "differ in their number of features",
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_parts_that_do_not_fit_are_refused(stored, case):
    make, spoil, words = OTHERS[case]
    with pytest.raises(InputError, match=words):
        load_run(stored(make(), spoil))


def test_sound_models_of_all_kinds_are_loaded(stored, table):
    for model in (
        RandomForestClassifier(3),
        GradientBoostingClassifier(n_estimators=3),
        HistGradientBoostingClassifier(max_iter=3),
        KNeighborsClassifier(),
        KNeighborsClassifier(algorithm="kd_tree"),
        SVC(),
        SVC(kernel="linear"),
        MLPClassifier((4,), max_iter=20),
    ):
        predictor = load_run(stored(model)).predictor
        features = as_matrix(predictor.preprocessing, conform(table, predictor.plans))
        assert (predictor.predict(table)[0] == model.predict(features)).mean() > 0.99


def test_a_packed_archive_is_refused(stored):
    folder = stored(LogisticRegression())
    with zipfile.ZipFile(folder / "model.skops") as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(folder / "model.skops", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    write_manifest(folder, [folder / name for name in ("model.skops", "columns.json", "result.json")])
    with pytest.raises(InputError, match="is packed, which driftfit never does"):
        load_run(folder)


def test_the_same_model_gives_the_same_bytes(stored):
    first = (stored(RandomForestClassifier(3, random_state=0)) / "model.skops").read_bytes()
    ballast = [bytearray(100) for _ in range(1000)]
    second = (stored(RandomForestClassifier(3, random_state=0)) / "model.skops").read_bytes()
    assert len(ballast) == 1000
    assert first == second
    assert skops.io.get_untrusted_types(data=first) is not None


@pytest.mark.parametrize("content", [b"[]", b"{}", b"null", b"[" * 100_000, b'{"format": 1, "columns": 3}', b"\xff"])
@pytest.mark.parametrize("name", ["columns.json", "result.json"])
def test_rehashed_nonsense_is_one_clear_line(stored, name, content):
    folder = stored(LogisticRegression())
    write_bytes(folder / name, content)
    write_manifest(folder, [folder / file for file in ("model.skops", "columns.json", "result.json")])
    if name == "result.json" and content.startswith(b"{"):
        load_run(folder)
        return
    with pytest.raises(InputError, match=r"damaged|format"):
        load_run(folder)


@pytest.mark.parametrize("name", ["manifest.json", "model.skops", "columns.json", "result.json"])
def test_a_pipe_in_a_run_does_not_keep_us_waiting(stored, name):
    folder = stored(LogisticRegression())
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(InputError, match=r"has no manifest|is missing"):
        load_run(folder)


NETWORKS = {
    "a list": lambda about: [],
    "no network": lambda about: {key: value for key, value in about.items() if key != "network"},
    "a word for a network": lambda about: {**about, "network": "Linear"},
    "an unknown layer": lambda about: {**about, "network": {"layer": "Evil"}},
    "a layer beyond all memory": lambda about: {
        **about,
        "network": {"layer": "Linear", "in_features": 10**9, "out_features": 10**9, "bias": True},
    },
    "a negative layer": lambda about: {
        **about,
        "network": {"layer": "Linear", "in_features": -4, "out_features": 2, "bias": True},
    },
    "classes that are objects": lambda about: {**about, "classes": {"dtype": "O", "values": [{}, []]}},
    "more classes than outputs": lambda about: {**about, "classes": {"dtype": "<i8", "values": [0, 1, 2, 3, 4]}},
    "no parameters": lambda about: {**about, "parameters": None},
    "parameters of others": lambda about: {**about, "parameters": {**about["parameters"], "evil": 1}},
    "a shape of words": lambda about: {**about, "sample_shape": ["a", "b"]},
}


@pytest.mark.parametrize("case", NETWORKS)
def test_a_spoiled_description_of_a_network_is_one_clear_line(stored, table, case):
    torch = pytest.importorskip("torch")
    from driftfit.models.torch.classifier import TorchClassifier

    plain = load_run(stored(LogisticRegression())).predictor
    features = as_matrix(plain.preprocessing, conform(table, plain.plans))
    network = TorchClassifier(torch.nn.Linear(4, 2), epochs=1, device="cpu", random_state=0)
    folder = stored(LogisticRegression())
    predictor = Predictor(plain.plans, plain.preprocessing, network.fit(features, (features[:, 0] > 0).astype(int)))
    files = [*save_predictor(predictor, folder), folder / "result.json"]
    write_manifest(folder, files)
    load_run(folder)
    about = json.loads((folder / "network.json").read_text())
    write_bytes(folder / "network.json", json.dumps(NETWORKS[case](about)).encode())
    write_manifest(folder, files)
    with pytest.raises(InputError) as caught:
        load_run(folder)
    assert "\n" not in str(caught.value)
