"""
How do I know that a plan is optimal?
=====================================

How do I know that a transport plan is optimal? A plan says which points of two sets are paired. Its certificate says
what is proven about it: the cost of the plan, and a lower bound on the cost of every plan. The bound does not trust
the solver.
"""

# %%
# Two sets of 500 points in five dimensions.
import matplotlib.pyplot as plt
import numpy as np

from driftfit.transport import Exact, IndependentCoupling, Sinkhorn, Sliced, transport

rng = np.random.default_rng(0)
first = rng.normal(size=(500, 5))
second = rng.normal(size=(500, 5)) * [2.0, 1.0, 1.0, 0.5, 0.5] + [3.0, 0.0, 0.0, 0.0, 0.0]

# %%
# Four solvers. The last one couples every point with every other, as a bad example. ``gap`` is the largest share of its
# cost that another plan could save. If it is zero up to rounding, the plan is proven to be optimal.
solvers = {
    "exact": Exact(),
    "Sinkhorn": Sinkhorn(epsilon=0.05),
    "sliced": Sliced(),
    "everywhere": IndependentCoupling(),
}
found = {name: transport(first, second, solver=solver).certificate for name, solver in solvers.items()}
for name, proof in found.items():
    print(f"{name:10} cost {proof.primal:6.3f}  lower bound {proof.dual:6.3f}  gap {proof.gap:8.1e}", end="  ")
    print(f"marginal error {proof.marginal_error:.1e}  proven optimal: {proof.proves_optimal()}")

# %%
# The optimum lies between the two marks of every row. For the exact plan they coincide.
figure, axes = plt.subplots(figsize=(4.8, 3.5), layout="constrained")
rows = np.arange(len(found))
costs = np.array([proof.primal for proof in found.values()])
bounds = np.array([proof.dual for proof in found.values()])
axes.hlines(rows, bounds, costs, color="0.6", linewidth=4)
axes.plot(bounds, rows, ">", markersize=10, label="proven lower bound")
axes.plot(costs, rows, "o", markersize=7, label="cost of the plan")
axes.set(yticks=rows, yticklabels=list(found), xlabel="mean squared distance", ylim=(len(found) - 0.5, -0.5))
axes.legend(loc="upper right")
plt.show()
