"""Plain words and readable numbers."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from driftfit.app.report.content import Stop, clip, dig, number, records, stops, texts

__all__ = ["Headline", "count", "headline", "interval", "moment", "percent", "short", "size", "stop_words"]

_THIN = "\u202f"

_DECISIONS = {
    "adapt": "The check before adapting found every step of the drift small enough for this model.",
    "generate domains between these two": (
        "The check before adapting found a step too large to take at once; generated domains can fill the gap."
    ),
    "get labels here": "The check before adapting asks for new labels: this drift cannot be followed without them.",
    "do not adapt": "The check before adapting found nothing to gain from adapting.",
}


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
    """The answer in one line.

    Attributes
    ----------
    words : str
    tone : {"good", "care", "keep"}
        Colour and sign beside the words.
    check : str
        What the check before adapting said, as a sentence.
    reasons : list of str
    why : str
        Why this model was kept.
    """

    words: str
    tone: str
    check: str
    reasons: list[str]
    why: str


def headline(result: Mapping[str, Any]) -> Headline:
    """What to do, from what was kept and what the check said."""
    kept = dig(result, "kept")
    decision = clip(dig(result, "verdict", "decision"), 300)
    if kept == "adapted":
        words, tone = ("Use the new model", "good") if _trusted(result) else ("Use the new model with care", "care")
    elif kept == "source":
        words, tone = "Keep the old model", "keep"
    else:
        words, tone = (decision[:1].upper() + decision[1:] or "No verdict was recorded"), "care"
    if dig(result, "ladder") is not None:
        return Headline(words, tone, *_evidence(result), clip(dig(result, "kept_reason"), 2000))
    check = _DECISIONS.get(decision, f"The check before adapting said: {decision}." if decision else "")
    return Headline(
        words, tone, check, _sentences(dig(result, "verdict", "reasons")), clip(dig(result, "kept_reason"), 2000)
    )


def _evidence(result: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Whether anything moved, and what each assumption came to: the sentences of the evidence that was weighed."""
    found = dig(result, "ladder")
    said = clip(dig(found, "moved", "sentence"), 600)
    lines = [clip(one.get("sentence"), 600) for key in ("tested", "others") for one in records(dig(found, key))]
    return said[:1].upper() + said[1:], lines[:20]


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


def _sentences(reasons: Any) -> list[str]:
    return [reason.replace(" -> ", " → ") for reason in texts(reasons)[:20]]


def _trusted(result: Mapping[str, Any]) -> bool:
    said = dig(result, "trusted")
    if isinstance(said, bool):
        return said
    decision = dig(result, "verdict", "decision")
    if decision == "generate domains between these two":
        # The advice was followed where the path holds generated domains.
        return any(stop.generated for stop in stops(result))
    return bool(decision == "adapt")
