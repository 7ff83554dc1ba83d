"""Words that speak of time or numbers: whether their alphabetical order is the order of what they mean."""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

_DATE = re.compile(
    r"\s*(?:(?P<y>\d{4})(?P<mark>[-/.])(?P<m>\d{1,2})(?P=mark)(?P<d>\d{1,2})|(?P<D>\d{1,2})\.(?P<M>\d{1,2})\.(?P<Y>\d{4}))"
    r"(?:(?:T|\s+)(?P<h>\d{1,2}):(?P<min>\d\d)(?::(?P<s>\d\d)(?:[.,](?P<part>\d{1,9}))?)?"
    r"(?:\s*(?P<half>[AaPp])\.?[Mm]\.?)?\s*(?P<zone>Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?)?\s*",
    re.ASCII,
)
# 31 Jan 2024, 31-Jan-2024, 31. Januar 2024; Jan 31, 2024.
_NAMED = re.compile(
    r"\s*(?:(?P<d>\d{1,2})(?:st|nd|rd|th|\.)?(?P<mark>[ -])(?P<m>[^\W\d_]+)\.?(?P=mark)"
    r"|(?P<M>[^\W\d_]+)\.? (?P<D>\d{1,2})(?:st|nd|rd|th)?,? )(?P<y>\d{4})(?P<rest>\s.*)?",
    re.DOTALL,
)
_NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?\s*", re.ASCII)
# Numbers that somebody may mean otherwise: 12.2023, and 1.234 beside 999.
MONTH_YEAR, GROUPED = r"[0-9]{1,2}\.(?:1[5-9]|2[01])[0-9]{2}", r"[+-]?[0-9]{1,3}(?:\.[0-9]{3})*"
_CLOCK = re.compile(r"(\d\d?):([0-5]\d)(?::([0-5]\d))?", re.ASCII)
_YEAR = r"(1[5-9]\d\d|2[01]\d\d)"
# A period of a year that stands in front: 2024-03, 2024Q1, 2024-W05, 2023/24.
_PERIOD = re.compile(_YEAR + r"([-/ ]?)([QWHMqwhm]?)(\d\d?)", re.ASCII)
_YEARS = re.compile(_YEAR + "([-/])" + _YEAR, re.ASCII)
_QUARTER = re.compile(r"Q([1-4])([ -]?)" + _YEAR, re.ASCII)
# A word and a number. Behind a minus sign, or beside a word that counts backwards, nobody knows the direction.
_COUNTED = re.compile(r"([^\W\d_][^\W\d]*[ _#]?)(\d+)")
_BACKWARDS = frozenset(["ago", "before", "minus", "vor", "last", "left", "remaining", "to", "until"])
_MONTHS = [
    "jan januar january janvier janeiro enero gennaio januari jän jänner janv ene gen styczeń ocak январь",
    "feb februar february février fevereiro febrero febbraio februari fev fevr luty şubat февраль",
    "mar märz march mars março marzo maart marts mrz marzec mart март",
    "apr april avril abril aprile avr abr kwiecień nisan апрель",
    "may mai maio mayo maggio mei mag maj mayıs май",
    "jun juni june juin junho junio giugno giu czerwiec haziran июнь",
    "jul juli july juillet julho julio luglio juil lug lipiec temmuz июль",
    "aug august août agosto augustus augusti ago sierpień ağustos август",
    "sep sept september septembre setembro septiembre settembre set wrzesień eylül сентябрь",
    "oct okt oktober october octobre outubro octubre ottobre ott out październik ekim октябрь",
    "nov november novembre novembro noviembre listopad kasım ноябрь",
    "dec dez dezember december décembre dezembro diciembre dicembre dic grudzień aralık декабрь",
]
# Words with an order of their own; alphabetical it is seldom.
_SEQUENCES = [
    text.split()
    for text in (
        "monday tuesday wednesday thursday friday saturday sunday",
        "mon tue wed thu fri sat sun",
        "montag dienstag mittwoch donnerstag freitag samstag sonntag",
        "mo di mi do fr sa so",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        "lunes martes miercoles jueves viernes sabado domingo",
        "spring summer autumn winter",
        "spring summer fall winter",
        "fruhling sommer herbst winter",
        "zero one two three four five six seven eight nine ten eleven twelve",
        "null eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf",
        "zeroth first second third fourth fifth sixth seventh eighth ninth tenth last",
        "erste zweite dritte vierte funfte sechste letzte",
        "alpha beta gamma delta epsilon zeta eta theta",
        "tiny small medium large huge",
        "xs s m l xl xxl",
        "none lowest lo low mid middle medium moderate hi high higher highest top critical",
        "niedrig mittel hoch",
        "bad poor fair good better best excellent",
        "past old previous current present now new next future",
        "before during after",
        "pre mid post",
        "yesterday today tomorrow",
        "gestern heute morgen",
        "vorher nachher",
        "alt neu",
        "morning noon afternoon evening night",
        "start begin early middle late end",
        "train training valid validation val test",
        "source target",
        "never rarely sometimes often always",
    )
]
_ROMAN = re.compile(r"(?=[IVXLC])(?:C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})")
_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


