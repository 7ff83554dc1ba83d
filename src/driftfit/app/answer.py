"""The answer to a run in at most four sentences and one table: what moved, what was done, what to expect, what next."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from driftfit.app.settings import Keep
from driftfit.methods import Assumption
from driftfit.selection import (
    ALL_LABELS,
    IN_USE,
    AccuracyEstimate,
    Advice,
    Alternative,
    Backtest,
    Gain,
    Ladder,
    LadderChoice,
    Metric,
    default_metric,
)
from driftfit.selection.answers import worth_of
from driftfit.selection.candidates import answer_to
from driftfit.selection.chosen import SOURCE
from driftfit.selection.diagnosis import Drift
from driftfit.selection.metric import RARE
from driftfit.selection.mixture import IN_ORDER, MIXTURE

if TYPE_CHECKING:
    from driftfit.app.checked import Checked
    from driftfit.app.job import Result

_NUMBERS = (
    "none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
# Rows to label where nothing says how many would settle anything.
_BUDGET = 50
_LONGEST_NAME = 40
_TIME_OF_DAY = re.compile(r"(?<=\d{4}-\d\d-\d\d)T[\d:.]+")
# A wider interval of a share says no more than that it is not known.
_SAYS_NOTHING = 0.6
_WAYS = {
    MIXTURE: "is a mean of several ways to learn from all labels, weighted by how well they did",
    IN_ORDER: "is a mean of several ways to learn from all labels, and compares each row with those just before it",
    "recent labels, half-life 1 window": "learns from all labels, those of each window before counting half",
    "last window": "learns from the last window alone",
    "with time": "learns from all labels, with the time as a column",
}
_EFFECTS = {
    Assumption.COVARIATES: "learns most from labelled rows that look like today's",
    Assumption.PROPORTIONS: "is corrected for how frequent each class is today",
    Assumption.SCALE: "reads each window on its own scale",
    Assumption.STRUCTURE: "turns today's rows back to where they came from",
    Assumption.PATH: "goes along the windows, one after the other",
}


@dataclass(frozen=True)
class Compared:
    """A model or a way to learn that was compared, each number in words.

    ``value``: its metric where that was measured. ``gain``: what it gains over the first one, with the interval.
    ``note``: whether it was taken, or what it would change and how many labels would settle that.
    """

    name: str
    value: str = ""
    gain: str = ""
    note: str = ""


@dataclass(frozen=True)
class Answer:
    """What a colleague would say about a run.

    ``sentences``: what moved, what was done and on which evidence, what to expect, what to do next. ``heads``: what the
    parts of each row are. ``rows``: everything that was compared; empty where nothing was. ``notes``: which labels were
    used, and what counts.

    >>> print(Answer(("Nothing moved.", "The old model stays.")))
    Nothing moved.
    The old model stays.
    """

    sentences: tuple[str, ...]
    heads: tuple[str, str, str, str] = ("", "", "", "")
    rows: tuple[Compared, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    @property
    def table(self) -> dict[str, Any]:
        """Heads and rows without the columns that are empty, as plain values."""
        cells = [tuple(asdict(row).values()) for row in self.rows]
        used = [place for place in range(len(self.heads)) if any(row[place] for row in cells)]
        return {
            "heads": [self.heads[place] for place in used],
            "rows": [[row[place] for place in used] for row in cells],
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"sentences": list(self.sentences), "table": self.table, "notes": list(self.notes)}


def answer_of(result: Result, run: str = "RUN") -> Answer:
    """The answer to a run that was kept in the folder ``run``.

    ``run``: as it is written on a command line.
    """
    sentences = (_moved(result.checked), _done(result), _expected(result), _next(result, run))
    heads, rows = _compared(result)
    found = result.choice.backtest if isinstance(result.choice, LadderChoice) else None
    counted = () if found is None else _counted(result.checked, found)
    return Answer(sentences, heads, rows if len(rows) > 1 else (), (*_labels_used(result.checked), *counted))


def _labels_used(checked: Checked) -> tuple[str, ...]:
    """The line that says which labels are used, where some after the first window are."""
    return tuple(one for one in checked.prepared.sampled if one.startswith(("labels until ", "probabilities are ")))


def _counted(checked: Checked, found: Backtest) -> list[str]:
    """What counts, where nobody said it; and what could not be imitated."""
    said = []
    if checked.settings.metric is None:
        codes = checked.prepared.training.source.codes(found.classes)
        said.append(default_metric(codes, len(found.classes))[1])
    if found.late < found.asked_late:
        late = f"{found.late} window{'s' * (found.late != 1)} late" if found.late else "without delay"
        came = f"labels come {found.asked_late} window{'s' * (found.asked_late != 1)} late"
        said.append(f"{came}; history is too short for that, so it was measured with labels that come {late}")
    elif found.late:
        said.append(f"measured with labels that come {found.late} window{'s' * (found.late != 1)} late, as they do")
    return said


def answer_ahead(checked: Checked) -> Answer:
    """The answer before anything is adapted: what moved, and what can be said so far."""
    ladder, before = checked.ladder, checked.decision.before
    moved = ladder is None or ladder.moved.rejected
    learns = checked.learns_from_history and ladder is not None
    if learns:
        ahead = "What to learn from is measured on the past windows: run driftfit adapt."
        return Answer((_moved(checked), ahead), notes=_labels_used(checked))
    if ladder is not None:
        standing = [name for name in ladder.declared if name in ladder.standing]
        expected = _likely(before, _when(checked), _ground(ladder, standing[0] if standing else None))
        expected = _not_alone(expected, checked)
        done = f"What was declared ({', '.join(standing)}) fits the rows: driftfit adapt tells what that changes."
        done = done if moved and standing else _kept_by(ladder, checked, "would stay")
        after = "Declare what may have changed (--assume), or label rows of today (driftfit label)."
        hint = (after,) if moved and not standing else ()
        heads, rows = ("assumption", "", "", "what the rows say"), _tested(ladder) if moved else ()
        return Answer((_moved(checked), done, expected, *hint), heads, rows)
    advice = checked.decision.verdict.advice
    return Answer((_moved(checked), _ADVICE[advice], _likely(before, _when(checked), None)))


_ADVICE = {
    Advice.ADAPT: "The steps between the windows are small enough to follow.",
    Advice.GENERATE: "A step between two windows is too large to take at once; generated windows can fill it.",
    Advice.GET_LABELS: "A step between two windows is too large to follow: label rows there.",
    Advice.DO_NOT_ADAPT: "There is nothing to gain from following the windows.",
}


# What moved ---------------------------------------------------------------------------------------------


def _moved(checked: Checked) -> str:
    """Which columns moved, or that nothing did."""
    found, ladder = checked.diagnosis, checked.ladder
    if ladder is not None and not ladder.moved.sayable:
        return "There are too few rows to tell whether anything moved."
    if isinstance(found, str):
        if ladder is None:
            return "What moved cannot be said column by column for pictures and networks."
        return f"{_since(checked)} the rows moved." if ladder.moved.rejected else _nothing(ladder)
    still = found.kind is Drift.NOTHING if ladder is None else not ladder.moved.rejected
    if still:
        return _nothing(ladder)
    names = list(dict.fromkeys(feature.name for feature in found.moved))
    n_all = len(dict.fromkeys(feature.name for feature in found.features))
    how_many = f"all {_count(n_all)}" if 1 < len(names) == n_all else f"{_count(len(names))} of {n_all}"
    if not names:
        return f"{_since(checked)} the rows moved, though no single column clearly did."
    which = f": {_short(names[0])}" if len(names) == 1 else f", {_short(names[0])} most"
    return f"{_since(checked)} {how_many} columns moved{which}."


def _nothing(ladder: Ladder | None) -> str:
    """That nothing moved, and whether there are columns of which this cannot be said."""
    slow = 0 if ladder is None else ladder.moved.n_slow
    if not slow or ladder is None:
        return "Nothing moved that can be seen in the rows."
    left = "a column changes" if slow == 1 else "some columns change"
    return f"Nothing moved that can be seen in the rows, but {left} too slowly to be judged."


def _since(checked: Checked) -> str:
    """With what the newest window is compared."""
    name = checked.prepared.windows[0].name.replace("..", " to ")
    days = _TIME_OF_DAY.sub("", name)
    first = _short(days if len(set(days.split(" to "))) > 1 else name)
    if checked.prepared.history is None:
        return f"Since {first}" if _is_date(first) else f"Since the first window ({first})"
    return f"Since the labelled rows ({first})" if _has_rows_to_predict(checked) else f"Within {first}"


def _is_date(name: str) -> bool:
    """Whether a window is named by a year, or by what begins with one."""
    return name[:4].isdecimal() and len(name) >= 4 and (len(name) == 4 or name[4] == "-") and " to " not in name


def _has_rows_to_predict(checked: Checked) -> bool:
    return checked.prepared.history is None or checked.prepared.asked is not None


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 3] + "..."


def _count(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else f"{number:,}"


def _windows(found: Backtest, way: str | None = None) -> str:
    """How many windows were judged, or those that a way was judged on."""
    n = len(found.windows) if way is None else _judged(found, way)
    return f"{n} past window{'s' * (n != 1)}"


def _judged(found: Backtest, way: str) -> int:
    return int(np.isfinite(found.scores[way]).sum())


# What was done ------------------------------------------------------------------------------------------


def _stays(checked: Checked, why: str, stays: str = "stays") -> str:
    """That the reference stays, or would, and why."""
    if checked.settings.in_use is not None:
        return f"The model in use {stays} exactly as it is: {why}."
    if checked.prepared.history is not None:
        return f"The model of all labels {stays}: {why}."
    return f"The old model {stays} exactly as it is: {why}."


def _done(result: Result) -> str:
    """What was done and on which evidence."""
    choice, checked = result.choice, result.checked
    if not isinstance(choice, LadderChoice):
        return _by_method(result)
    if choice.measured:
        return _by_labels(result, choice)
    found, ladder = choice.backtest, choice.ladder
    if ladder is not None and choice.best != choice.reference and ladder.used is not None:
        return (
            f"The new model {_EFFECTS[ladder.used]}: you declared that {ladder.used.meaning}, and the rows do not "
            "speak against it."
        )
    if ladder is None and found is not None and choice.best != choice.reference:
        best = choice.best
        base, moved, _ = best.partition(", another threshold")
        way = _WAYS.get(base, "learns from all labels" if base == ALL_LABELS else f"learns in the way {base!r}")
        way += f" and {_threshold(found, best)}" if moved else ""
        return f"The model {way}: in {_windows(found, best)} that {_gained(found, found.gains[best].value)}."
    if found is not None:
        declared = "" if ladder is None or not ladder.moved.rejected else _declared(ladder)
        more = f", and {declared}" if declared else ""
        why = found.held_back and f"another way did better in {_windows(found)}, but {found.held_back}"
        return _stays(checked, (why or f"no other way did clearly better in {_windows(found)}") + more)
    metric = checked.settings.metric
    if choice.best == IN_USE and checked.prepared.history is not None and not checked.learns_from_history and metric:
        why = f"it tells no probabilities, so that past windows cannot compare it by {metric.words}"
        return _stays(checked, f"{why} (--metric accuracy can)")
    if ladder is None and checked.settings.in_use is not None:
        return _stays(checked, "there are too few past windows to compare it with other models")
    if ladder is None:
        return "The model learns from all labels: there are too few past windows to measure other ways on."
    if "worse than the one in use" in choice.sentence:
        return _stays(checked, "the model that others would start from is worse on the labelled rows (--model)")
    return _kept_by(ladder, checked)


def _threshold(found: Backtest, way: str) -> str:
    """From which probability on a class is named, which need not be the likeliest one."""
    worth = worth_of(found, way)[1]
    odds = 1.0 if worth is None else float(worth[1, 1])
    second = odds >= 1.0
    return f"names {str(found.classes[int(second)])!r} from a probability of {100 / (1 + max(odds, 1 / odds)):.0f} % on"


def _kept_by(ladder: Ladder, checked: Checked, stays: str = "stays") -> str:
    """Why the reference stays, by what was declared."""
    if not ladder.moved.rejected:
        return _stays(checked, "nothing calls for a change", stays)
    nothing = "no label of today and no declared assumption says what the move did to the labels"
    return _stays(checked, _declared(ladder) or nothing, stays)


def _declared(ladder: Ladder) -> str:
    """What became of what was declared; nothing where nothing was."""
    if not ladder.declared:
        return ""
    if ladder.used is not None:
        return f"what was declared ({ladder.used}) fits the rows, but acting on it brings no clear gain"
    return f"the rows speak against what was declared ({', '.join(ladder.declared)})"


def _gained(found: Backtest, value: float) -> str:
    """A gain over the reference, as one would say it."""
    metric = found.metric
    than = "than learning from all labels" if found.plain is None else f"than the {found.reference}"
    if metric.name == "accuracy":
        return f"was right on {100 * value:.1f} points more rows {than}"
    if metric.is_loss:
        return f"brought {value:.3g} less {metric.words} {than}"
    amount = f"{100 * value:.1f} points" if metric.in_points else f"{value:.3f}"
    return f"brought {amount} more of {metric.words} {than}"


def _by_labels(result: Result, choice: LadderChoice) -> str:
    """What labels of today decided."""
    counted = f"on {choice.measured[-1].method} of today"
    if choice.best == choice.reference:
        if choice.best in _WAYS:
            return f"The model {_WAYS[choice.best]}, as past windows chose: {counted} nothing else was clearly better."
        return _stays(result.checked, f"{counted} nothing else was clearly better")
    gain, name = choice.gains[choice.best], str(choice.best)
    who = (
        "The new model learns from these labels too" if name.startswith("trained with") else f"{_capital(name)} is used"
    )
    points = f"{100 * gain.value:.0f} points more ({100 * gain.low:.0f} to {100 * gain.high:.0f})"
    than = (
        f"what past windows chose ({choice.reference})"
        if choice.reference in _WAYS
        else _reference_word(result.checked)
    )
    return f"{who}: {counted} it was right on {points} than {than}."


def _reference_word(checked: Checked) -> str:
    if checked.settings.in_use is not None:
        return "the model in use"
    return "the old model" if checked.prepared.history is None else "the model of all labels"


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def _method_name(result: Result) -> str:
    """The method in a word; by default pictures and networks follow the windows."""
    word = result.checked.settings.method_word
    return "goat" if word == "auto" else word


def _by_method(result: Result) -> str:
    """What came of a method that was asked for."""
    decision, settings = result.decision, result.checked.settings
    name = _method_name(result)
    if result.kept == "adapted":
        if settings.keep is Keep.ADAPTED:
            return f"The new model by {name} is used, as was asked for."
        return f"The new model by {name} is used: the rows do not speak against what that assumes."
    if result.adaptation.is_none_of(result.source):
        return _stays(result.checked, "nothing else was asked for")
    if decision.lost is not None:
        return _stays(result.checked, f"the model by {name} does not name one of the classes any more")
    return _stays(result.checked, decision.reasons[0])


# What to expect -----------------------------------------------------------------------------------------

_UNKNOWN = "How good it is today cannot be known without labels."


def _when(checked: Checked) -> str:
    return "today's rows" if _has_rows_to_predict(checked) else "the next rows"


def _expected(result: Result) -> str:
    """The user's metric to expect, with its interval, on the strongest evidence that there is."""
    return _not_alone(_expectation(result), result.checked)


