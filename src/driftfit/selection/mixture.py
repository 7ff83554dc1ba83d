"""Ways to learn mixed: the weights are those under which past windows would have been forecast best.

One way is seldom right for ever, and few windows cannot tell which one is. The mean of several is nearly as good as the
best of them where they differ, and better where each has errors of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from driftfit.methods import Method
from driftfit.methods.history import Mixture

if TYPE_CHECKING:
    from driftfit.selection.backtest import Backtest, Forecast

MIXTURE = "mixture"
# With ways that read each row by those before it: new rows must then be given in their order.
IN_ORDER = "mixture, rows in order"
# So many rows speak for each way before any is seen: the reference is left only for what past windows say clearly.
# Fixed on half of the tables of `benchmarks/history.py`; half or twice as many change little.
_ROWS_FOR_REFERENCE, _ROWS_FOR_OTHERS = 50.0, 5.0
# The rows of a window resemble each other: more of them do not say more about the next one.
_MOST_ROWS = 1_500
_LEAST_SHARE = 1e-3
_ROUNDS = 60
# What counts for less is not trained for the last time.
_LEAST_WEIGHT = 0.02


def mixture_weights(
    forecasts: Sequence[Forecast], ways: Sequence[str], reference: str, late: int = 0
) -> dict[str, float]:
    """Weights of the likeliest mixture, with some rows for each way beforehand (expectation maximisation).

    Parameters
    ----------
    forecasts : sequence of Forecast
        Those in which all the ways ran count.
    ways : sequence of str
    reference : str
    late : int
        How many windows late labels arrive: what is forecast lies as much farther from these, which say less about it.

    Examples
    --------
    >>> from driftfit.selection.backtest import Forecast
    >>> right, wrong = np.tile([0.1, 0.9], (400, 1)), np.tile([0.9, 0.1], (400, 1))
    >>> past = [Forecast(1, "one", np.ones(400, dtype=int), {"plain": wrong, "other": right})]
    >>> {name: round(weight, 2) for name, weight in mixture_weights(past, ["plain", "other"], "plain").items()}
    {'plain': 0.12, 'other': 0.88}
    """
    before = np.array([_ROWS_FOR_REFERENCE if name == reference else _ROWS_FOR_OTHERS for name in ways]) * (1 + late)
    known = [one for one in forecasts if all(name in one.shares for name in ways) and len(one.codes)]
    weights = before / before.sum()
    if not known:
        return dict(zip(ways, weights.tolist(), strict=True))
    given = [
        np.stack([one.shares[name][np.arange(len(one.codes)), one.codes] for name in ways], axis=1) for one in known
    ]
    likely = np.maximum(np.concatenate(given), _LEAST_SHARE)
    counts = np.concatenate([np.full(len(one.codes), min(1.0, _MOST_ROWS / len(one.codes))) for one in known])
    for _ in range(_ROUNDS):
        shares = likely * weights
        found = before + counts @ (shares / shares.sum(axis=1, keepdims=True))
        weights = found / found.sum()
    return dict(zip(ways, weights.tolist(), strict=True))


def with_mixtures(found: Backtest, ways: Mapping[str, Method]) -> Backtest:
    """The same, with mixtures of the ways: in each window with the weights that the windows before it give.

    Where labels come so late that no window has such weights, each has those that all the others give.

    Examples
    --------
    >>> from driftfit.domains import Domain, DomainSequence
    >>> from driftfit.selection import backtest
    >>> rng = np.random.default_rng(0)
    >>> rows = [rng.normal(size=(300, 1)) for _ in range(6)]
    >>> found = backtest(DomainSequence(Domain(x, (x.ravel() > i).astype(int)) for i, x in enumerate(rows)))
    >>> found.best, np.isfinite(found.gains_by_window["mixture"]).tolist()
    ('mixture', [False, True, True, True, True])
    """
    orders = dict.fromkeys([False, any(way.needs_order for way in ways.values())])
    forecasts = list(found.forecasts)
    for in_order in orders:
        members = [_members(own, ways, in_order) for own in found.forecasts]
        mixes = [len(names) > 1 and found.reference in names for names in members]
        mixed_windows = [own for own, mix in zip(found.forecasts, mixes, strict=True) if mix]
        for place, (own, names, mix) in enumerate(zip(found.forecasts, members, mixes, strict=True)):
            if mix:
                known = _weighed_by(own, mixed_windows, found.late)
                weights = mixture_weights(known, names, found.reference, found.asked_late)
                mixed = np.tensordot(np.array([*weights.values()]), [own.shares[name] for name in names], 1)
                shares = {**forecasts[place].shares, IN_ORDER if in_order else MIXTURE: np.asarray(mixed)}
                forecasts[place] = replace(forecasts[place], shares=shares)
    return replace(found, forecasts=tuple(forecasts))


def _weighed_by(own: Forecast, mixed: Sequence[Forecast], late: int) -> list[Forecast]:
    """The windows that the weights of a window come from; its own labels are never looked at."""
    # Labels of the windows just before had not come when this one was forecast.
    if any(one.window < other.window - late for one in mixed for other in mixed):
        return [one for one in mixed if one.window < own.window - late]
    # They come so late that no window has any before it: each other one then stands for those.
    return [one for one in mixed if one.window != own.window]


def method_of(found: Backtest, name: str, ways: Mapping[str, Method]) -> Method:
    """The way behind a name; a mixture with the weights that all windows give."""
    if name not in (MIXTURE, IN_ORDER):
        return ways[name]
    judged = [own for own in found.forecasts if name in own.shares]
    names = _members(judged[-1], ways, name == IN_ORDER)
    weights = mixture_weights(judged, names, found.plain or found.reference, found.asked_late)
    kept = [own for own in names if weights[own] >= _LEAST_WEIGHT]
    return Mixture(tuple(ways[own] for own in kept), tuple(weights[own] for own in kept))


def _members(forecast: Forecast, ways: Mapping[str, Method], in_order: bool) -> list[str]:
    return [name for name, way in ways.items() if name in forecast.shares and (in_order or not way.needs_order)]
