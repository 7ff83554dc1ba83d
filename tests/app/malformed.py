"""Tables with something wrong in them, for the tests of `driftfit adapt`."""

from __future__ import annotations

import datetime
import decimal
import gzip
import os
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import strategies as st

LABEL, ORDER = "label", "when"


def sound(seed: int, n: int) -> pd.DataFrame:
    """A table with nothing wrong."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    when = np.sort(rng.integers(0, 100, n))
    return pd.DataFrame(
        {
            "x": rng.normal(size=n) + 3 * label + when / 50,
            "y": rng.normal(size=n),
            "word": rng.choice(["a", "b", "c"], n),
            LABEL: label,
            ORDER: when,
        }
    )


def _some(frame: pd.DataFrame, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random(len(frame)) < 0.3


def _set(column: str, values):
    return lambda frame, seed: frame.assign(**{column: values(frame, seed)})


def _objects(frame: pd.DataFrame, seed: int) -> pd.Series:
    odd = [1, "a", None, 2.5, "", "nan", "-", "1e400", True]
    rng = np.random.default_rng(seed)
    return pd.Series([odd[k] for k in rng.integers(0, len(odd), len(frame))], dtype=object)


def _mixed_zones(frame: pd.DataFrame, seed: int) -> list[str]:
    zones = ["+00:00", "-05:00", "+09:30", "Z", ""]
    return [f"2024-{1 + k % 12:02d}-03T10:00:00{zones[k % 5]}" for k in range(len(frame))]


def _levels(frame: pd.DataFrame, *, ordered: bool) -> pd.Categorical:
    levels = ["lo", "mid", "hi", "top"]
    return pd.Categorical([levels[k * 4 // len(frame)] for k in range(len(frame))], levels, ordered=ordered)


def _later(frame: pd.DataFrame, word: str) -> pd.Series:
    known = frame[ORDER] < 30
    return frame[LABEL].astype(object).where(known, word)


CHANGES = {
    "nothing": lambda frame, seed: frame,
    "no rows": lambda frame, seed: frame.iloc[:0],
    "one row": lambda frame, seed: frame.iloc[:1],
    "three rows": lambda frame, seed: frame.iloc[:3],
    "no label": lambda frame, seed: frame.drop(columns=LABEL),
    "no order": lambda frame, seed: frame.drop(columns=ORDER),
    "no features": lambda frame, seed: frame[[LABEL, ORDER]],
    "nothing at all": lambda frame, seed: pd.DataFrame(),
    "features missing": lambda frame, seed: frame.assign(x=np.nan, y=None, word=None),
    "all missing": lambda frame, seed: frame.assign(**dict.fromkeys(frame.columns)),
    "some missing": lambda frame, seed: frame.mask(np.random.default_rng(seed).random(frame.shape) < 0.3),
    "labels missing": _set(LABEL, lambda frame, seed: np.nan),
    "old labels missing": _set(LABEL, lambda frame, seed: frame[LABEL].where(frame[ORDER] > 50)),
    "new labels missing": _set(LABEL, lambda frame, seed: frame[LABEL].where(frame[ORDER] < 30)),
    "one class": _set(LABEL, lambda frame, seed: 1),
    "measured label": _set(LABEL, lambda frame, seed: np.random.default_rng(seed).normal(size=len(frame))),
    "label is an identifier": _set(LABEL, lambda frame, seed: [f"u{k}" for k in range(len(frame))]),
    "label of mixed types": _set(LABEL, _objects),
    "boolean label": _set(LABEL, lambda frame, seed: frame[LABEL] == 1),
    "label in words": _set(LABEL, lambda frame, seed: frame[LABEL].map({0: "süß", 1: "苦い"})),
    "label of dates": _set(LABEL, lambda frame, seed: frame[LABEL].map(lambda k: datetime.date(2020, 1, 1 + k))),
    "constant order": _set(ORDER, lambda frame, seed: 5),
    "order missing": _set(ORDER, lambda frame, seed: None),
    "order partly missing": _set(ORDER, lambda frame, seed: frame[ORDER].where(~_some(frame, seed))),
    "order of mixed types": _set(ORDER, _objects),
    "order in words": _set(ORDER, lambda frame, seed: [f"week {k // 20}" for k in range(len(frame))]),
    "order infinite": _set(ORDER, lambda frame, seed: np.where(_some(frame, seed), np.inf, frame[ORDER])),
    "mixed time zones": _set(ORDER, _mixed_zones),
    "order of dates": _set(ORDER, lambda frame, seed: pd.date_range("1700-01-01", periods=len(frame), freq="40D")),
    "order of lists": _set(ORDER, lambda frame, seed: [[k] for k in range(len(frame))]),
    "wrong types": _set("x", _objects),
    "infinite": _set("x", lambda frame, seed: np.where(_some(frame, seed), np.inf, frame["x"])),
    "huge": _set("x", lambda frame, seed: frame["x"] * 1e200),
    "tiny": _set("x", lambda frame, seed: frame["x"] * 1e-300),
    "lists": _set("x", lambda frame, seed: [[k, k] for k in range(len(frame))]),
    "records": _set("x", lambda frame, seed: [{"a": k} for k in range(len(frame))]),
    "decimals": _set("x", lambda frame, seed: [decimal.Decimal(k) / 7 for k in range(len(frame))]),
    "bytes": _set("word", lambda frame, seed: [b"\xff\x00" for _ in range(len(frame))]),
    "dates": _set("y", lambda frame, seed: [datetime.date(1900 + k % 200, 1, 1) for k in range(len(frame))]),
    "times": _set("y", lambda frame, seed: [datetime.time(k % 24) for k in range(len(frame))]),
    "durations": _set("y", lambda frame, seed: pd.to_timedelta(np.arange(len(frame)), "h")),
    "categories": _set("word", lambda frame, seed: frame["word"].astype("category")),
    "unicode names": lambda frame, seed: frame.rename(columns={"x": "größe 📏", "y": "  ", "word": "a,\"b'\n"}),
    "names like ours": lambda frame, seed: frame.rename(columns={"x": "prediction", "y": "row", "word": "pixel_0"}),
    "ordered categories": _set(ORDER, lambda frame, seed: _levels(frame, ordered=True)),
    "categories as an order": _set(ORDER, lambda frame, seed: _levels(frame, ordered=False)),
    "huge whole order": _set(
        ORDER, lambda frame, seed: np.arange(len(frame), dtype=np.uint64) // 20 + np.uint64(2**63)
    ),
    "order near 2**53": _set(ORDER, lambda frame, seed: 2**53 + np.arange(len(frame)) // 20),
    "order of bytes": _set(ORDER, lambda frame, seed: [bytes([k // 20]) for k in range(len(frame))]),
    "order of decimals": _set(ORDER, lambda frame, seed: [decimal.Decimal(k // 20) / 3 for k in range(len(frame))]),
    "order of durations": _set(ORDER, lambda frame, seed: pd.to_timedelta(np.arange(len(frame)), "D")),
    "order of records": _set(ORDER, lambda frame, seed: [{"a": k} for k in range(len(frame))]),
    "order of times": _set(ORDER, lambda frame, seed: [datetime.time(k % 24) for k in range(len(frame))]),
    "order far away": _set(ORDER, lambda frame, seed: [datetime.date(1 + 30 * k, 1, 1) for k in range(len(frame))]),
    "tiny order": _set(ORDER, lambda frame, seed: frame[ORDER] * 5e-324),
    "label of bytes": _set(LABEL, lambda frame, seed: [bytes([k % 3 * 100]) for k in range(len(frame))]),
    "label of decimals": _set(LABEL, lambda frame, seed: [decimal.Decimal(k % 3) / 7 for k in range(len(frame))]),
    "label of lists": _set(LABEL, lambda frame, seed: [[k % 2] for k in range(len(frame))]),
    "label of records": _set(LABEL, lambda frame, seed: [{"a": k % 2} for k in range(len(frame))]),
    "huge label": _set(LABEL, lambda frame, seed: np.arange(len(frame), dtype=np.uint64) % 2 + np.uint64(2**63)),
    "beyond 64 bits": _set(LABEL, lambda frame, seed: [str(2**70 + k % 2) for k in range(len(frame))]),
    "later labels in words": _set(LABEL, lambda frame, seed: _later(frame, "unknown")),
    "later labels as formulas": _set(LABEL, lambda frame, seed: _later(frame, "=1+1")),
    "labels as formulas": _set(LABEL, lambda frame, seed: frame[LABEL].map({0: "=1+1", 1: "@a"})),
    "labels as markup": _set(LABEL, lambda frame, seed: frame[LABEL].map({0: "[/bold]", 1: "<script>"})),
    "label in categories": _set(LABEL, lambda frame, seed: frame[LABEL].map({0: "u", 1: "v"}).astype("category")),
    "decimal commas": _set("x", lambda frame, seed: frame["x"].map(lambda v: f"{v:.3f}".replace(".", ","))),
    "complex": _set("y", lambda frame, seed: [complex(k, 1) for k in range(len(frame))]),
    "periods": _set("y", lambda frame, seed: pd.period_range("2020-01", periods=len(frame), freq="M").astype(str)),
    "names in markup": lambda frame, seed: frame.rename(columns={"x": "[/bold]", "y": "<b>", "word": "=1|`"}),
    "surrogates": _set("word", lambda frame, seed: ["a\u202eb\x00\x1b[31m"] * len(frame)),
    "many rows alike": lambda frame, seed: frame.assign(x=0.0, y=0.0, word="a"),
}
# The first three hold the table whole.
FILES = [
    "csv",
    "parquet",
    "gzip",
    "repeated names",
    "cut parquet",
    "noise",
    "empty",
    "binary csv",
    "ragged csv",
    "wrong ending",
    "cut gzip",
    "damaged parquet",
    "pipe",
]


@st.composite
def malformed(draw: st.DrawFn) -> tuple[pd.DataFrame, str, list[str], int]:
    """A frame, how to write it, what was done to it, and a seed."""
    seed = draw(st.integers(0, 2**16))
    frame = sound(seed, draw(st.sampled_from([20, 150, 150])))
    names = draw(st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, max_size=3, unique=True))
    for name in names:
        try:
            frame = CHANGES[name](frame, seed).reset_index(drop=True)
        except (KeyError, ValueError, TypeError):
            continue  # an earlier change took away what this one needs
    kind = draw(st.sampled_from(["csv"] * 6 + ["parquet"] * 6 + FILES[2:]))
    return frame, kind, names, seed


def write(frame: pd.DataFrame, kind: str, folder: Path) -> Path:
    """Write the frame the way ``kind`` says; falls back to CSV where Parquet cannot hold it."""
    if kind in ("parquet", "cut parquet", "damaged parquet"):
        path = folder / "table.parquet"
        try:
            frame.to_parquet(path)
        except Exception:
            return write(frame, "csv", folder)
        if kind == "cut parquet":
            path.write_bytes(path.read_bytes()[: -max(1, path.stat().st_size // 3)])
        if kind == "damaged parquet":
            content = bytearray(path.read_bytes())
            for place in np.random.default_rng(len(content)).integers(4, len(content) - 8, 5):
                content[place] ^= 255
            path.write_bytes(content)
        return path
    if kind == "pipe":
        os.mkfifo(folder / "table.csv")
        return folder / "table.csv"
    if kind in ("gzip", "cut gzip"):
        path, packed = folder / "table.csv.gz", gzip.compress(frame.to_csv(index=False).encode(errors="replace"))
        path.write_bytes(packed if kind == "gzip" else packed[: len(packed) // 2])
        return path
    path = folder / ("table.xyz" if kind == "wrong ending" else "table.csv")
    text = frame.to_csv(index=False).encode(errors="replace")
    head, _, rest = text.partition(b"\n")
    path.write_bytes(
        {
            "repeated names": head + b",x,x\n" + rest,
            "noise": bytes(np.random.default_rng(0).integers(0, 256, 500, dtype=np.uint8)),
            "empty": b"",
            "binary csv": head + b"\n\xff\xfe\x00" + rest,
            "ragged csv": head + b"\n1,2,3,4,5,6,7,8,9\n" + rest,
        }.get(kind, text)
    )
    return path