def _not_alone(said: str, checked: Checked) -> str:
    """A share of right answers beside that of the commonest class, where a class is rare."""
    source = checked.prepared.training.source
    shares = source.one_hot(checked.source.classes).mean(axis=0)
    if shares.min() >= RARE or "to be right" not in said:
        return said
    name = str(checked.source.classes[int(shares.argmax())])
    beside = f"always saying {name!r} would be right on {100 * shares.max():.1f} % of the labelled ones"
    return f"{said[:-2]}; {beside})." if said.endswith(").") else f"{said[:-1]} ({beside})."


def _expectation(result: Result) -> str:
    choice, when = result.choice, _when(result.checked)
    if not isinstance(choice, LadderChoice):
        estimate = result.decision.estimate
        return _likely(estimate if estimate.reliable else None, when, None)
    if choice.measured:
        estimate = choice.measured[0 if choice.best == choice.reference else -1]
        return _share(Gain(estimate.value, estimate.low, estimate.high), when, f", from {estimate.method} of today")
    found, ladder = choice.backtest, choice.ladder
    if found is not None and (ladder is None or choice.best == choice.reference):
        said = _from_windows(found, choice.best if choice.best in found.ways else found.reference, when)
        trained = choice.best == IN_USE and said != _UNKNOWN
        return f"{said[:-1]}, or less if it was trained on these windows." if trained else said
    if ladder is None:
        return "How good it is cannot be known yet: there are too few past windows."
    return _likely(result.decision.estimate, when, _ground(ladder, ladder.used))


