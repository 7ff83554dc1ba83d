"""Order words against what they mean: ``python tests/domains/fuzz_words.py --sequences 5000``.

A sequence of moments, numbers or names whose order is known is written in one of many forms, and put in order. It must
come in the order of what it means, or be refused. Whatever comes in another order is printed with its seed, and the
exit code is 1.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from datetime import datetime, timedelta

import numpy as np
import pandas as pd

from driftfit.app.windows import comparable
from driftfit.domains.order import rank
from driftfit.errors import InputError

MONTHS = {
    language: names.split()
    for language, names in {
        "en": "January February March April May June July August September October November December",
        "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "pl": "styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień",
        "tr": "ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık",
        "ru": "январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь",
    }.items()
}
SEQUENCES = [
    names.split()
    for names in (
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
        "Mo Di Mi Do Fr Sa So",
        "low medium high",
        "small medium large",
        "spring summer autumn winter",
        "first second third fourth fifth",
        "one two three four five six",
        "before during after",
        "train validation test",
        "past present future",
        "morning afternoon evening night",
        "alpha beta gamma delta",
        "yesterday today tomorrow",
        "XS S M L XL",
    )
]
ROMAN = [
    "I",
    "II",
    "III",
    "IV",
    "V",
    "VI",
    "VII",
    "VIII",
    "IX",
    "X",
    "XI",
    "XII",
    "XIII",
    "XIV",
    "XV",
    "XVI",
    "XVII",
    "XVIII",
    "XIX",
    "XX",
]


def _months(t: datetime, language: str) -> str:
    return MONTHS[language][t.month - 1]


# Moments in a form. Each form tells moments of the given step apart.
MOMENTS = {
    "month": [
        *(lambda t, own=own: f"{_months(t, own)} {t.year}" for own in MONTHS),
        lambda t: f"{_months(t, 'en')[:3]}{t:%y}",
        lambda t: f"{_months(t, 'de')[:3]} {t:%y}",
        lambda t: f"{t:%y}-{_months(t, 'en')[:3]}",
        lambda t: f"{t.year} {_months(t, 'en')[:3]}",
        *(
            lambda t, own=own: t.strftime(own)
            for own in ("%m-%y", "%m/%Y", "%Y-%m", "%Y/%m", "%y-%m", "%Y%m", "%m.%Y", "%YM%m")
        ),
        lambda t: f"{t.year}-{t.month}",
        lambda t: f"{t.month}/{t.year}",
        lambda t: f"M{t.month} {t.year}",
    ],
    "quarter": [
        lambda t: f"Q{(t.month + 2) // 3}-{t:%y}",
        lambda t: f"{(t.month + 2) // 3}Q{t:%y}",
        lambda t: f"{t.year}Q{(t.month + 2) // 3}",
        lambda t: f"Q{(t.month + 2) // 3} {t.year}",
        lambda t: f"{t.year}-Q{(t.month + 2) // 3}",
        lambda t: f"{t:%y}Q{(t.month + 2) // 3}",
    ],
    "day": [
        lambda t: t.strftime("%d.%m.%Y"),
        lambda t: t.strftime("%d/%m/%Y"),
        lambda t: t.strftime("%m/%d/%Y"),
        lambda t: t.strftime("%d.%m.%y"),
        lambda t: t.strftime("%Y-%m-%d"),
        lambda t: t.strftime("%Y%m%d"),
        lambda t: t.strftime("%d %b %Y"),
        lambda t: t.strftime("%b %d, %Y"),
        lambda t: t.strftime("%a %d %b"),
        lambda t: f"{t.year}-{t.month}-{t.day}",
        lambda t: f"{t.day}.{t.month}.{t.year}",
    ],
    "minute": [
        lambda t: t.strftime("%Y-%m-%d %H:%M"),
        lambda t: t.strftime("%Y-%m-%d %I:%M %p"),
        lambda t: t.strftime("%d.%m.%Y %H:%M"),
        lambda t: t.strftime("%Y-%m-%dT%H:%M:%SZ"),
        # The same moment, said in New York and in Los Angeles by turns.
        lambda t: f"{t - timedelta(hours=5 + 3 * (t.minute % 2)):%Y-%m-%d %H:%M} {'EP'[t.minute % 2]}ST",
        lambda t: f"{t - timedelta(hours=5 + 3 * (t.minute % 2)):%Y-%m-%d %H:%M}-0{5 + 3 * (t.minute % 2)}:00",
    ],
    "clock": [
        lambda t: t.strftime("%H:%M"),
        lambda t: t.strftime("%I:%M %p"),
        lambda t: f"{t.hour}:{t.minute:02}",
        lambda t: f"{t:%I:%M}{t:%p}".lower(),
        lambda t: f"{t.hour}h{t.minute:02}",
    ],
    "year": [
        lambda t: f"'{t:%y}",
        lambda t: f"FY{t:%y}",
        lambda t: f"{t:%y}",
        lambda t: f"{t.year}/{t.year + 1}",
        lambda t: f"{t.year}/{(t.year + 1) % 100:02}",
        lambda t: f"{t:%y}/{(t.year + 1) % 100:02}",
        lambda t: f"season {t.year}",
        lambda t: f"WS {t:%y}",
    ],
}
STEPS = {
    "month": timedelta(days=31),
    "quarter": timedelta(days=92),
    "day": timedelta(days=1),
    "minute": timedelta(minutes=17),
    "clock": timedelta(minutes=41),
    "year": timedelta(days=366),
}
NUMBERS = [
    lambda k: f"{k:,}",
    lambda k: f"{k:,}".replace(",", " "),
    lambda k: f"{k:,}".replace(",", "'"),
    lambda k: f"{k:,}".replace(",", "."),
    lambda k: f"{k:05}",
    lambda k: str(k),
    lambda k: f"{k:.1e}" if k < 10 else f"{k:e}",
    lambda k: f"week {k}",
    lambda k: f"week {k:04}",
    lambda k: f"v1.{k}",
    lambda k: f"{k}th",
    lambda k: f"{k} kg",
    lambda k: f"batch-{k:04}",
    lambda k: f"{k}%",
    lambda k: f"{k / 8:.3f}".replace(".", ","),
]
BACKWARDS = [
    lambda k: f"-{k}d",
    lambda k: f"t-{k}",
    lambda k: f"T-{k:03}",
    lambda k: f"{k} days ago",
    lambda k: f"-{k}",
    lambda k: f"minus {k}",
    lambda k: f"vor {k}",
    lambda k: f"\N{MINUS SIGN}{k}",
]


def sequence(seed: int) -> tuple[str, list[str]]:
    """Different words in the order of what they mean, and the form they have."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 15))
    kind = str(rng.choice([*MOMENTS, *MOMENTS, "numbers", "backwards", "names", "roman", "bare months"]))
    place = 0
    if kind in MOMENTS:
        place = int(rng.integers(len(MOMENTS[kind])))
        day = (
            datetime(2024, 1, 1)
            if kind == "clock"
            else datetime(1985, 1, 1) + timedelta(days=int(rng.integers(15_000)))
        )
        steps = np.cumsum(rng.integers(1, 4, n))
        words = [MOMENTS[kind][place](day + STEPS[kind] * int(step)) for step in steps if kind != "clock" or step < 35]
    elif kind in ("numbers", "backwards"):
        forms = NUMBERS if kind == "numbers" else BACKWARDS
        place = int(rng.integers(len(forms)))
        values = np.unique(rng.integers(1, [12, 120, 2000][rng.integers(3)], n))
        words = [forms[place](int(k)) for k in (values if kind == "numbers" else values[::-1])]
    elif kind == "roman":
        words = [[w, f"Phase {w}"][int(seed % 2)] for w in np.array(ROMAN)[np.unique(rng.integers(0, 20, n))]]
    else:
        names = SEQUENCES[rng.integers(len(SEQUENCES))] if kind == "names" else MONTHS[str(rng.choice([*MONTHS]))]
        words = [names[k] for k in np.unique(rng.integers(0, len(names), n))]
    return f"{kind} {place}", list(dict.fromkeys(words))


def found(words: list[str], rng: np.random.Generator) -> list[str] | None:
    """The words as a column of a table puts them in order; None where it refuses."""
    mixed = [words[k] for k in rng.permutation(len(words))]
    try:
        ranked = rank(comparable(pd.Series(mixed, dtype=object), "order"), "order")
    except InputError:
        return None
    return [mixed[k] for k in np.argsort(ranked.ranks, kind="stable")]


def run(n_sequences: int, seed: int) -> int:
    """Sequences one after the other; returns how many came in a wrong order."""
    ends: Counter[str] = Counter()
    wrong = 0
    for number in range(seed, seed + n_sequences):
        form, words = sequence(number)
        got = found(words, np.random.default_rng(number))
        ends["refused" if got is None else "right" if got == words else "wrong"] += 1
        if got is not None and got != words:
            wrong += 1
            print(f"seed {number}, {form}: {words} became {got}", flush=True)
    told = ", ".join(f"{end}: {count}" for end, count in sorted(ends.items()))
    print(f"{n_sequences} sequences ({told}); {wrong} in a wrong order", flush=True)
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sequences", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    sys.exit(1 if run(chosen.sequences, chosen.seed) else 0)
