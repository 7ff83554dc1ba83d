"""A temperature for probabilities, from windows that were forecast; taken only where it helped in the newest one."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from driftfit.selection.backtest import Backtest, Forecast

# No probability of a forecast is taken to be smaller.
_LEAST = 1e-9
# A temperature is chosen on so many windows, the newest ones.
_RECENT = 2
_LIMITS = float(np.log(0.1)), float(np.log(5.0))


def temperature(found: Backtest, way: str) -> tuple[float, str] | None:
    """What logarithms of probabilities are to be multiplied by so that these hold, and what that brought.

    Past windows were forecast by models that had not seen them: what drift does to the sureness of a model is in them.
    Which class is named stays. None where the windows before the newest judged one do not tell what clearly helps
    there, by log loss.

    >>> from driftfit.selection import Metric
    >>> rng = np.random.default_rng(0)
    >>> sure = np.array([[0.98, 0.02], [0.02, 0.98]])
    >>> codes = [rng.integers(0, 2, 400) for _ in range(3)]
    >>> said = [np.where(rng.random(400) < 0.8, own, 1 - own) for own in codes]
    >>> windows = [Forecast(n, str(n), y, {"a": sure[s]}) for n, (y, s) in enumerate(zip(codes, said))]
    >>> scale, words = temperature(Backtest(Metric(), "a", 0, 0, np.arange(2), tuple(windows)), "a")
    >>> round(scale, 1), words
    (0.3, 'probabilities are calibrated on past windows: log loss 0.536 instead of 0.896 in the newest one')
    """
    judged = [forecast for forecast in found.forecasts if way in forecast.shares and len(forecast.codes)]
    if len(judged) < 2:
        return None
    before, newest = judged[-1 - _RECENT : -1], judged[-1]
    plain, other = (_losses(newest, way, scale) for scale in (1.0, _best(before, way)))
    gain = plain - other
    if gain.mean() <= 2.0 * gain.std() / sqrt(len(gain)):
        return None
    words = f"log loss {other.mean():.3f} instead of {plain.mean():.3f} in the newest one"
    return _best(judged[-_RECENT:], way), f"probabilities are calibrated on past windows: {words}"


def _losses(forecast: Forecast, way: str, scale: float) -> NDArray[np.float64]:
    logs = log_softmax(scale * np.log(np.maximum(forecast.shares[way], _LEAST)), axis=1)
    return np.asarray(-logs[np.arange(len(logs)), forecast.codes])


def _best(forecasts: list[Forecast], way: str) -> float:
    """The multiplier of the least log loss, each window counting the same."""

    def loss(log_scale: float) -> float:
        return float(np.mean([_losses(one, way, float(np.exp(log_scale))).mean() for one in forecasts]))

    return float(np.exp(minimize_scalar(loss, bounds=_LIMITS, method="bounded").x))
