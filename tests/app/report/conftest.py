"""Made-up but plausible results, the same on every call."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest

HOSTILE = "<script>alert('x')</script>"
UNICODE = "température ℃ – 気温 🌡"
TAME = {HOSTILE: "weekend", UNICODE: "unsure", "leaves & <b>returns</b>": "leaves"}

Result = dict[str, Any]


def make_result(*, images: bool = False, kept: str = "adapted", tame: bool = False) -> Result:
    """A run on a table of five given windows with one generated domain in each gap; ``tame``: without odd names."""
    found = _make_result(images, kept)
    return _renamed(found) if tame else found


def _renamed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item) for item in value]
    if isinstance(value, str):
        for odd, plain in TAME.items():
            value = value.replace(odd, plain)
    return value


def _make_result(images: bool, kept: str) -> Result:
    rng = random.Random(7)
    names = [
        "2019",
        "2019>2020@0.50",
        "2020",
        "2020>2021@0.50",
        "2021",
        "2021>2022@0.50",
        "2022",
        "2022>2023@0.50",
        "2023",
    ]
    places = [place / 8 for place in range(9)]
    points = [[4 * p + 0.25 * math.sin(5 * p), 1.6 * math.sin(2.4 * p) + 0.2 * p] for p in places]
    distances = [[1.03 * math.dist(one, two) for two in points] for one in points]
    shares = [[0.52 - 0.2 * p, 0.3 + 0.04 * math.sin(6 * p), 0.18 + 0.2 * p - 0.04 * math.sin(6 * p)] for p in places]
    accuracy = [0.931, 0.921, 0.915, 0.9, 0.893, 0.876, 0.868, 0.857, 0.842]
    domains = [
        {"name": name, "n_samples": 1800 + 40 * place, "generated": ">" in name, "position": places[place]}
        for place, name in enumerate(names)
    ]
    steps = [
        {
            "step": place,
            **domain,
            "kept_fraction": 0.9,
            "mean_confidence": 0.91 - 0.09 * places[place],
            "changed_fraction": 0.02 + 0.035 * math.sin(3 * places[place]) + 0.01 * (place % 2),
            "class_shares": shares[place],
            "shift": distances[place - 1][place],
            "seconds": 0.21,
        }
        for place, domain in enumerate(domains)
        if place
    ]
    return {
        "answer": {
            "sentences": [
                "Since 2022 three of 12 columns moved, temperature most.",
                "The model learns from the last window alone: in 3 past windows it was right on 5.3 points more.",
                "Expect 78 % of today's rows to be right (71 to 84 %, from 3 past windows).",
                "To be sure, label 50 rows of today: driftfit label runs/events --budget 50 -o rows.csv.",
            ],
            "table": {
                "heads": ["counted by accuracy", "past windows", "gain in points", "today's answers"],
                "rows": [
                    ["all labels", "72.4 %", "", ""],
                    ["last window", "77.7 %", "+5.3 (-1.2 to +11.8)", "taken"],
                    ["own <scale>", "71.0 % (2 of 3)", "-1.4 (-9.0 to +6.2)", ""],
                ],
            },
        },
        "backtest": {
            "metric": "accuracy",
            "in_points": True,
            "reference": "all labels",
            "windows": ["2020", "2021", "2022"],
            "late": 0,
            "sentence": "in 3 past windows 'last window' gained",
            "ways": [
                {"name": "all labels", "scores": [0.75, 0.72, 0.7], "gains": [0.0, 0.0, 0.0]},
                {"name": "last window", "scores": [0.76, 0.78, 0.79], "gains": [0.01, 0.06, 0.09]},
                {"name": "own <scale>", "scores": [None, 0.7, 0.72], "gains": [None, -0.02, 0.02]},
            ],
            "failed": {},
            "kept": "last window",
            "newest": "2022",
            "classes": [
                {"name": "stays", "rows": 900, "recall": 0.9, "precision": 0.8, "never": False},
                {"name": "leaves & <b>returns</b>", "rows": 40, "recall": 0.0, "precision": None, "never": True},
                {"name": UNICODE, "rows": 300, "recall": 0.6, "precision": 0.7, "never": False},
            ],
        },
        "driftfit": "0.1.0",
        "created": "2026-03-02T09:41:00+00:00",
        "command": ["driftfit", "adapt", "events.parquet"],
        "config": {
            "method": "goat",
            "model": "logistic",
            "windows": 5,
            "generated": 1,
            "encoder": "none",
            "nested": {"a": [1]},
        },
        "seed": 0,
        "versions": {"python": "3.11.9", "numpy": "2.3.1", "scikit-learn": "1.7.0", "driftfit": "0.1.0"},
        "data": {
            "files": [{"name": "events.parquet", "sha256": "9f2c" * 16, "rows": 18420}],
            "label": "outcome",
            "order": "event_time",
            "classes": ["stays", "leaves & <b>returns</b>", UNICODE],
            "n_rows": 18420,
            "n_target": 3684,
        },
        "preprocessing": [
            {"column": "temperature", "kind": "number", "note": "scaled; 12 missing values filled with the median"},
            {"column": HOSTILE, "kind": "category", "note": "one column for each of 4 values"},
            {"column": "customer_id", "kind": "dropped", "note": "18,377 different values"},
        ],
        "sampled": ["transport between windows used 2,000 of 3,684 rows; every row was predicted"],
        "verdict": {
            "decision": "adapt",
            "reasons": [
                "every step is small for this model: the largest, 2020 -> 2021, moves a typical class by 0.41 of its "
                "margin, and no part of a domain comes from nowhere",
                "the path is 1.1 times as long as the direct way",
            ],
            "numbers": {
                "detour": 1.08,
                "noise_drift": 0.021,
                "where": None,
                "steps": [
                    {
                        "before": str(year),
                        "after": str(year + 1),
                        "shift": 1.2 - 0.1 * (year - 2019),
                        "ratio": 0.41 - 0.05 * (year - 2019),
                        "jumped": 0.004,
                        "crossing": 0.08,
                        "proportion_change": 0.05,
                        "margins": [1.0, None],
                    }
                    for year in range(2019, 2023)
                ],
            },
        },
        "domains": domains,
        "steps": steps,
        "accuracy": {
            "old": {"estimate": 0.741, "low": 0.702, "high": 0.78, "estimator": "carried labels"},
            "new": {"estimate": 0.842, "low": 0.809, "high": 0.875, "estimator": "carried labels"},
            "path": [
                {"position": p, "estimate": a, "low": a - 0.012 - 0.025 * p, "high": min(a + 0.012 + 0.025 * p, 1.0)}
                for p, a in zip(places, accuracy, strict=True)
            ],
        },
        "trusted": True,
        "warnings": [],
        "kept": kept,
        "kept_reason": f"the {kept} model is estimated to be right on more of the target rows",
        "map": {"points": points, "stress": 0.034},
        "distances": distances,
        "features": [
            {"name": "temperature", "share": 0.38},
            {"name": "sessions_per_week", "share": 0.22},
            {"name": UNICODE, "share": 0.13},
            {"name": f"{HOSTILE} = yes", "share": 0.09},
            *({"name": f"feature_{place:02d}", "share": 0.08 / 1.6**place} for place in range(10)),
        ],
        "plan": make_plan(rng, 160),
        "confidence": {
            "edges": [0.3 + 0.05 * place for place in range(15)],
            "old": [12, 31, 70, 122, 180, 241, 290, 330, 371, 402, 420, 431, 415, 369],
            "new": [2, 8, 21, 44, 80, 118, 160, 214, 270, 342, 431, 540, 690, 764],
        },
        "class_shares": [{"position": p, "shares": s} for p, s in zip(places, shares, strict=True)],
        "images": make_images(domains) if images else None,
        "predictions": "predictions.parquet",
        "redo": "driftfit adapt events.parquet --label outcome --order event_time --windows 5 --seed 0 -o runs/events",
    }


def make_plan(rng: random.Random, n: int) -> dict[str, Any]:
    """Three clusters that move and turn."""
    starts, ends = [], []
    for place in range(n):
        angle = 2 * math.pi * (place % 3) / 3
        x, y = 1.4 * math.cos(angle) + rng.gauss(0, 0.3), 1.4 * math.sin(angle) + rng.gauss(0, 0.3)
        starts.append([x, y])
        turn = 0.7
        ends.append([3.4 + x * math.cos(turn) - y * math.sin(turn), 0.9 + x * math.sin(turn) + y * math.cos(turn)])
    return {"from": starts, "to": ends, "mass": [1 / n * rng.uniform(0.2, 1) for _ in range(n)]}


def make_images(domains: list[dict[str, Any]], side: int = 20, n_tiles: int = 4) -> dict[str, Any]:
    """A soft bar that turns with the position, at four widths."""
    steps = []
    for domain in domains:
        angle = 1.2 * domain["position"]
        tiles = []
        for tile in range(n_tiles):
            pixels = []
            for y in range(side):
                for x in range(side):
                    u, v = x - (side - 1) / 2, y - (side - 1) / 2
                    across = u * math.cos(angle) + v * math.sin(angle)
                    along = -u * math.sin(angle) + v * math.cos(angle)
                    pixels.append(math.exp(-((across / (1.2 + 0.5 * tile)) ** 2)) * (1.0 if abs(along) < 7 else 0.05))
            tiles.append(pixels)
        steps.append({"position": domain["position"], "generated": domain["generated"], "tiles": tiles})
    return {"shape": [side, side], "steps": steps}


@pytest.fixture
def make() -> Callable[..., Result]:
    return make_result


@pytest.fixture
def result() -> Result:
    return make_result()


@pytest.fixture
def image_result() -> Result:
    return make_result(images=True)
