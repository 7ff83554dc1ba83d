"""Small made-up data, as newcomers bring them: written to a folder; the true labels and the number of open ones."""

from pathlib import Path

import numpy as np
import pandas as pd


def loans(folder: Path) -> tuple[pd.Series, int]:
    """Twelve months; who fails is known for nine. What a low income is moves with the months."""
    rng = np.random.default_rng(1)
    month = np.repeat(np.arange(12), 200)
    failed = rng.random(len(month)) < 0.3
    income = 2_000 + 150 * month - 900 * failed + 500 * rng.normal(size=len(month))
    words = np.array(["no", "yes"])[failed.astype(int)]
    frame = pd.DataFrame(
        {
            "month": [f"2025-{1 + number:02}" for number in month],
            "income": income.round(2),
            "debts": rng.poisson(1 + failed),
            "region": rng.choice(["north", "south", "west"], len(month)),
            "failed": np.where(month < 9, words, ""),
        }
    )
    frame.to_csv(folder / "loans.csv", index=False)
    return pd.Series(words), 600


def payments(folder: Path) -> tuple[pd.Series, int]:
    """Eighty days; one payment in a hundred is fraud, labels of the last ten are missing."""
    rng = np.random.default_rng(2)
    day = np.repeat(np.arange(80), 100)
    fraud = rng.random(len(day)) < 0.01
    frame = pd.DataFrame(
        {
            "payment": [f"P{number}" for number in range(len(day))],
            "day": day,
            "amount": np.exp(3 + 1.8 * fraud + rng.normal(size=len(day))).round(2),
            "hour": (rng.normal(14 - 8 * fraud, 3) % 24).round(1),
            "fraud": np.where(day < 70, fraud.astype(float), np.nan),
        }
    )
    frame.to_csv(folder / "payments.csv", index=False)
    return pd.Series(fraud.astype(float)), 1_000


def scans(folder: Path) -> tuple[pd.Series, int]:
    """Bars in pictures, upright or level, which tilt more in each of three batches; the first has labels."""
    from PIL import Image

    rng = np.random.default_rng(3)
    (folder / "scans").mkdir()
    kinds = rng.choice(["level", "upright"], 240)
    batch = np.repeat(np.arange(3), 80)
    names = []
    for number, (kind, own) in enumerate(zip(kinds, batch, strict=True)):
        picture = rng.integers(0, 60, (12, 12))
        picture[4:8, 1:11] += 150
        picture = picture if kind == "level" else picture.T
        names.append(f"{number:03}.png")
        tilted = Image.fromarray(picture.astype(np.uint8)).rotate(14.0 * own)
        tilted.save(folder / "scans" / names[-1])
    about = pd.DataFrame({"file": names, "batch": batch, "kind": np.where(batch == 0, kinds, "")})
    about.to_csv(folder / "scans" / "list.csv", index=False)
    return pd.Series(kinds), 160


def texts(folder: Path) -> tuple[pd.Series, int]:
    """Vectors of texts in a column of lists; the topics drift together, labels stop after eight of ten weeks."""
    rng = np.random.default_rng(4)
    week = np.repeat(np.arange(10), 120)
    topic = rng.integers(0, 3, len(week))
    centres, way = rng.normal(size=(3, 24)), rng.normal(size=24)
    vectors = centres[topic] + 0.7 * rng.normal(size=(len(week), 24)) + 0.15 * week[:, None] * way
    words = np.array(["price", "delivery", "other"])[topic]
    frame = pd.DataFrame(
        {"week": week, "vector": list(vectors.astype(np.float32)), "topic": np.where(week < 8, words, None)}
    )
    frame.to_parquet(folder / "texts.parquet")
    return pd.Series(words), 240
