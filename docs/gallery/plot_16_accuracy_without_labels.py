"""
How accurate is a model without labels?
=======================================

How accurate is a model today, if there are no labels of today? The estimate comes with a 95 % interval, and says when
it should not be relied on. Here the true accuracy is known, so the two can be compared.
"""

# %%
# Two groups of points that move in small steps first and then jump. The model was trained at the start.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from driftfit.datasets.toy import moving_gaussians
from driftfit.selection import estimate_along

moved = (0, 0.4, 0.8, 1.2, 1.6, 4.0)
path = moving_gaussians(moved, n_samples=300, seed=0)
model = LogisticRegression().fit(path.source.samples, path.source.labels)

# %%
# One estimate for each domain after the source: ``before`` is about the source model, ``after`` about the model that
# followed the path up to this domain. Labels of these domains are removed before anything is estimated.
along = estimate_along(path, LogisticRegression())
truth = [model.score(domain.samples, domain.labels) for domain in path][1:]
for place, true in zip(along, truth, strict=True):
    old = place.before
    print(f"moved by {place.domain}: {old.value:.2f} ({old.low:.2f} to {old.high:.2f}), true {true:.2f}", end="")
    print("" if old.reliable else ", not to be relied on")
inside = np.mean([place.before.low <= true <= place.before.high for place, true in zip(along, truth, strict=True)])
print(f"the truth lies in {inside:.0%} of the intervals")

# %%
# Hollow marks are estimates that are marked as not reliable.
figure, axes = plt.subplots(figsize=(4.6, 3.5), layout="constrained")
for place, where in zip(along, moved[1:], strict=True):
    old = place.before
    spread = [[old.value - old.low], [old.high - old.value]]
    fill = "full" if old.reliable else "none"
    axes.errorbar(where, old.value, yerr=spread, fmt="o", markersize=8, capsize=5, color="tab:blue", fillstyle=fill)
axes.errorbar([], [], yerr=[], fmt="o", color="tab:blue", label="estimate without labels")
axes.plot(moved[1:], truth, "x--", color="tab:orange", markersize=9, label="true accuracy")
axes.set(xlabel="distance moved", ylabel="accuracy of the source model", ylim=(0, 1.05))
axes.legend(loc="lower left")
plt.show()
