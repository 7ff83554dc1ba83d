"""
Pair by distance or by structure?
=================================

What can be done if the optimal plan pairs the wrong classes? An optimal plan pairs points that are close. When images
rotate, the closest image may show another digit. The distances within each set hardly change under a rotation, and a
plan can preserve these instead (Gromov-Wasserstein).
"""

# %%
# 500 of scikit-learn's digits, and 500 others turned by 60 degrees. The labels are only used to count pairs below;
# neither plan sees them.
import matplotlib.pyplot as plt
import numpy as np

from driftfit.datasets.toy import rotated_digits
from driftfit.transport import Exact, GromovWasserstein, transport

upright = rotated_digits((0, 60), split="train", seed=0).source.take(range(500))
turned = rotated_digits((0, 60), split="held_out", seed=0).target.take(range(500))

# %%
# ``Exact`` compares images of one set with images of the other. ``GromovWasserstein`` compares distances within the
# first set with distances within the second.
solvers = {"by place": Exact(), "by structure": GromovWasserstein(seed=0)}
plans = {name: transport(upright.samples, turned.samples, solver=solver) for name, solver in solvers.items()}
for name, plan in plans.items():
    same = plan.mass[upright.labels[plan.rows] == turned.labels[plan.cols]].sum()
    print(f"joined {name}: {same:.1%} of the mass joins images of one digit")

# %%
# One image of each digit, and its partners under the two plans.
examples = [int(np.flatnonzero(upright.labels == digit)[0]) for digit in range(10)]
partners = {name: [plan.cols[plan.rows == row][0] for row in examples] for name, plan in plans.items()}
rows = {"upright": upright.samples[examples]}
rows |= {name: turned.samples[columns] for name, columns in partners.items()}
figure, panels = plt.subplots(3, 10, figsize=(4.8, 2.6), layout="constrained")
for line, (name, images) in zip(panels, rows.items(), strict=True):
    line[0].set_title(name, loc="left", fontsize=10)
    for axes, image in zip(line, images, strict=True):
        axes.imshow(image.reshape(12, 12), cmap="gray_r")
        axes.axis("off")
plt.show()
