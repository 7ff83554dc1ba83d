"""
How many rows must I label?
===========================

How many rows must be labelled to know the accuracy of a model? Labels are needed if no estimate without them is
reliable. The script measures two models on more and more random rows, and draws the interval around each accuracy.
"""

# %%
# Moons that turn by 60 degrees, the source model and an adapted one.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from driftfit import GOATClassifier
from driftfit.datasets.toy import rotating_moons
from driftfit.selection import rows_to_label
from driftfit.theory import clopper_pearson

path = rotating_moons((0, 30, 60), seed=0)
pool = rotating_moons((0, 30, 60), n_samples=2000, split="held_out", seed=0).target
clf = GOATClassifier(SVC(), n_generated=2, random_state=0).fit_path(path)
models = {"source model": clf.source_estimator_, "adapted model": clf}

# %%
# The number of rows for an interval of a given width, whatever the accuracy is.
print(f"rows for an interval of plus or minus 10 points: {rows_to_label(0.10)}")
print(f"rows for an interval of plus or minus 5 points:  {rows_to_label(0.05)}")

# %%
# Label more and more random rows of the target. The Clopper-Pearson interval contains the true accuracy with a
# probability of at least 95 %.
order = np.random.default_rng(0).permutation(len(pool.labels))
counts = (10, 20, 50, 100, 200, 400)
figure, axes = plt.subplots(figsize=(4.6, 3.6), layout="constrained")
for (name, model), marker in zip(models.items(), "so", strict=True):
    right = model.predict(pool.samples) == pool.labels
    hits = [int(right[order[:n]].sum()) for n in counts]
    low = [1 - clopper_pearson(n - k, n, delta=0.025) for k, n in zip(hits, counts, strict=True)]
    high = [clopper_pearson(k, n, delta=0.025) for k, n in zip(hits, counts, strict=True)]
    (line,) = axes.plot(counts, np.divide(hits, counts), marker + "-", label=name)
    axes.fill_between(counts, low, high, color=line.get_color(), alpha=0.2)
    axes.axhline(right.mean(), color=line.get_color(), linestyle=":")
    for n, k, least, most in zip(counts, hits, low, high, strict=True):
        print(
            f"{name}, {n:3} labels: {k / n:.2f} ({least:.2f} to {most:.2f}), on all {len(right):,}: {right.mean():.2f}"
        )
axes.set(xscale="log", xlabel="rows that were labelled", ylabel="accuracy", ylim=(0, 1.05))
axes.set(xticks=counts, xticklabels=counts)
axes.minorticks_off()
axes.legend(loc="lower right", title="dotted: on all rows")
plt.show()
