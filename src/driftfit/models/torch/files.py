"""Models on disk: weights as safetensors, everything else as JSON. Nothing is unpickled."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from driftfit import __version__
from driftfit.errors import InputError, one_line
from driftfit.files import write_bytes, write_text
from driftfit.models.networks import build, describe
from driftfit.models.torch.classifier import TorchClassifier
from driftfit.models.torch.samples import dtype_of, pick_device
from driftfit.models.torch.training import Adam, EarlyStopping

_FORMAT = 1
_PLAIN_PARAMETERS = ("encoder", "epochs", "refit_epochs", "batch_size", "rho")
# Of one sample, behind any layer.
_MOST_VALUES = 1 << 27


def save_classifier(classifier: TorchClassifier, path: str | Path) -> Path:
    """Write a fitted classifier as ``path.safetensors`` and ``path.json``; returns the latter.

    ``classifier``: fitted. ``path``: with or without an ending.
    """
    from safetensors.torch import save

    if not hasattr(classifier, "module_"):
        raise InputError("only a fitted TorchClassifier can be saved; call fit first")
    weights_path, json_path = _paths(path)
    tensors = {name: value.detach().cpu().contiguous() for name, value in classifier.module_.state_dict().items()}
    shape = getattr(classifier.module_, "sample_shape", None)
    about = {
        "format": _FORMAT,
        "driftfit": __version__,
        "network": describe(classifier.module_),
        "classes": _plain_classes(classifier.classes_),
        "sample_shape": None if shape is None else list(shape),
        "n_features_in": getattr(classifier, "n_features_in_", None),
        "parameters": _parameters(classifier),
    }
    text = json.dumps(about, indent=2)
    write_bytes(weights_path, save(tensors))
    write_text(json_path, text + "\n")
    return json_path


def load_classifier(path: str | Path, module: nn.Module | None = None, device: str = "auto") -> TorchClassifier:
    """Read a classifier that `save_classifier` wrote; its weights are the same bit for bit.

    ``path``: as given to `save_classifier`. ``module``: the architecture, for networks of layers that JSON cannot
    describe.
    """
    from safetensors.torch import load_file

    weights_path, json_path = _paths(path)
    try:
        about = json.loads(json_path.read_text())
        tensors = load_file(weights_path)
    except FileNotFoundError as error:
        raise InputError(
            f"{error.filename or weights_path} is missing; a model is a .json and a .safetensors"
        ) from None
    except Exception as error:
        raise InputError(f"{json_path.stem} is damaged ({one_line(error)}); save the model again") from None
    if not isinstance(about, dict) or about.get("format") != _FORMAT:
        found = about.get("format") if isinstance(about, dict) else type(about).__name__
        raise InputError(f"{json_path} has format {one_line(found, 40)!r}; this version reads format {_FORMAT}")
    try:
        return _built(about, tensors, module, device, json_path)
    except InputError:
        raise
    except Exception as error:
        # Well-formed JSON with something else in it than was written: any part of it may be missing or of another kind.
        raise InputError(f"{json_path} is damaged ({one_line(error)}); save the model again") from None


def _built(
    about: dict[str, Any], tensors: dict[str, Any], module: nn.Module | None, device: str, json_path: Path
) -> TorchClassifier:
    if module is None:
        if about["network"] is None:
            raise InputError(f"{json_path} does not describe its network; pass the architecture as module=...")
        _check_size(about, tensors, json_path)
        module = build(about["network"])
    try:
        module.load_state_dict(tensors)
    except RuntimeError as error:
        text = one_line(str(error), 300)
        raise InputError(f"the weights beside {json_path} do not fit the module: {text}") from None
    classifier = TorchClassifier(module, device=device, **_restored(about["parameters"]))
    kind, values = about["classes"]["dtype"], about["classes"]["values"]
    if np.dtype(kind).kind not in "biufU":
        raise InputError(f"{json_path} names classes of type {one_line(kind, 40)!r}; numbers and strings are read")
    if about["sample_shape"] is not None:
        module.sample_shape = tuple(about["sample_shape"])  # type: ignore[assignment]
    fitted = _fitted(classifier, module, np.array(values, dtype=kind), about["n_features_in"])
    _try_out(fitted, about["sample_shape"])
    return fitted


def _check_size(about: dict[str, Any], tensors: dict[str, Any], json_path: Path) -> None:
    """A description may not ask for more than the weights beside it hold: a few digits could fill the memory."""
    # Without storage: shapes alone.
    with torch.device("meta"):
        twin = build(about["network"]).eval()
    for name, value in twin.state_dict().items():
        if name not in tensors or tensors[name].shape != value.shape:
            lacking = f"{one_line(name, 100)} is missing or of another shape"
            raise InputError(f"the weights beside {json_path} do not fit the module: {lacking}")
    if about["sample_shape"] is not None:
        for layer in twin.modules():
            layer.register_forward_hook(_check_output)
        with torch.no_grad():
            twin(torch.empty((1, *about["sample_shape"]), dtype=dtype_of(twin), device="meta"))


def _check_output(layer: nn.Module, given: Any, output: Any) -> None:
    """A wide margin around a picture costs no weights."""
    if output.numel() > _MOST_VALUES:
        raise InputError(f"a layer {type(layer).__name__} makes {output.numel()} values of one sample; that is refused")


def _try_out(classifier: TorchClassifier, shape: list[int] | None) -> None:
    """Ask for the scores of one made-up sample: parameters that do not fit the network show there."""
    classifier.make_learner(classifier.classes_)
    if shape is not None:
        scores = classifier.predict_proba(np.zeros((1, *shape), dtype=np.float32))
        if scores.shape != (1, len(classifier.classes_)):
            raise InputError(f"the network gives {scores.shape[-1]} scores for {len(classifier.classes_)} classes")


def _fitted(classifier: TorchClassifier, module: nn.Module, classes: NDArray[Any], n: int | None) -> TorchClassifier:
    fitted = classifier.with_module(module.to(pick_device(classifier.device)).eval(), classes)
    if n is not None:
        fitted.n_features_in_ = n
    return fitted


def _paths(path: str | Path) -> tuple[Path, Path]:
    stem = Path(path)
    if stem.suffix in (".json", ".safetensors"):
        stem = stem.with_suffix("")
    return stem.with_name(stem.name + ".safetensors"), stem.with_name(stem.name + ".json")


def _plain_classes(classes: NDArray[Any]) -> dict[str, Any]:
    if classes.dtype.kind not in "biufU":
        raise InputError(f"classes of type {classes.dtype} cannot be written as JSON; use numbers or strings")
    return {"dtype": classes.dtype.str, "values": classes.tolist()}


def _parameters(classifier: TorchClassifier) -> dict[str, Any]:
    kept = {key: getattr(classifier, key) for key in _PLAIN_PARAMETERS}
    kept["random_state"] = classifier.random_state if isinstance(classifier.random_state, int) else None
    # An optimiser of the user's own is code; it is not needed to predict.
    kept["optimiser"] = asdict(classifier.optimiser) if isinstance(classifier.optimiser, Adam) else None
    kept["early_stopping"] = None if classifier.early_stopping is None else asdict(classifier.early_stopping)
    return kept


def _restored(parameters: dict[str, Any]) -> dict[str, Any]:
    restored = dict(parameters)
    if restored["optimiser"] is not None:
        restored["optimiser"] = Adam(**restored["optimiser"])
    if restored["early_stopping"] is not None:
        restored["early_stopping"] = EarlyStopping(**restored["early_stopping"])
    return restored
