"""Small expressions over records: which number of a file a text shows, and in which form.

An expression is a part of Python: names, keys, arithmetic and the functions below. It can neither call nor reach
anything else.
"""

from __future__ import annotations

import ast
import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import geometric_mean, median
from typing import Any

from driftfit.errors import InputError

__all__ = ["MISSING", "evaluate", "filled"]

# What a text shows where there is no number.
MISSING = "–"

_ARITHMETIC: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FIELD = re.compile(r"\{([^{}]+)\}")


def filled(template: str, data: Any) -> str:
    """A text with every ``{expression:format}`` in it worked out; what is missing is a dash.

    >>> filled("{mean(data.x):.1f} of {count(data)}", [{"x": 1.0}, {"x": 2.0}])
    '1.5 of 2'
    """
    return _FIELD.sub(lambda found: _formatted(found.group(1), data), template)


def evaluate(expression: str, data: Any) -> Any:
    """The value of an expression over plain data.

    A name is a key of the data, ``data`` is all of it, ``a.b`` and ``a["b"]`` are keys; a key of a list is asked of
    each of its items. ``one`` and ``where`` take items with given values, ``group`` gathers items that share some.

    >>> runs = [{"table": "a", "x": 1.0}, {"table": "b", "x": 3.0}, {"table": "b", "x": 5.0}]
    >>> evaluate('one(data, table="a").x', runs), evaluate('mean(where(data, table="b").x) - 1', runs)
    (1.0, 3.0)
    >>> [(found["table"], found["x"]) for found in evaluate('group(data, "table")', runs)]
    [('a', [1.0]), ('b', [3.0, 5.0])]
    """
    try:
        return _value(_parsed(expression).body, data)
    except InputError as error:
        raise InputError(f"{error} (in {expression.strip()!r})") from None
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise InputError(f"{error} (in {expression.strip()!r})") from None


def _parsed(expression: str) -> ast.Expression:
    try:
        return ast.parse(expression.strip(), mode="eval")
    except SyntaxError:
        raise InputError(f"{expression.strip()!r} is no expression") from None


def _formatted(field: str, data: Any) -> str:
    expression, form = field, ""
    try:
        ast.parse(field.strip(), mode="eval")
    except SyntaxError:
        expression, _, form = field.rpartition(":")
    value = evaluate(expression, data)
    if value is None:
        return MISSING
    try:
        return format(value, form)
    except (TypeError, ValueError):
        raise InputError(f"{value!r} does not take the form {form!r} (in {field.strip()!r})") from None


def _value(node: ast.AST, data: Any) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return data if node.id == "data" else _key(data, node.id)
    if isinstance(node, ast.Attribute):
        return _key(_value(node.value, data), node.attr)
    if isinstance(node, ast.Subscript):
        return _key(_value(node.value, data), _value(node.slice, data))
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        sides = _value(node.left, data), _value(node.right, data)
        # What is missing stays missing.
        return None if None in sides else _ARITHMETIC[type(node.op)](*sides)
    if isinstance(node, ast.UnaryOp) and type(node.op) in _ARITHMETIC:
        return _ARITHMETIC[type(node.op)](_value(node.operand, data))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
        given = {word.arg: _value(word.value, data) for word in node.keywords if word.arg}
        # The condition of `kept` is worked out for each item.
        if node.func.id == "kept" and len(node.args) == 2:
            return [item for item in _value(node.args[0], data) if _condition(node.args[1], item)]
        return _FUNCTIONS[node.func.id](*(_value(argument, data) for argument in node.args), **given)
    raise InputError(f"{ast.unparse(node)!r} is not understood; functions are {', '.join(sorted(_FUNCTIONS))}")


def _condition(node: ast.AST, item: Any) -> bool:
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or type(node.ops[0]) not in _ARITHMETIC:
        raise InputError(f"{ast.unparse(node)!r} is no comparison")
    left, right = _value(node.left, item), _value(node.comparators[0], item)
    return left is not None and right is not None and bool(_ARITHMETIC[type(node.ops[0])](left, right))


def _key(data: Any, key: Any) -> Any:
    if isinstance(data, Mapping):
        if key not in data:
            raise InputError(f"there is no {key!r} among {', '.join(map(repr, list(data)[:20]))}")
        return data[key]
    if isinstance(data, Sequence) and not isinstance(data, str):
        if not isinstance(key, int):
            return [_key(item, key) for item in data]
        if -len(data) <= key < len(data):
            return data[key]
    raise InputError(f"there is no {key!r} in {str(data)[:40]!r}")


def _where(items: Sequence[Any], **wanted: Any) -> list[Any]:
    # A column of a CSV that holds numbers alone is numbers, whatever they stand for.
    return [item for item in items if all(str(_key(item, name)) == str(value) for name, value in wanted.items())]


def _one(items: Sequence[Any], **wanted: Any) -> Any:
    found = _where(items, **wanted)
    if len(found) != 1:
        shown = ", ".join(f"{name}={value!r}" for name, value in wanted.items())
        raise InputError(f"{len(found)} items have {shown}, where there must be one")
    return found[0]


def _group(items: Sequence[Mapping[str, Any]], *names: str) -> list[dict[str, Any]]:
    """Items that share the values of some keys, as one item: these values, lists of all others, and ``runs``."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for item in items:
        groups.setdefault(tuple(item[name] for name in names), []).append(item)
    return [
        {name: own[0][name] if name in names else [item[name] for item in own] for name in own[0]} | {"runs": own}
        for own in groups.values()
    ]


def _items(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, **value} for key, value in data.items()]


def _known(values: Any) -> list[Any]:
    """What is not missing, lists of lists as one list."""
    flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return [value for value in flat if value is not None]


def _mean(values: Sequence[Any]) -> float | None:
    known = _known(values)
    return sum(known) / len(known) if known else None


def _tally(values: Sequence[Any]) -> str:
    return ", ".join(f"{value} {number}" for value, number in Counter(values).most_common())


def _highest(items: Sequence[Mapping[str, Any]], *names: str) -> list[Any]:
    """The highest of several keys of each item."""
    return [max(_known(item[name] for name in names)) for item in items]


def _yes(value: Any) -> str:
    return "yes" if value else "no"


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "one": _one,
    "where": _where,
    "kept": lambda items: items,
    "group": _group,
    "items": _items,
    "among": lambda items, key, *values: [item for item in items if item[key] in values],
    "known": lambda items, key: [item for item in items if item[key] is not None],
    "starting": lambda items, words: [item for item in items if item["key"].startswith(words)],
    "pick": lambda flag, yes, no: yes if flag else no,
    "listed": lambda values, form: ", ".join(format(value, form) for value in _known(values)),
    "mean": _mean,
    "median": lambda values: median(_known(values)),
    "geometric_mean": lambda values: geometric_mean(_known(values)),
    "low": lambda values: min(_known(values)),
    "high": lambda values: max(_known(values)),
    "total": lambda values: sum(_known(values)),
    "count": lambda values: len(_known(values)),
    "tally": _tally,
    "highest": _highest,
    "yes": _yes,
    "paired": lambda left, right: [a - b for a, b in zip(left, right, strict=True) if None not in (a, b)],
}