def _from_windows(found: Backtest, way: str, when: str) -> str:
    """What past windows let one expect."""
    value, metric = found.expected(way), found.metric
    basis = f", from {_windows(found, way)}"
    if not np.isfinite(value.value):
        return _UNKNOWN
    if metric.name == "accuracy":
        return _share(value, when, basis)
    if metric.in_points:
        low, mean, high = _percents(value)
        return f"Expect {_a(metric.words)} of {mean} % on {when}{_range(low, high, ' %', basis)}."
    if metric.is_loss:
        value = Gain(-value.value, -value.high, -value.low)
    low, mean, high = (f"{one:.3g}" for one in (value.low, value.value, value.high))
    return f"Expect {_a(metric.words)} of {mean} on {when}{_range(low, high, '', basis)}."


def _a(words: str) -> str:
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def _ground(ladder: Ladder, used: Assumption | None) -> str | None:
    """What an estimate without labels stands on; None where nothing was declared and something moved."""
    if not ladder.moved.rejected:
        return "If labels mean what they did"
    return None if used is None else "If that holds"


def _likely(estimate: AccuracyEstimate | None, when: str, ground: str | None) -> str:
    """An estimate without labels, where there is one that rests on something."""
    if estimate is None or not estimate.estimable or (ground is None and not estimate.reliable):
        return _UNKNOWN
    said = _share(Gain(estimate.value, estimate.low, estimate.high), when, "")
    return said if ground is None else f"{ground}, e{said[1:]}"