def iso_date(word: str) -> str | None:
    """A date as ISO writes it, with its time and zone; None for everything that is no date, or more than one.

    The year has four digits. It stands in front, behind a day and a month with points between them, or beside the name
    of a month.

    >>> iso_date("2024-1-31"), iso_date("31.01.2024 9:30"), iso_date("2024-01-31 09:30 PM +01"), iso_date("31/01/2024")
    ('2024-01-31T00:00:00', '2024-01-31T09:30:00', '2024-01-31T21:30:00+01:00', None)
    >>> iso_date("31 Jan 2024"), iso_date("Januar 31, 2024"), iso_date("31 Jam 2024")
    ('2024-01-31T00:00:00', '2024-01-31T00:00:00', None)
    >>> iso_date("2024-01-31 09:30 PST") is None
    True
    """
    named = _NAMED.fullmatch(word)
    if named is not None:
        month = _month(_plain(named["m"] or named["M"]))
        word = f"{named['y']}-{0 if month is None else month + 1}-{named['d'] or named['D']}{named['rest'] or ''}"
    found = _DATE.fullmatch(word)
    if found is None:
        return None
    part = found.groupdict()
    year, number, day = part["y"] or part["Y"], int(part["m"] or part["M"]), int(part["d"] or part["D"])
    hour, half = int(part["h"] or 0), part["half"]
    if half is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half in "pP" else 0)
    zone = part["zone"] or ""
    if zone in ("Z", "UTC", "GMT"):
        zone = "+00:00"
    elif zone:
        digits = zone[1:].replace(":", "").ljust(4, "0")
        zone = f"{zone[0]}{digits[:2]}:{digits[2:]}"
    text = f"{year}-{number:02}-{day:02}T{hour:02}:{part['min'] or '00'}:{part['s'] or '00'}"
    try:
        datetime.datetime.fromisoformat(text + zone)
    except ValueError:
        return None
    return text + (f".{part['part']}" if part["part"] else "") + zone


def unclear_numbers(words: Collection[str]) -> str:
    """Why words that look like numbers may be something else; nothing where they are numbers.

    >>> unclear_numbers(["98", "99", "00"]), unclear_numbers(["12.2023", "01.2024"]), unclear_numbers(["01", "2.5"])
    ('years of two figures', 'months and years', '')
    >>> unclear_numbers(["998", "1.010"]), unclear_numbers(["998.000", "1.010"])
    ('thousands', '')
    """
    if any(re.fullmatch("0[0-9]", word) for word in words) and any(re.fullmatch("[7-9][0-9]", word) for word in words):
        return "years of two figures"
    if all(re.fullmatch(MONTH_YEAR, word) for word in words):
        return "months and years"
    pointed = [word for word in words if "." in word]
    grouped = all(re.fullmatch(GROUPED, word) for word in words)
    return "thousands" if grouped and 0 < len(pointed) < len(words) else ""


def nearly_alike(words: Iterable[str]) -> tuple[str, str] | None:
    """Two words that differ in blanks, capitals, decimal marks, or in how their letters are composed alone.

    >>> nearly_alike(["a", "b", "a "]), nearly_alike(["Yes", "yes"]), nearly_alike(["a", "b"])
    (('a', 'a '), ('Yes', 'yes'), None)
    """
    first: dict[str, str] = {}
    plain = ((re.sub("(?<=[0-9]),(?=[0-9])", ".", unicodedata.normalize("NFKC", w)), w) for w in words)
    pairs = ((first.setdefault(" ".join(own.casefold().split()), w), w) for own, w in plain)
    return next((pair for pair in pairs if pair[0] != pair[1]), None)


def alphabetical(words: Sequence[str]) -> bool:
    """Whether words speak of no date, time or number, so that nothing but the alphabet orders them.

    >>> alphabetical(["early", "late"]), alphabetical(["2024-01", "2024-02"])
    (True, False)
    """
    return _meant(words) is None


