"""What nothing can know: a symmetric drift has two readings, and the wrong one looks as good as the right one."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from driftfit.domains import Domain, DomainSequence
from driftfit.selection import Advice, PathView
from driftfit.selection.gate import diagnose


def ring(angle, seed, n=300):
    """Three classes at 0, 120 and 240 degrees, turned by an angle."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    turn = np.deg2rad(120.0 * labels + angle)
    return 4.0 * np.stack([np.cos(turn), np.sin(turn)], axis=1) + 0.3 * rng.normal(size=(n, 2)), labels


def test_a_ring_turned_by_80_degrees_is_a_ring_turned_back_by_40():
    start, labels = ring(0, 0)
    forth, forth_labels = ring(80, 1)
    back, back_labels = ring(-40, 1)
    # Class k turned by 80 lies where class k + 1 turned by -40 lies: the samples say the same, the labels do not.
    for label in range(3):
        there = forth[forth_labels == label].mean(axis=0)
        np.testing.assert_allclose(there, back[back_labels == (label + 1) % 3].mean(axis=0), atol=0.2)
    advice = []
    for samples, true, accuracy in ((forth, forth_labels, 0.0), (back, back_labels, 1.0)):
        sequence = DomainSequence([Domain(start, labels, name="0"), Domain(samples, true, name="turned")])
        view = PathView.of(sequence, LogisticRegression())
        found = np.mean(view.learner.classes[view.predicted(view.learner, 1)] == true)
        assert abs(found - accuracy) < 0.05
        advice.append(diagnose(view).advice)
    # The check says the same of both, and takes the smaller move for what happened.
    assert advice == [Advice.ADAPT] * 2