def _share(value: Gain, when: str, basis: str) -> str:
    low, mean, high = _percents(value)
    if basis and not value.high - value.low < _SAYS_NOTHING:
        return f"Expect about {mean} % of {when} to be right ({basis[2:]}, too few to say how far off that may be)."
    return f"Expect {mean} % of {when} to be right{_range(low, high, ' %', basis)}."


def _range(low: str, high: str, unit: str, basis: str) -> str:
    if "nan" in (low, high):
        return f" ({basis[2:]})" if basis else ""
    return f" ({low} to {high}{unit}{basis})"


def _percents(value: Gain) -> tuple[str, str, str]:
    """Low end, value and high end in percent, with a digit more where the interval is narrow."""
    digits = 1 if value.high - value.low < 0.04 else 0
    low, mean, high = (f"{100 * one:.{digits}f}" for one in (value.low, value.value, value.high))
    return low, mean, high


# What to do next ----------------------------------------------------------------------------------------


def _next(result: Result, run: str) -> str:
    """The one thing that would help most."""
    choice, checked = result.choice, result.checked
    predict = f"Predict rows to come: driftfit predict {run} NEW.csv -o predictions.csv."
    if not _has_rows_to_predict(checked) or (isinstance(choice, LadderChoice) and choice.measured):
        return predict
    if isinstance(checked.diagnosis, str):
        return "To know how good it is, label some rows of today and add them to the table."
    others: tuple[Alternative, ...] = ()
    if isinstance(choice, LadderChoice) and choice.ladder is not None:
        if choice.backtest is None and not choice.ladder.moved.rejected:
            return f"Nothing needs to be done now; when rows or labels arrive: driftfit update {run} NEW.csv."
        others = choice.ladder.others
    budget = max((one.labels for one in others), default=0) or _BUDGET
    why = "" if any(one.labels for one in others) else "To be sure, l"
    return f"{why or 'L'}abel {budget} rows of today: driftfit label {run} --budget {budget} -o rows.csv."


