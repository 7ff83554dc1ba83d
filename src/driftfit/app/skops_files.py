"""Skops files whose types are all on a short list, and whose bytes repeat; nothing is ever unpickled."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path, PurePosixPath
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from driftfit.app.models import is_network
from driftfit.errors import InputError, one_line

# What the classifiers and transformers offered here are made of, beyond what skops trusts by itself.
_TRUSTED = frozenset(
    {
        "driftfit.methods.alignment.AffineMap",
        "driftfit.methods.alignment.RankMap",
        "driftfit.methods.history.WindowAge",
        "driftfit.methods.history.MixedClassifier",
        "driftfit.methods.recent_scale.RecentMap",
        "driftfit.methods.recent_scale.RowsBefore",
        "driftfit.methods.held_out.DecidingClassifier",
        "driftfit.methods.held_out.RescaledClassifier",
        "driftfit.app.models.MLPEncoder",
        "numpy.dtype",
        "sklearn._loss.link.Interval",
        "sklearn._loss.link.LogitLink",
        "sklearn._loss.link.MultinomialLogit",
        "sklearn._loss.loss.HalfBinomialLoss",
        "sklearn._loss.loss.HalfMultinomialLoss",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.tree._tree.Tree",
        "sklearn.utils._bunch.Bunch",
    }
)


def check_storable(model: Any) -> None:
    """Raise unless a model is made of types that can be stored and loaded safely.

    Asked before a long run rather than after it, of a copy trained on a few made-up rows.
    """
    if is_network(model):
        return
    import skops.io

    try:
        unknown = unknown_types(skops.io.dumps(_tried(model)))
    except Exception as error:
        raise InputError(f"{type(model).__name__} cannot be stored without pickle ({error})") from None
    if unknown:
        raise InputError(
            f"a model with parts of type {unknown[0]} cannot be stored safely; build it from scikit-learn's own "
            "classifiers, or use driftfit's TorchClassifier"
        )


def _tried(model: Any) -> Any:
    from sklearn.base import clone

    samples = np.random.default_rng(0).normal(size=(60, 4))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return clone(model).fit(samples, (samples[:, 0] > 0).astype(int))
    except Exception:  # a classifier that cannot live on so little is looked at as it is
        return model


def load_skops(path: Path) -> Any:
    """Read a skops file whose types are all known."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read ({error.strerror})") from None
    return loaded_skops(data, str(path))


def loaded_skops(data: bytes, who: str) -> Any:
    """What the bytes of a skops file hold, if its types are all known; ``who`` names it in messages."""
    import skops.io

    try:
        _check_stored(data)
        unknown = unknown_types(data)
    except Exception as error:
        raise InputError(f"{who!r} is not a skops file ({one_line(error)})") from None
    if unknown:
        raise InputError(
            f"{who!r} asks for the type {one_line(unknown[0])}, which is not on the list of trusted types; "
            "it was not loaded"
        )
    try:
        return skops.io.loads(data, trusted=sorted(_TRUSTED))
    except Exception as error:
        raise InputError(f"{who!r} cannot be loaded ({one_line(error)})") from None


def _check_stored(data: bytes) -> None:
    """Our archives are not packed: one that is may grow beyond all memory."""
    with ZipFile(io.BytesIO(data)) as archive:
        packed = [file.filename for file in archive.infolist() if file.compress_type != ZIP_STORED]
    if packed:
        raise ValueError(f"{packed[0]!r} in it is packed, which driftfit never does")


def unknown_types(data: bytes) -> list[str]:
    """Types in a skops file that are not trusted."""
    import skops.io

    return sorted(set(skops.io.get_untrusted_types(data=data)) - _TRUSTED)


_SCHEMA = "schema.json"


