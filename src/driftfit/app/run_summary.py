"""A result as plain values: what goes into `result.json` and what the report is built from."""

from __future__ import annotations

import datetime
import platform
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from driftfit import __version__
from driftfit.app.answer import answer_ahead, answer_of
from driftfit.app.checked import Checked
from driftfit.app.features import feature_owners
from driftfit.app.job import Result
from driftfit.app.past_windows import past_windows
from driftfit.app.report.numbers import confidence_histogram, domain_distances, flat_map, image_tiles, what_moved
from driftfit.selection import AccuracyEstimate, Choice, Ladder, LadderChoice

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "pyarrow", "skops", "torch")


def summarise(result: Result, command: list[str] | None = None, redo: str = "", run: str = "RUN") -> dict[str, Any]:
    """Everything worth telling about a run, as plain JSON values without NaN.

    Parameters
    ----------
    result : Result
    command : list of str, optional
        The arguments that started it.
    redo : str
        The shell command that does it again.
    run : str
        Where the run is kept, as it is written on a command line.
    """
    prepared, settings = result.checked.prepared, result.checked.settings
    domains = [result.path.source, *(step.domain for step in result.path.steps)]
    distances = domain_distances(domains, settings.seed)
    points, stress = flat_map(distances)
    owners = feature_owners(prepared.preprocessing, prepared.plans)
    features, lines = what_moved(prepared.sample, owners, settings.seed)
    kept = result.adapted if result.kept == "adapted" else result.source
    answer = answer_of(result, run).to_dict()
    created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    content = {
        "answer": answer,
        "log": [_decided(result, answer["sentences"], created)],
        "driftfit": __version__,
        "created": created,
        "command": command or [],
        "config": settings.describe() | _used(result),
        "generated": _generated(result.choice),
        "remedies": _remedies(result.choice),
        "backtest": past_windows(result.choice),
        "ladder": ladder_summary(result.choice.ladder) if isinstance(result.choice, LadderChoice) else None,
        "seed": settings.seed,
        "versions": _versions(),
        "data": _data(result),
        "preprocessing": [plan.to_dict() for plan in prepared.plans],
        "sampled": prepared.sampled,
        "warnings": list(result.warnings),
        "sets": None if result.predictor.sets is None else asdict(result.predictor.sets),
        "trusted": result.trusted,
        "check": check_summary(result.checked),
        "verdict": _verdict(result),
        "domains": _domains(result),
        "steps": [asdict(record) for record in result.adaptation.records],
        "accuracy": _accuracy(result),
        "kept": result.kept,
        "kept_reason": result.decision.sentence,
        "map": {"points": points, "stress": stress},
        "distances": distances,
        "features": features,
        "plan": lines,
        "confidence": confidence_histogram(result.source, kept, prepared.sample.target.samples),
        "class_shares": _class_shares(result),
        "images": image_tiles(result),
        "predictions": "predictions.parquet",
        "redo": redo,
    }
    return {key: plain(value) for key, value in content.items()}


def check_summary(checked: Checked) -> dict[str, Any]:
    """What `driftfit check` tells, and `driftfit adapt` before it adapts, as plain JSON values without NaN."""
    decision, prepared = checked.decision, checked.prepared
    content = {
        "answer": answer_ahead(checked).to_dict(),
        **decision.verdict.to_dict(),
        "accuracy": _estimate(decision.before),
        "source_shares": _source_shares(checked),
        "diagnosis": _diagnosis(checked),
        "ladder": ladder_summary(checked.ladder),
        "sampled": prepared.sampled,
        "preprocessing": [plan.to_dict() for plan in prepared.plans],
        "warnings": list(checked.warnings),
    }
    return {key: plain(value) for key, value in content.items()}


def plain(value: Any) -> Any:
    """Numbers, text, lists and dictionaries; what is not finite becomes None.

    >>> plain({"a": (np.float64(1.5), float("nan")), "b": np.arange(2)})
    {'a': [1.5, None], 'b': [0, 1]}
    """
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, str):
        # The name of a file may hold bytes that are no text, which no JSON file takes.
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if value is None or isinstance(value, bool | int):
        return value
    return str(value)


def _used(result: Result) -> dict[str, Any]:
    return {"n_generated_used": result.n_generated, "n_generated_reason": result.choice.sentence}


def _decided(result: Result, sentences: list[str], created: str) -> dict[str, Any]:
    """This decision as an entry of the log of a run."""
    known = [one for one in result.checked.prepared.sampled if one.startswith("labels until ")]
    came = f"{result.checked.table.n_rows:,} rows{''.join(f'; {one}' for one in known)}."
    return {"at": created, "came": came, "done": sentences[1], "expected": sentences[2]}


