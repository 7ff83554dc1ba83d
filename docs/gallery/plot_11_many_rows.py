"""
What if there are too many rows?
================================

What if there are too many rows for an exact transport plan? Its time grows faster than the number of rows. Two things
help: a plan that is exact within small blocks, and a plan between a sample of the rows. For the first, the certificate
bounds how much more it costs than the best plan.
"""

# %%
# Two domains of 100,000 rows each, 200,000 together.
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from driftfit import GOATClassifier
from driftfit.methods import Transport
from driftfit.transport import Hierarchical, interpolate, transport

n = 100_000
rng = np.random.default_rng(0)
label = np.arange(n) % 2
old = rng.normal(size=(n, 2)) + label[:, None] * [0.0, 6.0]
new = rng.normal(size=(n, 2)) * [1.2, 0.7] + label[:, None] * [0.0, 6.0] + [14.0, 3.0]

# %%
# Blocks of 100 rows. The first call loads compiled code, so a small plan is made before the clock starts.
solver = Hierarchical(block=100, passes=0)
transport(old[:500], new[:500], solver=solver)
start = perf_counter()
plan = transport(old, new, solver=solver)
print(f"a plan between {n:,} and {n:,} rows: {perf_counter() - start:.1f} s with its certificate")
print(f"it costs {plan.cost:.3f}; no plan costs less than {plan.certificate.dual:.3f}; gap {plan.certificate.gap:.3f}")

# %%
# A classifier trained on all rows, with plans between 2,000 rows of each domain.
X, y, domain = np.concatenate([old, new]), np.concatenate([label, label]), np.repeat([0, 1], n)
start = perf_counter()
clf = GOATClassifier(LogisticRegression(), n_generated=3, transport=Transport(max_samples=2_000), random_state=0)
clf.fit(X, y, sample_domain=domain)
print(f"a classifier adapted on {len(X):,} rows: {perf_counter() - start:.1f} s")
print(f"accuracy on the target: {clf.source_estimator_.score(new, label):.1%}, then {clf.score(new, label):.1%}")

# %%
# Densities of the old domain, the new one, and the generated one half-way between them.
half, _ = interpolate(old, new, plan, position=0.5)
figure, axes = plt.subplots(figsize=(4.8, 3.6), layout="constrained")
for cloud, colour, name in ((half, "Greens", "half-way"), (old, "Blues", "old"), (new, "Oranges", "new")):
    axes.hexbin(*cloud.T, gridsize=90, mincnt=5, cmap=colour, extent=(-5, 20, -5, 14))
    axes.annotate(name, cloud.mean(axis=0), xytext=(0, 75), textcoords="offset points", ha="center")
axes.set(ylim=(-5, 14), xlabel="first feature", ylabel="second feature")
plt.show()