def repeatable(data: bytes) -> bytes:
    """A skops archive with numbers in place of memory addresses, and no dates."""
    with ZipFile(io.BytesIO(data)) as archive:
        schema = json.loads(archive.read(_SCHEMA))
        files: dict[str, str] = {}
        _renumber(schema, {}, files)
        contents = {new: archive.read(old) for old, new in files.items()}
    contents[_SCHEMA] = json.dumps(schema, indent=2).encode()
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_STORED) as archive:
        for name, content in contents.items():
            # The date of a file says nothing about a model.
            archive.writestr(ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
    return buffer.getvalue()


def _renumber(node: Any, numbers: dict[int, int], files: dict[str, str]) -> None:
    """Number objects and files in the order in which the schema names them, in place."""
    if isinstance(node, list):
        for item in node:
            _renumber(item, numbers, files)
    if not isinstance(node, dict):
        return
    if isinstance(node.get("__id__"), int):
        node["__id__"] = numbers.setdefault(node["__id__"], len(numbers))
    # Only a description of an object names a file; a parameter of this name is an object itself.
    if isinstance(node.get("file"), str) and "__loader__" in node:
        node["file"] = files.setdefault(node["file"], f"{len(files)}{PurePosixPath(node['file']).suffix}")
    for item in node.values():
        _renumber(item, numbers, files)


_PLAIN = (type(None), bool, int, float, complex, str, bytes, slice, type, np.generic, np.dtype)
_RANDOM = (np.random.RandomState, np.random.Generator)
# Compiled, but without any state that is followed.
_HARMLESS = ("sklearn._loss._loss.", "sklearn.linear_model._sgd_fast.", "sklearn.metrics._dist_metrics.")
_KERNELS = ("linear", "poly", "rbf", "sigmoid")


def check_parts(model: Any) -> None:
    """Raise unless compiled code can use a loaded model without leaving its own memory.

    It follows the indices that a model holds without asking: a child beyond the nodes of a tree ends the interpreter,
    perhaps after thousands of rows. So every object is visited; a compiled one is refused unless a check here knows it.
    What is merely wrong raises in Python, or shows when a row is predicted.
    """
    try:
        _visit(model, {})
    except InputError:
        raise
    except Exception as error:
        # What scikit-learn always sets is missing, or is of another kind.
        raise InputError(f"{type(error).__name__}: {error}"[:200]) from None


def _visit(value: Any, seen: dict[int, Any]) -> None:
    if isinstance(value, (*_PLAIN, *_RANDOM)) or id(value) in seen:
        return
    seen[id(value)] = value  # kept, so that no other object gets its address
    if isinstance(value, dict):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        parts = list(value)
    elif isinstance(value, np.ndarray):
        parts = list(value.ravel()) if value.dtype.hasobject else []
    else:
        _check_object(value)
        # The search tree of nearest neighbours was built anew by the check.
        own = getattr(value, "__dict__", {})
        parts = [item for name, item in own.items() if not (name == "_tree" and "_fit_X" in own)]
    for item in parts:
        _visit(item, seen)


def _check_object(value: Any) -> None:
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    if name == "sklearn.tree._tree.Tree":
        _check_tree(value)
    elif hasattr(value, "_predictors"):
        _check_boosting(value)
    elif hasattr(value, "support_vectors_") or hasattr(value, "_n_support"):
        _check_vectors(value)
    elif hasattr(value, "_n_features_outs"):
        _check_encoder(value)
    elif hasattr(value, "_fit_X"):
        _check_neighbours(value)
    elif hasattr(value, "tree_") or hasattr(value, "estimators_"):
        _check_ensemble(value)
    elif sp.issparse(value) or not (hasattr(value, "__dict__") or name.startswith(_HARMLESS)):
        raise InputError(f"a part of type {name} cannot be checked")


def _check_nodes(inner: NDArray[Any], children: list[Any], features: Any, n_nodes: int, n_features: int) -> None:
    """Children lie behind their parent, as both builders put them: so no way leads back, or out of the tree."""
    at = np.flatnonzero(inner)
    for own in children:
        places = np.asarray(own)[at].astype(np.int64)
        bad = (places <= at) | (places >= n_nodes)
        if bad.any():
            raise InputError(f"a node of a tree names the child {int(places[bad][0])} among {n_nodes} nodes")
    asked = np.asarray(features)[at]
    bad = (asked < 0) | (asked >= n_features)
    if bad.any():
        raise InputError(f"a node of a tree asks for feature {int(asked[bad][0])} of {n_features}")


def _check_tree(tree: Any) -> None:
    """Its arrays are looked at only once their length is known to be true."""
    n_nodes = int(tree.node_count)
    if not 0 < n_nodes <= int(tree.capacity):
        raise InputError(f"a tree says it has {n_nodes} nodes and holds {int(tree.capacity)}")
    left = np.asarray(tree.children_left)
    _check_nodes(left != -1, [left, tree.children_right], tree.feature, n_nodes, int(tree.n_features))


def _check_ensemble(model: Any) -> None:
    """Trees, forests and boosting hand their rows to the nodes without asking how many features those expect."""
    members = np.asarray(getattr(model, "estimators_", [model]), dtype=object)
    trees = [member.tree_ for member in members.ravel() if hasattr(member, "tree_")]
    # Some ensembles give each member columns of its own, which it counts by itself.
    own_columns = hasattr(model, "estimators_features_")
    if any(tree.n_features != model.n_features_in_ for tree in trees) and not own_columns:
        raise InputError("the trees of a model differ in their number of features")
    if hasattr(model, "n_trees_per_iteration_"):
        flat = all(tree.n_outputs == tree.max_n_classes == 1 for tree in trees)
        shape = (members.ndim, members.shape[-1], len(trees))
        if not flat or shape != (2, model.n_trees_per_iteration_, members.size):
            raise InputError("the trees of a boosted model are not one for each class")


def _check_boosting(model: Any) -> None:
    """Histogram boosting: the nodes of every tree, and the categories of every feature."""
    n_features, mapper = int(model.n_features_in_), model._bin_mapper
    categorical = np.asarray(mapper.is_categorical_)
    if categorical.shape != (n_features,) or len(mapper.bin_thresholds_) != n_features:
        raise InputError(f"the bins of a boosted model are not those of {n_features} features")
    for feature in np.flatnonzero(categorical):
        values = np.asarray(mapper.bin_thresholds_[feature], dtype=np.float64)
        if not ((values >= 0) & (values < 256)).all():
            raise InputError("a boosted model has categories outside 0 .. 255")
    # Room for the scores is made by this number, before any tree is asked.
    if any(len(trees) != model.n_trees_per_iteration_ for trees in model._predictors):
        raise InputError("the trees of a boosted model are not one for each class")
    for predictor in [tree for trees in model._predictors for tree in trees]:
        nodes, sets = predictor.nodes, predictor.raw_left_cat_bitsets
        if nodes.ndim != 1 or not len(nodes):
            raise InputError("a boosted tree has no nodes")
        inner = nodes["is_leaf"] == 0
        _check_nodes(inner, [nodes["left"], nodes["right"]], nodes["feature_idx"], len(nodes), n_features)
        split = nodes[inner & (nodes["is_categorical"] != 0)]
        fits = isinstance(sets, np.ndarray) and sets.ndim == 2 and sets.shape[1] == 8
        if not fits or (split["bitset_idx"] >= len(sets)).any() or not categorical[split["feature_idx"]].all():
            raise InputError("a node of a boosted tree names categories that are not there")


def _check_vectors(model: Any) -> None:
    """Support vectors: the compiled code takes every length from another array."""
    counts, n_classes, n_vectors = np.asarray(model._n_support), len(model.classes_), len(model.support_vectors_)
    pairs = n_classes * (n_classes - 1) // 2
    shapes: dict[str, tuple[tuple[int, ...], ...]] = {
        "support_vectors_": ((n_vectors, int(model.n_features_in_)),),
        "support_": ((n_vectors,),),
        "_n_support": ((n_classes,),),
        "_dual_coef_": ((n_classes - 1, n_vectors),),
        "_intercept_": ((pairs,),),
        "_probA": ((0,), (pairs,)),
        "_probB": ((0,), (pairs,)),
    }
    if model._sparse or model.kernel not in _KERNELS:
        raise InputError(f"support vectors of a kernel {str(model.kernel)!r}, or sparse ones, cannot be checked")
    for name, allowed in shapes.items():
        found = np.shape(getattr(model, name))
        if found not in allowed:
            raise InputError(f"{name} of the support vectors has shape {found}, expected {allowed[0]}")
    if (counts < 0).any() or counts.sum() != n_vectors:
        raise InputError("the support vectors are not those of their classes")


def _check_neighbours(model: Any) -> None:
    """Nearest neighbours: labels are looked up by their number; the search tree over the rows is built again."""
    rows, labels, classes = model._fit_X, np.asarray(model._y), model.classes_
    if not isinstance(rows, np.ndarray) or rows.shape != (model.n_samples_fit_, model.n_features_in_):
        raise InputError("the rows of the nearest neighbours are not a table of the model's features")
    if rows.dtype.kind != "f" or not np.isfinite(rows).all():
        raise InputError("the rows of the nearest neighbours are not finite numbers")
    if labels.shape != (len(rows),) or labels.dtype.kind != "i" or not isinstance(classes, np.ndarray):
        raise InputError("the labels of the nearest neighbours are not one for each row")
    if not ((labels >= 0) & (labels < len(classes))).all():
        raise InputError("the labels of the nearest neighbours are not among the classes")
    if model._tree is not None:
        from sklearn.neighbors import KDTree

        if model.effective_metric_ != "euclidean":
            raise InputError("nearest neighbours in a tree are looked up by Euclidean distance alone")
        model._tree = KDTree(rows, model.leaf_size)


def _check_encoder(encoder: Any) -> None:
    """One-hot words: a word beyond the columns would be written beyond the matrix."""
    mappings: list[Any] = [None] * len(encoder.categories_)
    if encoder._infrequent_enabled:
        mappings = list(encoder._default_to_infrequent_mappings)
    widths = []
    for words, mapping in zip(encoder.categories_, mappings, strict=True):
        if mapping is not None and (mapping.shape != (len(words),) or mapping.dtype.kind != "i" or (mapping < 0).any()):
            raise InputError("the rare words of a column are not among its words")
        widths.append(len(words) if mapping is None else int(mapping.max()) + 1)
    if encoder.drop_idx_ is not None or list(encoder._n_features_outs) != widths:
        raise InputError(f"one-hot words take {widths} columns, the encoder says {list(encoder._n_features_outs)}")