def _data(result: Result) -> dict[str, Any]:
    prepared = result.checked.prepared
    return {
        "files": [asdict(file) for file in result.checked.table.files],
        "label": result.checked.settings.label,
        "order": str(result.checked.settings.order),
        "classes": _class_names(result),
        "n_rows": result.checked.table.n_rows,
        "n_target": len(result.predictions),
        "n_windows": sum(not one.name.endswith(", no label") for one in prepared.history or prepared.windows),
        "windows": [{"name": window.name, "rows": len(window)} for window in prepared.windows],
    }


def _class_names(result: Result) -> list[str]:
    classes = result.source.classes
    return [str(label) for label in classes]


def _verdict(result: Result) -> dict[str, Any]:
    numbers = result.decision.verdict.to_dict()
    return {
        "decision": numbers.pop("advice"),
        "reasons": numbers.pop("reasons"),
        "numbers": numbers,
    }


def _source_shares(checked: Checked) -> dict[str, float]:
    """Share of each class among the labelled rows, the largest first."""
    source, classes = checked.prepared.training.source, checked.source.classes
    shares = source.one_hot(classes).mean(axis=0)
    names = [str(name) for name in classes]
    return {names[place]: float(shares[place]) for place in np.argsort(-shares, kind="stable")}


def _diagnosis(checked: Checked) -> dict[str, Any]:
    found = checked.diagnosis
    return {"kind": "not known", "reasons": [found]} if isinstance(found, str) else found.to_dict()


def _remedies(choice: Choice) -> dict[str, Any] | None:
    """The remedies of a table that were compared, or None where there was another method."""
    if not isinstance(choice, LadderChoice):
        return None
    tried = []
    for name, score in choice.scores.items():
        gain = choice.gains.get(name)
        numbers = {} if gain is None else {"gain": gain.value, "low": gain.low, "high": gain.high}
        tried.append({"name": name, "score": score, **numbers})
    return {
        "best": choice.best,
        "runner_up": choice.runner_up,
        "sentence": choice.sentence,
        "in_points": choice.in_points,
        "measured": [_estimate(estimate) for estimate in choice.measured],
        "tried": tried,
        "struck": [{"name": name, "reason": reason} for name, reason in choice.struck.items()],
        "failed": [{"name": name, "reason": reason} for name, reason in choice.failed.items()],
    }


def ladder_summary(ladder: Ladder | None) -> dict[str, Any] | None:
    """What the answer rests on, as plain values; None where no evidence was weighed."""
    if ladder is None:
        return None
    return {
        "rung": ladder.rung.value,
        "declared": list(ladder.declared),
        "used": ladder.used,
        "moved": {"rejected": ladder.moved.rejected, "p": ladder.moved.p, "sentence": ladder.moved.sentence},
        "tested": [
            {"assumption": name, "meaning": name.meaning, "rejected": one.rejected, "sentence": one.sentence}
            for name, one in ladder.tested.items()
        ],
        "others": [
            {
                "assumption": one.assumption,
                "method": one.method,
                "changed": one.changed,
                "labels": one.labels,
                "sentence": one.sentence,
            }
            for one in ladder.others
        ],
    }


def _generated(choice: Choice) -> dict[str, Any]:
    if isinstance(choice, LadderChoice):
        return {"n_generated": 0, "how": "asked", "sentence": "remedies were compared instead", "scores": []}
    scores = [{"n_generated": number, "score": score} for number, score in choice.scores.items()]
    return {"n_generated": choice.n_generated, "how": choice.how, "sentence": choice.sentence, "scores": scores}


def _domains(result: Result) -> list[dict[str, Any]]:
    path = result.path
    found = [{"name": path.source.name, "n_samples": len(path.source), "generated": False, "position": 0.0}]
    for step in path.steps:
        about = {"name": step.domain.name, "n_samples": len(step.domain)}
        found.append({**about, "generated": step.generated, "position": step.position})
    return found


def _accuracy(result: Result) -> dict[str, Any]:
    decision = result.decision
    return {"old": _estimate(decision.before), "new": _estimate(decision.after or decision.before)}


def _estimate(estimate: AccuracyEstimate) -> dict[str, Any]:
    return {
        "estimate": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "estimator": estimate.method,
        "reliable": estimate.reliable,
        "remark": estimate.remark,
    }


def _class_shares(result: Result) -> list[dict[str, Any]]:
    shares = result.checked.prepared.training.source.one_hot(result.source.classes).mean(axis=0)
    found = [{"position": 0.0, "shares": shares.tolist()}]
    for record in result.adaptation.records:
        found.append({"position": record.position, "shares": list(record.class_shares)})
    return found


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "driftfit": __version__}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
