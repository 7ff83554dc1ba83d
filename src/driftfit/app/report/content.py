"""Reading a result: any part may be missing, of the wrong kind, or far larger than a page can hold."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["Stop", "at_position", "clip", "dig", "number", "pairs", "records", "stops", "texts", "thin"]

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
    """One domain of the path as the page shows it.

    Attributes
    ----------
    index : int
        Place in the whole path, the source being 0.
    name : str
    position : float
        Between source (0) and target (1).
    generated : bool
    n_samples : float or None
    record : Mapping
        The step to this domain; empty for the source.
    """

    index: int
    name: str
    position: float
    generated: bool
    n_samples: float | None
    record: Mapping[str, Any]

    def measured(self, key: str) -> float | None:
        """A number of the step to this domain."""
        return number(self.record.get(key))


def stops(result: Any) -> list[Stop]:
    """The path of a result, source first, thinned where it is very long."""
    by_step = {record.get("step"): record for record in records(dig(result, "steps"))}
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