def misplaced(words: Sequence[str]) -> tuple[str, str] | None:
    """Two neighbours of an ascending list of words that show that its order may not be the one that is meant.

    >>> misplaced(["2023-10", "2024-01"]), misplaced(["early", "late"]), misplaced(["Q1-22", "Q1-23", "Q2-22"])
    (None, None, ('Q1-22', 'Q1-23'))
    """
    if len(words) < 2:
        return None
    keys = None if unclear_numbers(words) else _meant(words)
    if keys is not None:
        places = range(len(words) - 1)
        return next(((words[place], words[place + 1]) for place in places if keys[place] >= keys[place + 1]), None)
    if any(letter.isnumeric() for word in words for letter in word):
        return words[0], words[1]
    spelt = [_plain(word) for word in words]
    turned = (pair for pair, own in zip(pairwise(words), pairwise(spelt), strict=True) if own[0] >= own[1])
    return next(turned, None) or _out_of_sequence(words, spelt)


def _meant(words: Sequence[str]) -> list[Any] | None:
    """What words say, as values that compare as it does; None where they are not of one form."""
    for read in _FORMS:
        found = [read(word) for word in words]
        if all(found) and len({form for form, _ in found}) == 1:
            return [key for _, key in found]
    return None


def _number(word: str) -> Any:
    return (("number",), Decimal(word.strip())) if _NUMBER.fullmatch(word) else None


def _day(word: str) -> Any:
    text = iso_date(word)
    if text is None or not word.strip()[:4].isdecimal():  # days in front are in order by chance alone
        return None
    whole, _, rest = text.partition(".")
    part, sign, zone = (rest.partition("+") if "+" in rest else rest.partition("-")) if rest else ("", "", "")
    time = datetime.datetime.fromisoformat(whole + sign + zone)
    zoned = time.tzinfo is not None
    return ("date", zoned), ((time - time.utcoffset()).replace(tzinfo=None) if zoned else time, part.ljust(9, "0"))  # type: ignore[operator]


def _clock(word: str) -> Any:
    found = _CLOCK.fullmatch(word)
    if found is None or int(found[1]) > 23:
        return None
    return ("clock", found[3] is None), (int(found[1]), int(found[2]), int(found[3] or 0))


def _period(word: str) -> Any:
    found = _PERIOD.fullmatch(word)
    return None if found is None else (("period", found[2], found[3].upper()), (int(found[1]), int(found[4])))


def _years(word: str) -> Any:
    found = _YEARS.fullmatch(word)
    return None if found is None else (("years", found[2]), (int(found[1]), int(found[3])))


def _quarter(word: str) -> Any:
    found = _QUARTER.fullmatch(word)
    return None if found is None else (("quarter", found[2]), (int(found[3]), int(found[1])))


def _counted(word: str) -> Any:
    found = _COUNTED.fullmatch(word)
    if found is None:
        return None
    spelt = _plain(found[1].replace("_", " ").replace("#", " "))
    # Behind two letters, or the name of a month, two figures may be a year: FY98, FY01, Jan22.
    year_like = len(found[2]) == 2 and (found[2] >= "70" or _month(spelt) is not None)
    unclear = year_like or set(spelt.split()) & _BACKWARDS
    return None if unclear else (("counted", found[1]), int(found[2]))


_FORMS: tuple[Callable[[str], Any], ...] = (_number, _day, _clock, _period, _years, _quarter, _counted)


def _plain(word: str) -> str:
    """A word without capitals and accents."""
    return "".join(own for own in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(own))


def _month(spelt: str) -> int | None:
    tokens = re.findall(r"[^\W\d_]+", spelt)
    return next((place for place, names in enumerate(_MONTHS) if set(tokens) & set(_plain(names).split())), None)


def _out_of_sequence(words: Sequence[str], spelt: Sequence[str]) -> tuple[str, str] | None:
    """Names of months, and words with an order of their own that is not alphabetical."""
    months = [_month(word) for word in spelt]
    if len(set(months) - {None}) > 1:
        first, second = [word for word, month in zip(words, months, strict=True) if month is not None][:2]
        return first, second
    tokens = [re.findall(r"[^\W\d_]+", word) for word in spelt]
    for names in _SEQUENCES:
        pairs = [
            (names.index(found[0]), word)
            for own, word in zip(tokens, words, strict=True)
            if (found := [token for token in own if token in names])
        ]
        for (place, word), (following, after) in pairwise(pairs):
            if place > following:
                return word, after
    numerals = [_roman(word) for word in words]
    if None not in numerals:
        values = [number for number in numerals if number is not None]
        return next(
            (pair for pair, own in zip(pairwise(words), pairwise(values), strict=True) if own[0] >= own[1]), None
        )
    return None


def _roman(word: str) -> int | None:
    """The Roman numeral that a word is, or that it ends with."""
    tokens = re.findall(r"[^\W\d_]+", word)
    last = next((token for token in reversed(tokens) if _ROMAN.fullmatch(token.upper())), None)
    if last is None:
        return None
    figures = [_DIGITS[letter] for letter in last.upper()]
    return sum(own if own >= after else -own for own, after in zip(figures, [*figures[1:], 0], strict=True))
