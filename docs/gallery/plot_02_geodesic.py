"""
What lies between two domains?
==============================

How are domains generated between two others? An optimal transport plan pairs the points of two sets at the least
cost. Each point then moves along a straight line to its partner. The sets of points on the way are the generated
domains.
"""

# %%
# Two sets of points of different shape and size: a ring, and two moons to its right.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles, make_moons

from driftfit.transport import interpolate, transport, wasserstein

ring = make_circles(300, noise=0.03, factor=0.99, random_state=0)[0]
moons = make_moons(400, noise=0.05, random_state=0)[0] + [8.0, 0.0]

# %%
# The plan is a sparse list of pairs with masses. A point may have several partners, because the sets differ in size.
plan = transport(ring, moons)
print(f"{len(ring)} points, {len(moons)} points, {len(plan.rows)} pairs with mass")

# %%
# Position 0 is the first set, position 1 the second. The path between them is a geodesic: the distance from the start
# grows in proportion to the position.
positions = np.linspace(0, 1, 5)
clouds = [interpolate(ring, moons, plan, position=position) for position in positions]
whole = wasserstein(ring, moons, p=2)
for position, (points, mass) in zip(positions, clouds, strict=True):
    distance = wasserstein(ring, points, weights1=mass, p=2)
    print(f"position {position:.2f}: distance from the ring {distance:.3f}, share of the whole {distance / whole:.2f}")

# %%
# Larger dots have more mass.
figure, axes = plt.subplots(figsize=(4.8, 2.9), layout="constrained")
for position, (points, mass) in zip(positions, clouds, strict=True):
    axes.scatter(*points.T, s=1500 * mass, label=f"{position:.2f}")
axes.set(xlabel="first feature", ylabel="second feature", aspect="equal", ylim=(-1.6, 1.6))
figure.legend(
    title="position", ncols=5, loc="outside lower center", markerscale=2.5, columnspacing=0.8, handletextpad=0
)
plt.show()