# What was compared --------------------------------------------------------------------------------------


def _compared(result: Result) -> tuple[tuple[str, str, str, str], tuple[Compared, ...]]:
    """Everything that was compared, the reference first."""
    choice = result.choice
    if not isinstance(choice, LadderChoice):
        return ("", "", "", ""), ()
    found, ladder = choice.backtest, choice.ladder
    heads, rows = ("compared", "", "", ""), []
    taken_up = ladder is not None and choice.best != choice.reference
    if found is not None:
        windows = f"{int(_shared(found).sum())} past windows"
        heads = (f"counted by {found.metric.words}", windows, _gain_head(found.metric), "today's answers")
        rows += _ways(found, None if taken_up else choice.best if choice.best in found.ways else found.reference)
    elif choice.measured:
        heads = ("compared", "labelled rows", "gain in points", "today's answers")
        plain = "old model" if result.checked.prepared.history is None else "model of all labels"
        names = {IN_USE: "model in use", SOURCE: plain, ALL_LABELS: plain}
        rows += [_candidate(choice, name, share, names) for name, share in choice.scores.items()]
    elif ladder is not None:
        heads = ("compared", "", "gain in points", "today's answers")
        rows.append(Compared(_reference_word(result.checked)[4:], note="" if taken_up else "taken"))
    if ladder is not None:
        rows += _alternatives(ladder, choice)
    return heads, tuple(rows)


