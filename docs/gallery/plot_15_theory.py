"""
How large can the error be?
===========================

How large can the error of an adapted model be? A bound answers with a sum of terms. It names its assumptions, and a
bound above one says nothing. Bounds also say how many steps there should be between the labels and today.
"""

# %%
# Two groups of points that move in small steps. How far two neighbouring windows lie apart is measured by transport;
# no label is used.
from itertools import pairwise

import matplotlib.pyplot as plt

from driftfit.datasets.toy import moving_gaussians
from driftfit.theory import Assumptions, FixedLength, compare_bounds, naive_bound
from driftfit.transport import wasserstein

path = moving_gaussians((0.0, 0.02, 0.04, 0.06), n_samples=400, seed=0)
shifts = [wasserstein(one.samples, other.samples) for one, other in pairwise(path)]
print("shift of each step, sampling noise included:", *(f"{shift:.2f}" for shift in shifts))

# %%
# The bound of the paper's Proposition 1, taken once for each step, with its terms.
bound = naive_bound(0.01, shifts, 1_000_000, Assumptions(model_lipschitz=0.5))
print(bound)

# %%
# The same length of the way, cut into more and more steps. Each step costs what finite samples cost; the recursion of
# Kumar et al. multiplies errors, the bounds of the paper add them. Dashed lines are orders, not guarantees.
table = compare_bounds(0.01, FixedLength(sum(shifts)), 1_000_000)
print("smallest for 1, 10 and 30 steps:", *(table.smallest()[place] for place in (0, 9, 29)))
table.plot()
plt.show()
