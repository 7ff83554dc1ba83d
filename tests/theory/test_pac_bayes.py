"""PAC-Bayes bounds by simulation, and the target error by what can be counted."""

import numpy as np
import pytest
from scipy.stats import norm

from driftfit import theory
from driftfit.errors import InputError


def test_the_inverse_of_the_relative_entropy_by_hand():
    assert theory.kl_upper(0.0, 0.2) == pytest.approx(1 - np.exp(-0.2))
    assert theory.kl_upper(1.0, 0.2) == 1.0
    for rate in (0.05, 0.3, 0.7):
        upper = theory.kl_upper(rate, 0.05)
        spent = rate * np.log(rate / upper) + (1 - rate) * np.log((1 - rate) / (1 - upper))
        assert spent == pytest.approx(0.05, abs=1e-9)
        assert upper <= rate + np.sqrt(0.025)
    with pytest.raises(InputError, match=r"rate must lie in \[0, 1\], got 1.5"):
        theory.kl_upper(1.5, 0.1)


def trained(x, y, scale=3.0):
    """The mean of the samples turned by their labels: a linear classifier whose error is a closed form."""
    w = (y[:, None] * x).mean(axis=0)
    return scale * w / np.linalg.norm(w)


def test_it_holds_and_says_something():
    # x = y m + noise with |m| = 2 in ten dimensions: the error of w is Phi(-w m / |w|).
    rng, failures, totals = np.random.default_rng(0), 0, []
    centre = np.zeros(10)
    centre[0] = 2.0
    for _ in range(200):
        y = rng.choice([-1.0, 1.0], 400)
        x = y[:, None] * centre + rng.normal(size=(400, 10))
        w = trained(x, y)
        bound = theory.pac_bayes_margin(y * (x @ w) / np.linalg.norm(x, axis=1), np.linalg.norm(w))
        totals.append(bound.total)
        failures += norm.sf(w @ centre / np.linalg.norm(w)) > bound.total
    assert failures <= 10
    assert np.mean(totals) < 0.5
    # Twice the error of blurred classifiers: it cannot be small where they err.
    assert np.mean(totals) > 2 * norm.sf(2.0)


def test_the_complexity_term_is_needed():
    # Labels that mean nothing, more columns than samples: every training sample is right, and half of all are wrong.
    rng, without = np.random.default_rng(0), 0
    for _ in range(50):
        x, y = rng.normal(size=(60, 200)), rng.choice([-1.0, 1.0], 60)
        w = 100.0 * np.linalg.lstsq(x, y, rcond=None)[0]
        margins = y * (x @ w) / np.linalg.norm(x, axis=1)
        bound = theory.pac_bayes_margin(margins, np.linalg.norm(w))
        assert bound.total >= 0.5
        without += 2 * bound["blurred error"] < 0.5
    assert without == 50


def test_a_teacher_as_prior_makes_it_smaller():
    rng = np.random.default_rng(1)
    y = rng.choice([-1.0, 1.0], 300)
    x = y[:, None] * np.array([2.0, 0.0, 0.0]) + rng.normal(size=(300, 3))
    w = trained(x, y)
    margins = y * (x @ w) / np.linalg.norm(x, axis=1)
    alone = theory.pac_bayes_margin(margins, np.linalg.norm(w))
    taught = theory.pac_bayes_margin(margins, 0.2)
    assert taught.total < alone.total < 1.0
    assert taught.standing.kind.value == "guarantee"
    assert any("fixed without them" in one for one in taught.standing.assumptions)


def test_bad_input():
    with pytest.raises(InputError, match="one finite number per sample"):
        theory.pac_bayes_margin([[1.0]], 1.0)
    with pytest.raises(InputError, match="noises is empty"):
        theory.pac_bayes_margin([1.0], 1.0, noises=())
