"""How many domains to generate between two windows: as asked, by selection, or by a rule where that costs too much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from scipy.special import softmax

from gradapt.choice import CANDIDATES, carried_labels, score_candidates
from gradapt.domains import DomainSequence
from gradapt.learners import Learner
from gradapt.methods.records import OnStep
from gradapt.tables.lead import Led, lead, make_ground
from gradapt.tables.settings import Method, Settings
from gradapt.trust import Verdict

__all__ = ["Generated", "lead_open"]

# Rows times columns that all candidates together are trained on. Forests and networks learn from about 0.1 million
# such values in a second, so that this is some eight minutes; logistic regression needs seconds.
_MOST_VALUES = 50_000_000
# By the rule, generated steps move a typical class by at most this share of its margin.
_STEP_RATIO = 0.25
_MOST_GENERATED = 8


@dataclass(frozen=True)
class Generated:
    """The number of generated domains and where it comes from.

    Attributes
    ----------
    number : int
    how : str
        ``asked``, ``selection`` or ``rule``.
    sentence : str
        Why this number.
    scores : dict
        Score of each candidate, where there was a selection.
    """

    number: int
    how: str
    sentence: str
    scores: dict[int, float]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        scores = [{"n_generated": number, "score": score} for number, score in self.scores.items()]
        return {"n_generated": self.number, "how": self.how, "sentence": self.sentence, "scores": scores}

    @classmethod
    def asked(cls, settings: Settings) -> Generated:
        """As the settings say; only GOAT generates."""
        if settings.method is not Method.GOAT:
            return cls(0, "asked", f"the method {settings.method.value!r} generates no domains", {})
        assert settings.n_generated is not None
        return cls(settings.n_generated, "asked", "as asked for", {})


def lead_open(
    learner: Learner,
    training: DomainSequence,
    sample: DomainSequence,
    settings: Settings,
    verdict: Verdict,
    progress: Callable[[int, int], None],
) -> tuple[Led, Generated]:
    """`lead` with as many generated domains as asked for or, where that is left open, as fit best.

    ``progress`` is called with the number of steps done and of all steps, over all candidates.
    """
    left_open = settings.method is Method.GOAT and settings.n_generated is None
    several = left_open and _affordable(training, sample)
    generated = _by_rule(verdict) if left_open else Generated.asked(settings)
    n_pairs = 1 if settings.method is Method.DIRECT else len(training) - 1
    total = n_pairs * sum(number + 1 for number in (CANDIDATES if several else (generated.number,)))
    done = 0

    def advance(*_: object) -> None:
        nonlocal done
        done += 1
        progress(done, total)

    progress(0, total)
    if several:
        led, generated = _lead_best(learner, training, sample, settings, advance)
    else:
        led = lead(learner, training, sample, settings, generated.number, advance)
    progress(total, total)
    return led, generated


def _affordable(training: DomainSequence, sample: DomainSequence) -> bool:
    """Whether every candidate can be tried: by sizes alone, so that the choice does not depend on a clock."""
    real = len(CANDIDATES) * sum(len(domain) for domain in training[1:])
    between = sum(CANDIDATES) * sum(len(domain) for domain in sample[1:])
    return bool((real + between) * training.source.samples.shape[1] <= _MOST_VALUES)


def _by_rule(verdict: Verdict) -> Generated:
    """Enough domains that every step is small for the model, by what the check measured."""
    ratio = max((step.ratio for step in verdict.steps if np.isfinite(step.ratio)), default=1.0)
    number = min(max(ceil(ratio / _STEP_RATIO) - 1, 1), _MOST_GENERATED)
    sentence = (
        "the table is too large to try several numbers; by the check, each generated step moves a typical class "
        f"by at most {_STEP_RATIO:g} of its margin (at most {_MOST_GENERATED} domains)"
    )
    return Generated(number, "rule", sentence, {})


def _lead_best(
    learner: Learner,
    training: DomainSequence,
    sample: DomainSequence,
    settings: Settings,
    on_step: OnStep | None = None,
) -> tuple[Led, Generated]:
    """Lead the learner with every candidate on the same plans; keep what fits best the labels the plans carry."""
    ground = make_ground(learner, training, sample)
    assert ground.plans is not None
    runs: dict[int, Led] = {}
    probabilities = {}
    for number in CANDIDATES:
        runs[number] = lead(learner, training, sample, settings, number, on_step, ground)
        head = runs[number].adaptation.learner.head()
        probabilities[number] = softmax(head.logits(ground.small.target.samples), axis=1)
    carried = carried_labels(ground.small, ground.plans, learner.classes)
    scores = score_candidates(probabilities, carried)
    return runs[scores.best], Generated(scores.best, "selection", scores.sentence, scores.values)
