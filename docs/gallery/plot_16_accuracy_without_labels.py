"""
How accurate is a model without labels?
=======================================

How accurate is a model today, if there are no labels of today? Two worlds with the same rows have two answers. So an
estimate rests on an assumption, which somebody declares, and says which.
"""

# %%
# A column moves by a little more every year. In one world what a row says about its label stays. In the other the
# rule moves along with the column. The rows are the same in both, bit for bit.
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from driftfit import AutoAdaptedClassifier

moves = (0.0, 0.4, 0.8, 1.2)
rng = np.random.default_rng(0)
year = np.repeat(np.arange(len(moves)), 500)
X = rng.normal(size=(len(year), 2))
X[:, 0] += np.array(moves)[year]
chance = rng.random(len(X))
labels = {
    "the rule stays": (chance < expit(3 * X[:, 0] + X[:, 1])).astype(int),
    "the rule moves along": (chance < expit(3 * (X[:, 0] - np.array(moves)[year]) + X[:, 1])).astype(int),
}

# %%
# The labels of year 0 are known, and the same in both worlds. ``assume="covariates"`` declares that the rule stays.
# ``ladder_.estimate`` is the accuracy to expect if that is true.
found = {}
for last in range(1, len(moves)):
    rows = (year == 0) | (year == last)
    known = np.where(year == 0, labels["the rule stays"], None)
    clf = AutoAdaptedClassifier(LogisticRegression(), assume="covariates", random_state=0)
    clf.fit(X[rows], known[rows], sample_domain=year[rows])
    found[last] = clf.ladder_.estimate
    true = {name: clf.score(X[year == last], own[year == last]) for name, own in labels.items()}
    print(f"year {last}: if the rule stays {found[last].low:.2f} to {found[last].high:.2f};", end=" ")
    print(", ".join(f"{name}: {value:.2f}" for name, value in true.items()))

# %%
# The intervals hold in the world in which the assumption holds. Nothing in the rows can tell the two worlds apart:
# some labels of today can.
figure, axes = plt.subplots(figsize=(4.6, 3.5), layout="constrained")
for last, guess in found.items():
    spread = [[guess.value - guess.low], [guess.high - guess.value]]
    axes.errorbar(moves[last], guess.value, yerr=spread, fmt="o", markersize=8, capsize=5, color="tab:blue")
axes.errorbar([], [], yerr=[], fmt="o", color="tab:blue", label="estimate, if the rule stays")
model = LogisticRegression().fit(X[year == 0], labels["the rule stays"][year == 0])
for (name, own), style in zip(labels.items(), ("x--", "s--"), strict=True):
    scores = [model.score(X[year == last], own[year == last]) for last in found]
    axes.plot(moves[1:], scores, style, label=f"truth: {name}")
axes.set(xlabel="how far the column moved", ylabel="accuracy of the old model", ylim=(0.4, 1.0))
axes.legend(loc="lower left")
plt.show()
