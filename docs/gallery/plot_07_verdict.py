"""
Are the steps small enough?
===========================

Is the drift gradual enough for self-training? The check measures how far each class moves in each step, relative to
its margin: half the distance to the nearest other class. It uses no labels but those of the source.
"""

# %%
# Three paths from the same source distribution: two groups of points that stay, that move in small steps, and that move
# the same distance in one step.
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from driftfit.datasets.toy import moving_gaussians
from driftfit.selection import PathView, assess

paths = {
    "nothing moves": moving_gaussians((0, 0, 0, 0), n_samples=300, seed=0),
    "small steps": moving_gaussians((0, 0.6, 1.2, 1.8), n_samples=300, seed=0),
    "one jump": moving_gaussians((0, 1.8), n_samples=300, seed=0),
}

# %%
# A ``PathView`` holds the domains with all later labels removed, and a model trained on a part of the source. The
# decision is made on it.
decisions = {}
for name, path in paths.items():
    view = PathView.of(path, LogisticRegression())
    decisions[name] = assess(view, view.learner)
    verdict = decisions[name].verdict
    print(f"{name}: {verdict.advice.value}")
    print(*(fill(f"- {reason}", 72) for reason in verdict.reasons), sep="\n")

# %%
# At a ratio of one or more, the class that moves most crosses the decision boundary of the previous model.
figure, axes = plt.subplots(figsize=(4.6, 3.4), layout="constrained")
for name, decision in decisions.items():
    ratios = [step.worst_ratio for step in decision.verdict.steps]
    axes.plot(np.arange(1, len(ratios) + 1), ratios, "o-", markersize=8, label=name)
axes.axhline(1, color="0.4", linestyle=":", label="too far for one step")
axes.set(xlabel="step", ylabel="move over margin", xticks=[1, 2, 3], ylim=(-0.1, None))
axes.legend()
plt.show()
