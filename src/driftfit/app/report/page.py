"""`build_page`: results in, one page out that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from driftfit.app.report.content import clip, dig, headline, number, percent, records, short, stops, texts
from driftfit.app.report.listings import (
    check_rows,
    decisions,
    differences,
    facts,
    fields,
    file_rows,
    gain_unit,
    past_windows,
    preparation,
    remedy_rows,
    simple_fields,
    step_rows,
)
from driftfit.app.report.moved import confidence_histogram, drift_bars, feature_bars, feature_shares, plan_lines, strips
from driftfit.app.report.path import class_stack, distance_grid, domain_map, step_bars


def build_page(results: Sequence[Mapping[str, Any]]) -> str:
    """One self-contained HTML page: the report of one result, the comparison of several.

    ``results``: contents of ``result.json``. Parts that are missing are left out of the page. A key ``name`` names the
    run in a comparison. Returns HTML without references to anything outside of it.

    >>> page = build_page([{"kept": "source", "kept_reason": "No gain was found"}])
    >>> "Keep the old model" in page and "No gain was found" in page
    True
    """
    if not results:
        raise ValueError("build_page needs at least one result, got none; pass the content of a result.json")
    if len(results) == 1:
        return _render("report.html", _report(results[0]))
    return _render("compare.html", _comparison(results))


def _report(result: Mapping[str, Any]) -> dict[str, Any]:
    path = stops(result)
    shares = feature_shares(result)
    stack = class_stack(result, path)
    stress = number(dig(result, "map", "stress"))
    return {
        "title": _title(result),
        "headline": headline(result),
        "numbers": simple_fields(dig(result, "verdict", "numbers")),
        "check_rows": check_rows(result),
        "warnings": texts(dig(result, "warnings"))[:20],
        "past": past_windows(result),
        "log": decisions(result),
        "evidence": _evidence(result),
        "drift_chart": drift_bars(result),
        "gain_unit": gain_unit(result),
        "remedies": remedy_rows(result),
        "facts": facts(result),
        "n_domains": max(len(records(dig(result, "domains"))), len(path)),
        "stops": path,
        "rows": step_rows(result, path),
        "map": domain_map(result, path),
        "stress": None if stress is None else percent(stress),
        "grid": distance_grid(result, path),
        "charts": _charts(result, path),
        "stack": stack,
        "features": feature_bars(shares),
        "n_features": len(shares),
        "plan": plan_lines(result),
        "strips": strips(result, path),
        "confidence": confidence_histogram(result),
        **_settings(result),
    }


def _evidence(result: Mapping[str, Any]) -> list[str]:
    """Everything behind the answer that is said in sentences."""
    found = dig(result, "ladder")
    tests = [one.get("sentence") for key in ("tested", "others") for one in records(dig(found, key))]
    said = [
        dig(result, "kept_reason"),
        _why_unknown(dig(result, "accuracy", "old")),
        dig(found, "moved", "sentence"),
        *tests[:20],
        *texts(dig(result, "check", "diagnosis", "reasons"))[:20],
        *(texts(dig(result, "verdict", "reasons"))[:20] if found is None else []),
    ]
    shown = [clip(one, 2000).replace(" -> ", " → ") for one in said if one]
    return [one[:1].upper() + one[1:] for one in shown]


def _why_unknown(estimate: Any) -> str:
    """Why accuracy cannot be estimated without labels, where that is so."""
    known = dig(estimate, "reliable") is not False or dig(estimate, "high") != 1.0 or dig(estimate, "low") != 0.0
    return "" if known else clip(dig(estimate, "remark"), 2000)


def _charts(result: Mapping[str, Any], path: Any) -> list[tuple[str, str, Markup]]:
    """Title, note and drawing of the charts along the path that have numbers."""
    found = [
        (
            "How far each step moves",
            "Wasserstein distance from the domain before. Hollow bars are generated domains.",
            step_bars(path, "shift", short, "Shift of each step along the path."),
        ),
        (
            "Labels that changed",
            "Share of pseudo-labels that the student changed at each step.",
            step_bars(path, "changed_fraction", percent, "Share of pseudo-labels changed at each step.", share=True),
        ),
    ]
    return [(title, note, drawing) for title, note, drawing in found if drawing is not None]


def _settings(result: Mapping[str, Any]) -> dict[str, Any]:
    command = dig(result, "command")
    return {
        "config": fields(dig(result, "config")),
        "seed": number(dig(result, "seed")),
        "versions": fields(dig(result, "versions")),
        "files": file_rows(result),
        "preparation": preparation(result),
        "sampled": texts(dig(result, "sampled"))[:50],
        "predictions": clip(dig(result, "predictions")),
        "redo": clip(dig(result, "redo"), 20_000) or " ".join(texts(command)),
        "version": clip(dig(result, "driftfit"), 40),
    }


def _comparison(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = [clip(dig(result, "name"), 60) or f"Run {place + 1}" for place, result in enumerate(results)]
    runs = []
    for name, result in zip(names, results, strict=True):
        path = stops(result)
        runs.append(
            {
                "name": name,
                "title": _title(result),
                "headline": headline(result),
                "facts": facts(result),
                "map": domain_map(result, path),
                "redo": clip(dig(result, "redo"), 20_000),
            }
        )
    return {
        "title": f"Comparison of {len(results)} runs",
        "runs": runs,
        "names": names,
        "differences": differences(results),
        "version": clip(dig(results[0], "driftfit"), 40),
    }


def _title(result: Mapping[str, Any]) -> str:
    found = dig(result, "data", "files")
    if isinstance(found, list) and found:
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        return f"{clip(dig(found[0], 'name'), 80)}{more}"
    return "Adaptation report"


def _render(template: str, content: dict[str, Any]) -> str:
    style, script = _asset("style.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; img-src data:; style-src {_fingerprint(style)}; script-src {_fingerprint(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    # Both are files of the package, not words of a user.
    assets = {"style": Markup(style), "script": Markup(script), "policy": policy}
    return _environment().get_template(template).render(**content, **assets)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("driftfit.app.report", "template"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment


def _asset(name: str) -> str:
    return files("driftfit.app.report").joinpath("template", name).read_text(encoding="utf-8").replace("\r\n", "\n")


def _fingerprint(content: str) -> str:
    """The hash by which the page's own style and script are told from any other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
