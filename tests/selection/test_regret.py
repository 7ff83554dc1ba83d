"""The rule on made-up paths, on seeds that docs/number_of_domains.md does not show."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

_SCRIPT = Path(__file__).parents[2] / "benchmarks" / "number_of_domains.py"
_spec = importlib.util.spec_from_file_location("regret", _SCRIPT)
regret = importlib.util.module_from_spec(_spec)
sys.modules["regret"] = regret
_spec.loader.exec_module(regret)

CASES = [case for case in regret.EVALUATION if case[0].split(":")[0] in ("moons", "gauss", "wide", "skew")]


@pytest.mark.slow
def test_the_rule_loses_little_where_broken_rules_lose_much():
    trials = [regret.trial(*case, seed) for case in CASES for seed in range(200, 204)]

    def lost(rule):
        return float(np.mean([trial.regret(rule(trial)) for trial in trials]))

    rule = lost(regret.RULES["carried and consensus labels, 90 % (the rule)"])
    assert rule < 0.02
    broken = ("own confidence on the surest half", "labels of the candidate 0, agreement, 50 %", "always 2")
    assert all(lost(regret.RULES[name]) > rule + 0.03 for name in broken)


def test_regret_is_measured_from_the_best_candidate():
    trial = regret.Trial({}, np.zeros(0), np.zeros(0), {0: 0.5, 1: 0.9, 2: 0.8})
    assert trial.regret({0: 1.0, 1: 1.0, 2: 0.3}) == pytest.approx(0.4)
    assert trial.regret({0: 0.0, 1: 0.2, 2: 0.1}) == 0.0