def _gain_head(metric: Metric) -> str:
    return "gain in points" if metric.in_points else "gain"


def _shared(found: Backtest) -> NDArray[np.bool_]:
    """The windows on which nearly every way was judged: means over other ones could not be compared."""
    known = np.isfinite(np.array([found.scores[name] for name in found.ways]))
    counts = known.sum(axis=1)
    return np.asarray(known[counts >= np.median(counts)].all(axis=0))


def _ways(found: Backtest, taken: str | None) -> list[Compared]:
    """The ways of a backtest."""
    rows, shared = [], _shared(found)
    for name in found.ways:
        gain, scores = found.gains.get(name), found.scores[name][shared]
        shown = "" if gain is None or name == found.reference else _signed(gain, found.metric.in_points)
        known = scores[np.isfinite(scores)]
        value = found.metric.shown(float(known.mean())) if len(known) else ""
        value += f" ({len(known)} of them)" if value and len(known) < len(scores) else ""
        rows.append(Compared(name, value, shown, "taken" * (name == taken)))
    return rows + [Compared(name, note="could not run") for name in found.failed]


def _signed(gain: Gain, in_points: bool) -> str:
    by, digits = (100, 1) if in_points else (1, 3)
    # Minus nothing is nothing.
    value, low, high = (f"{round(by * one, digits) + 0.0:+.{digits}f}" for one in (gain.value, gain.low, gain.high))
    return f"{value} ({low} to {high})"


def _candidate(choice: LadderChoice, name: Any, share: float, names: dict[str, str]) -> Compared:
    gain = choice.gains.get(name)
    shown = "" if gain is None or name == choice.reference else _signed(gain, True)
    named = names.get(name, str(name))
    note = "taken" if name == choice.best else "cannot be taken" if name in choice.struck else ""
    return Compared(named, f"{100 * share:.1f} %", shown, note)


def _alternatives(ladder: Ladder, choice: LadderChoice) -> list[Compared]:
    """What was declared and what became of it; where nothing was, what each assumption would change."""
    rows = []
    for name in ladder.declared if ladder.moved.rejected else ():
        one = ladder.tested.get(name)
        gain = choice.gains.get(answer_to(name)) if choice.in_points else None
        shown = "" if gain is None else _signed(gain, True)
        note = "does not fit the rows" if one is not None and one.rejected else ""
        if name is ladder.used:
            note = "taken" if choice.best != choice.reference else "no clear gain"
        rows.append(Compared(f"assume {name}", "", shown, note))
    for other in ladder.others:
        if other.labels:
            note = f"{100 * other.changed:.0f} % change; {other.labels} labels tell"
            rows.append(Compared(f"assume {other.assumption}", note=note))
    return rows


def _tested(ladder: Ladder) -> tuple[Compared, ...]:
    """What the rows say about each assumption that could be, or was, declared."""
    return tuple(
        Compared(f"{name}: {name.meaning}", note="do not fit" if one.rejected else "may fit")
        for name, one in ladder.tested.items()
    )
