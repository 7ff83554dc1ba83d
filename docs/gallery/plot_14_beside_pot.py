"""
How does POT compare?
=====================

Do driftfit and POT find the same optimum, and how long do they take? POT is the widely used Python library for optimal
transport. Both exact solvers find plans of the same cost. Times depend on the machine, the data and the sizes.
"""

# %%
# Sets of points of growing size in ten dimensions.
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import ot

from driftfit.transport import transport

rng = np.random.default_rng(0)
sizes = (250, 500, 1_000, 2_000)
clouds = [(rng.normal(size=(n, 10)), rng.normal(size=(n, 10)) * 1.5 + 1.0) for n in sizes]
first_plan = transport(*clouds[0])  # loads compiled code before the clock starts

# %%
# ``ot.emd2`` needs the cost matrix, so its time includes computing it. ``transport`` also proves its plan, so its time
# includes the certificate.
theirs, ours = [], []
for n, (first, second) in zip(sizes, clouds, strict=True):
    start = perf_counter()
    cost = ot.emd2(ot.unif(n), ot.unif(n), ot.dist(first, second), numItermax=10_000_000)
    theirs.append(perf_counter() - start)
    start = perf_counter()
    plan = transport(first, second)
    ours.append(perf_counter() - start)
    print(f"{n:5,} points: cost {cost:.9f} and {plan.cost:.9f}, relative difference {abs(cost / plan.cost - 1):.0e}")
    print(f"              {theirs[-1]:.3f} s and {ours[-1]:.3f} s, ratio {theirs[-1] / ours[-1]:.1f}")

# %%
# One run for each size, on whatever machine built this page.
figure, axes = plt.subplots(figsize=(4.6, 3.4), layout="constrained")
axes.loglog(sizes, theirs, "s--", label="POT: dist and emd2")
axes.loglog(sizes, ours, "o-", label="driftfit: transport")
axes.set(xlabel="points in each cloud", ylabel="seconds", xticks=sizes, xticklabels=[f"{n:,}" for n in sizes])
axes.minorticks_off()
axes.legend()
plt.show()
