"""How numbers and dates of a column of text are written: marks, units, which figure is the day. Found once, and kept.

A way to write is told by an example, ``€ 1.234,5`` or ``31/12/2024``, which the run folder holds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.app.windows import as_dates
from driftfit.errors import InputError

_MONEY = "[$€£¥₹₽₩₺฿₫₪₴₦¢]"
_BEFORE = rf"[A-Z]{{1,2}}\$|{_MONEY}|[A-Z]{{3}}(?=\s)"
_AFTER = rf"{_MONEY}|[%‰°µ][^\W\d_]{{0,3}}|[^\W\d_][\w/²³]{{0,5}}"
_PLAIN_MARKS = str.maketrans(dict.fromkeys("\u00a0\u2007\u2009\u202f", " ") | {"’": "'", "−": "-"})
_DRESSED = re.compile(
    rf"(?P<sign>[+-]?)(?P<before>(?:{_BEFORE})?)\s*(?P<inner>[+-]?)"
    rf"(?P<body>[0-9][0-9.,' ]*(?<![' ])(?:[eE][+-]?[0-9]{{1,3}})?)\s*(?P<after>(?:{_AFTER})?)"
)
_DAY = re.compile(r"\s*(\d{1,2})([/-])(\d{1,2})\2(\d{4})((?:[ T].*)?)", re.S)
_SHORT_YEAR = re.compile(r"\s*\d{1,2}([./-])\d{1,2}\1\d\d(?:\s.*)?", re.S)
# Mark of decimals and mark between thousands. Spaces and apostrophes are the latter alone.
_MARKS = [(".", ""), (",", ""), (".", ","), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'")]
_EXAMPLE = re.compile(r"(?P<before>\D*?)\s*1(?P<groups>[., ']?)234(?P<decimal>[.,])5\s*(?P<after>.*)", re.S)


class Unclear(str):
    """Why words that look like numbers or dates cannot be read."""


@dataclass(frozen=True)
class Form:
    """A way to write numbers or dates, as an example of it.

    >>> Form("€ 1.234,5").number("€ 98.765,25"), Form("1,234.5 %").number("12"), Form("31/12/2024").iso("1/2/2024")
    (98765.25, nan, '2024-02-01')
    """

    example: str

    @cached_property
    def _parts(self) -> tuple[re.Pattern[str], str, str, str, str]:
        found = _EXAMPLE.fullmatch(self.example)
        if found is None:
            raise InputError(
                f"{self.example[:40]!r} is no example of a way to write; write 1234.5 as your table does (1.234,5 or "
                "1,234.5), or the last day of 2024 (31/12/2024 or 12/31/2024)"
            )
        groups, decimal = found["groups"], found["decimal"]
        whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:{re.escape(groups)}\d{{3}})+)" if groups else r"\d+"
        pattern = re.compile(rf"{whole}(?:{re.escape(decimal)}\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
        return pattern, groups, decimal, found["before"], found["after"]

    def number(self, word: Any) -> float:
        """The number that a word is in this form; not a number where it is none."""
        return self._read(_dressed(word))

    def _read(self, found: re.Match[str] | None) -> float:
        pattern, groups, decimal, *around = self._parts
        if found is None or [found["before"], found["after"]] != around or not pattern.fullmatch(found["body"]):
            return np.nan
        body = found["body"].replace(groups, "") if groups else found["body"]
        return float(f"{found['sign']}{found['inner']}{body.replace(decimal, '.')}")

    def numbers(self, values: pd.Series) -> NDArray[np.float64]:
        """The values of a column. What is a number already is taken as it is, unless these have a unit."""
        plain = self._parts[3:] == ("", "")
        known = {word: self.number(word) for word in {value for value in values if isinstance(value, str)}}

        def read(value: Any) -> float:
            if isinstance(value, str):
                return known[value]
            return float(value) if plain and isinstance(value, Real | Decimal) else np.nan

        return np.array([read(value) for value in values])

    def iso(self, word: Any) -> Any:
        """A date with its year in front; everything else as it is."""
        found = _DAY.fullmatch(word) if isinstance(word, str) else None
        if found is None:
            return word
        day, month = found.group(1, 3) if self.day_first else found.group(3, 1)
        return f"{found[4]}-{int(month):02}-{int(day):02}{found[5]}"

    @property
    def day_first(self) -> bool:
        """Whether the day stands before the month."""
        return self.example.startswith("31")


_DAYS = (Form("31/12/2024"), Form("12/31/2024"))


def check_examples(examples: Sequence[str]) -> tuple[Form, ...]:
    """Ways to write that somebody names by examples.

    >>> [form.example for form in check_examples(["31/12/2024", "1.234,5"])]
    ['31/12/2024', '1.234,5']
    """
    forms = tuple(Form(example.strip()) for example in examples)
    for form in forms:
        if form not in _DAYS:
            form.number("")
    return forms


def _dressed(word: Any) -> re.Match[str] | None:
    found = _DRESSED.fullmatch(word.strip().translate(_PLAIN_MARKS)) if isinstance(word, str) else None
    return None if found is None or (found["sign"] and found["inner"]) else found


def form_of_numbers(
    words: pd.Series, mostly: Callable[[Any], bool], given: Sequence[Form] = ()
) -> Form | Unclear | None:
    """How distinct words are written as numbers; why they may be read in two ways; nothing where they are none.

    ``mostly`` says of a mask of the words whether nearly all rows hold them; ``given`` are ways that somebody names.

    >>> form_of_numbers(pd.Series(["61,17", "1,234"]), np.all), form_of_numbers(pd.Series(["5 kg", "7.5 kg"]), np.all)
    (Form(example='1234,5'), Form(example='1234.5 kg'))
    >>> form_of_numbers(pd.Series(["1,234", "5,678"]), np.all)
    'numbers to be read in two ways, such as 1,234: a mark before three figures may stand between thousands'
    """
    found = [_dressed(word) for word in words]
    if not mostly(np.array([own is not None for own in found])):
        return None
    units = Counter((own["before"], own["after"]) for own in found if own is not None)
    (before, after), _ = units.most_common(1)[0]
    forms = [Form(f"{before} 1{groups}234{decimal}5 {after}".strip()) for decimal, groups in _MARKS]
    read = np.array([[own._read(one) for one in found] for own in forms])
    known = ~np.isnan(read)
    if not mostly(known.any(axis=0)):
        return None
    best = int(known.sum(axis=1).argmax())
    alike = [place for place in range(len(forms)) if (known[place] == known[best]).all()]
    one = not any((read[place] != read[best])[known[best]].any() for place in alike)
    if (known[best] == known.any(axis=0)).all():
        bodies = [own["body"] for own, there in zip(found, known[best], strict=True) if own is not None and there]
        place = best if one else _MARKS.index((".", ","))
        if place in alike and (_sure if one else _thousands)(bodies, *_MARKS[place]):
            return forms[place]
    for own, marks in zip(forms, _MARKS, strict=True):
        if any(marks == (form._parts[2], form._parts[1]) for form in given if form not in _DAYS):
            return own
    shown = next((word for word in words if re.search("[.,][0-9]{3}", word)), words.iloc[0]).strip()[:40]
    return Unclear(
        f"numbers to be read in two ways, such as {shown}: a mark before three figures may stand between thousands"
    )


def _sure(bodies: list[str], decimal: str, groups: str) -> bool:
    """Whether a mark stands between thousands somewhere where it can be no mark of decimals of another writer."""
    used = [body for body in bodies if groups and groups in body]
    return groups not in (".", ",") or not used or any(body.count(groups) > 1 or decimal in body for body in used)


def _thousands(bodies: list[str], decimal: str, groups: str) -> bool:
    """Whether numbers with one comma are whole: a zero at the end is cut where others are, unless it is a figure."""
    commas, whole = [body for body in bodies if groups in body], [body for body in bodies if groups not in body]
    return bool(whole) and all(len(body) < 4 for body in whole) and any(body.endswith("0") for body in commas)


def form_of_dates(words: pd.Series, mostly: Callable[[Any], bool], given: Sequence[Form] = ()) -> Form | Unclear | None:
    """Whether the day or the month stands first in dates such as 3/4/2024; nothing where there are none.

    >>> form_of_dates(pd.Series(["3/4/2024", "13/4/2024"]), np.all)
    Form(example='31/12/2024')
    """
    long, short = (words.map(one.fullmatch).notna().to_numpy() for one in (_DAY, _SHORT_YEAR))
    if not (long | short).any() or not mostly(long | short | as_dates(words).notna().to_numpy()):
        return None
    fits = [] if short.any() else [own for own in _DAYS if as_dates(words[long].map(own.iso)).notna().all()]
    for own in fits:
        if len(fits) == 1 or own in given:
            return own
    return Unclear(f"dates to be read in two ways, such as {words[long | short].iloc[0].strip()[:40]}")
