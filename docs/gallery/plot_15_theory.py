"""
How large can the error be?
===========================

How large can the error of an adapted model on the target be? A bound answers with a sum of terms that can be computed
without target labels. It names its assumptions. A bound above one says nothing.
"""

# %%
# Two groups of points that move in two small steps, in two larger ones, or in five larger ones.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from driftfit.datasets.toy import moving_gaussians
from driftfit.selection import SourceCrossing, error_certificate

shifts = {
    "2 small steps": (0, 0.3, 0.6),
    "2 larger steps": (0, 0.6, 1.2),
    "5 larger steps": (0, 0.6, 1.2, 1.8, 2.4, 3.0),
}
paths = {name: moving_gaussians(values, n_samples=1000, seed=0) for name, values in shifts.items()}

# %%
# One half of every domain is used for training, the other to count errors. How far transport plans mix classes cannot
# be seen without target labels. Whoever knows the domains states it, and gets a guarantee under that assumption; here
# it is guessed on the source, so the bound is a heuristic. The true error needs target labels; it is for comparison.
guess = SourceCrossing()
found = {name: error_certificate(path, LogisticRegression(), crossing=guess) for name, path in paths.items()}
truth = {}
for name, path in paths.items():
    target, counted = path.target, found[name].rows[-1]
    said = found[name].adapted.logits(target.samples[counted]).argmax(axis=1)
    truth[name] = float(np.mean(said != target.labels[counted]))
print(found["2 small steps"].bound)
print(found["2 small steps"].assumption)

# %%
# The terms of each bound, stacked. The diamond is the true error.
figure, axes = plt.subplots(figsize=(4.8, 3.6), layout="constrained")
bottom = np.zeros(len(found))
for term in found["2 small steps"].bound.terms:
    heights = np.array([certificate.bound[term] for certificate in found.values()])
    axes.bar(list(found), heights, 0.5, bottom=bottom, label=term)
    bottom += heights
axes.plot(list(truth), list(truth.values()), "kD", label="true error")
axes.set(ylabel="error on the target")
axes.legend()
plt.show()
