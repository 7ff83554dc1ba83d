"""
The theory on data
==================

How large can the error of an adapted model be? A bound answers with a sum of terms. It names its assumptions, and a
bound above one says nothing. Here it shows what many small steps cost.
"""

# %%
# Two groups of points that move the same way in one step, in two, or in many. How far two neighbouring windows lie
# apart is measured by transport; no label is used.
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

from driftfit.datasets.toy import moving_gaussians
from driftfit.theory import Assumptions, naive_bound
from driftfit.transport import wasserstein

bounds = {}
for n_steps in (1, 2, 4, 8):
    path = moving_gaussians(tuple(np.linspace(0.0, 0.4, n_steps + 1)), n_samples=300, seed=0)
    shifts = [wasserstein(one.samples, other.samples) for one, other in pairwise(path)]
    # The paper's Proposition 1, taken once for each step, for a million samples in each window.
    bounds[n_steps] = naive_bound(0.01, shifts, 1_000_000, Assumptions(model_lipschitz=0.2))
print(bounds[4])

# %%
# The terms, stacked. The way is the same in all: what grows are the noise of samples in each measured step, and what
# every further student costs.
figure, axes = plt.subplots(figsize=(4.8, 3.6), layout="constrained")
bottom = np.zeros(len(bounds))
for term in bounds[1].terms:
    heights = np.array([bound[term] for bound in bounds.values()])
    axes.bar([str(number) for number in bounds], heights, 0.5, bottom=bottom, label=term)
    bottom += heights
axes.set(xlabel="steps on the way", ylabel="bound on the error")
axes.legend()
plt.show()
