"""Reading a result, which may lack any part or hold the wrong kind; and plain words and numbers for it."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

# More stops than this cannot be told apart on a screen and would make the page heavy.
MOST_STOPS = 120
_LONGEST_NAME = 160
_UNSEEN = {code: "\ufffd" for code in [*range(32), 127] if chr(code) not in "\n\t"}

T = TypeVar("T")


def number(value: Any) -> float | None:
    """A finite number, or None.

    >>> number(2), number("2"), number(float("nan")), number(True)
    (2.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        plain = float(value)
    except OverflowError:
        return None
    return plain if math.isfinite(plain) else None


def clip(value: Any, longest: int = _LONGEST_NAME) -> str:
    """Text that any browser can show: no lone surrogates or control characters, cut where too long.

    >>> clip("a\\x00b\\ud800c"), clip("abcdef", 4), clip(None)
    ('a\\ufffdb?c', 'abc…', '')
    """
    if value is None:
        return ""
    words = str(value)[: longest + 1].encode("utf-8", "replace").decode("utf-8").translate(_UNSEEN)
    return words if len(words) <= longest else words[: longest - 1] + "…"


def dig(result: Any, *keys: str) -> Any:
    """The value under nested keys, or None where the way ends early."""
    for key in keys:
        if not isinstance(result, Mapping):
            return None
        result = result.get(key)
    return result


def records(value: Any) -> list[Mapping[str, Any]]:
    """The dictionaries of a list; an empty list for anything else."""
    return [item for item in _items(value) if isinstance(item, Mapping)]


def texts(value: Any, longest: int = 2000) -> list[str]:
    """The entries of a list as text; a single text is a list of one."""
    if isinstance(value, str):
        return [clip(value, longest)] if value else []
    return [clip(item, longest) for item in _items(value) if item is not None]


def pairs(value: Any) -> list[tuple[float, float] | None]:
    """Points of the plane; None in the place of what is no point, so that places keep their meaning."""
    return [_pair(item) for item in _items(value)]


def thin(values: Sequence[T], most: int) -> list[T]:
    """At most ``most`` entries, evenly spread, first and last among them.

    >>> thin([0, 1, 2, 3, 4, 5, 6], 3)
    [0, 3, 6]
    """
    if len(values) <= most:
        return list(values)
    return [values[round(place * (len(values) - 1) / (most - 1))] for place in range(most)]


@dataclass(frozen=True)
class Stop:
    """One domain of the path as the page shows it."""

    index: int  # place in the whole path, the source being 0
    name: str
    position: float  # between source (0) and target (1)
    generated: bool
    n_samples: float | None
    record: Mapping[str, Any]  # the step to this domain; empty for the source

    def measured(self, key: str) -> float | None:
        """A number of the step to this domain."""
        return number(self.record.get(key))


def stops(result: Any) -> list[Stop]:
    """The path of a result, source first, thinned where it is very long."""
    by_step = {number(record.get("step")): record for record in records(dig(result, "steps"))}
    domains = records(dig(result, "domains"))
    if not domains and by_step:
        domains = [{"name": "source", "position": 0.0}, *by_step.values()]
    given = {clip(domain.get("name")) for domain in domains if not domain.get("generated")}
    found = []
    for index, domain in enumerate(domains):
        place = number(domain.get("position"))
        fallback = index / max(len(domains) - 1, 1)
        found.append(
            Stop(
                index,
                _readable(clip(domain.get("name")), given) or f"domain {index}",
                fallback if place is None else place,
                bool(domain.get("generated")),
                number(domain.get("n_samples")),
                by_step.get(index, {}),
            )
        )
    return thin(found, MOST_STOPS)


def at_position(path: Sequence[Stop], position: float | None) -> Stop | None:
    """The stop at a position, within rounding."""
    if position is None or not path:
        return None
    nearest = min(path, key=lambda stop: abs(stop.position - position))
    return nearest if abs(nearest.position - position) < 1e-6 else None


def _readable(name: str, given: set[str]) -> str:
    """Generated domains are named ``before>after@share``; in words where both ends are on the path."""
    for sign in re.finditer(">", name):
        after, _, share = name[sign.end() :].rpartition("@")
        if name[: sign.start()] in given and after in given:
            return f"{share} of the way from {name[: sign.start()]} to {after}"
    return name


def _items(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _pair(item: Any) -> tuple[float, float] | None:
    if not isinstance(item, list | tuple) or len(item) < 2:
        return None
    x, y = number(item[0]), number(item[1])
    return None if x is None or y is None else (x, y)


_THIN = "\u202f"
_MOST_COMPARED = 60


def percent(value: Any) -> str:
    """A share in percent.

    >>> percent(0.834), percent(None)
    ('83.4\\u202f%', '–')
    """
    share = number(value)
    return "–" if share is None else f"{100 * share:.1f}{_THIN}%"


def interval(low: Any, high: Any) -> str:
    """Two ends of an interval in percent.

    >>> interval(0.79, 0.871)
    '79.0 to 87.1\\u202f%'
    """
    if number(low) is None or number(high) is None:
        return "–"
    return f"{100 * float(low):.1f} to {percent(high)}"


def count(value: Any) -> str:
    """A number of things.

    >>> count(1234567.0), count(None)
    ('1,234,567', '–')
    """
    found = number(value)
    return "–" if found is None else f"{found:,.0f}"


def short(value: Any) -> str:
    """A measured number with three digits.

    >>> short(0.12345), short(1234.5), short(2.0), short(None)
    ('0.123', '1,234', '2', '–')
    """
    found = number(value)
    if found is None:
        return "–"
    if found == 0 or 1000 <= abs(found) < 1e9:
        return f"{found:,.0f}"
    return f"{found:.3g}"


def moment(value: Any) -> str:
    """A time in ISO format, without its seconds.

    >>> moment("2026-03-02T09:41:07+00:00"), moment("yesterday")
    ('2026-03-02 09:41 UTC', 'yesterday')
    """
    words = clip(value, 40)
    try:
        found = datetime.datetime.fromisoformat(words)
    except ValueError:
        return words
    zone = f" {found.tzname()}" if found.tzinfo is not None else ""
    return f"{found:%Y-%m-%d %H:%M}{zone}"


def size(n: int, one: str, many: str | None = None) -> str:
    """A count with its noun.

    >>> size(1, "row"), size(2, "class", "classes")
    ('1 row', '2 classes')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


@dataclass(frozen=True)
class Headline:
    """The answer: what to do in a few words, the sentences, and the table of what was compared."""

    words: str
    tone: str  # colour and sign beside the words
    sentences: list[str]
    heads: list[str]
    rows: list[list[str]]
    notes: list[str]

    @property
    def expected(self) -> str:
        """What to expect, where all four sentences are there."""
        return self.sentences[2] if len(self.sentences) > 2 else ""


_STAYS = (
    ("The model of all labels", "Use the model of all labels"),
    ("The model learns from all labels", "Use the model of all labels"),
    ("The model in use", "Keep the model in use"),
)


def headline(result: Mapping[str, Any]) -> Headline:
    """What to do, from what was kept and the answer that was recorded."""
    kept = dig(result, "kept")
    if kept == "adapted":
        words, tone = (
            ("Use the new model", "good") if dig(result, "trusted") else ("Use the new model with care", "care")
        )
    elif kept == "source":
        fallback = "Keep the old model" if dig(result, "backtest") is None else "Use the model of all labels"
        # What the second sentence speaks of.
        known = texts(dig(result, "answer", "sentences"))[1:2]
        named = next((word for start, word in _STAYS if known and known[0].startswith(start)), fallback)
        words, tone = named, "keep"
    else:
        words, tone = "No answer was recorded", "care"
    found = dig(result, "answer")
    reason = clip(dig(result, "kept_reason"), 2000)
    sentences = texts(dig(found, "sentences"), 1000)[:4] or ([reason[:1].upper() + reason[1:]] if reason else [])
    rows = dig(found, "table", "rows")
    cells = [texts(row, 200) for row in rows[:_MOST_COMPARED]] if isinstance(rows, list) else []
    notes = [clip(one[:1].upper() + one[1:], 400) for one in texts(dig(found, "notes"))[:5]]
    return Headline(words, tone, sentences, texts(dig(found, "table", "heads"), 80), cells, notes)


def stop_words(stop: Stop) -> str:
    """One domain and the step to it, in a line."""
    kind = "labelled source" if stop.index == 0 else "generated" if stop.generated else "given"
    parts = [f"{stop.name} ({kind})"]
    if stop.n_samples is not None:
        parts.append(f"{count(stop.n_samples)} samples")
    if stop.measured("shift") is not None:
        parts.append(f"moved {short(stop.record['shift'])} from the domain before")
    if stop.measured("changed_fraction") is not None:
        parts.append(f"{percent(stop.record['changed_fraction'])} of labels changed")
    if stop.measured("mean_confidence") is not None:
        parts.append(f"mean confidence {percent(stop.record['mean_confidence'])}")
    return " · ".join(parts)
