"""
How does skada compare?
=======================

How do I run driftfit and skada on the same data? skada is a library of domain adaptation methods for scikit-learn.
Most of them use a source and a target, and no domains between. This script compares two of them with a classifier
that follows the domains between.
"""

# %%
# Moons that turn by 60 degrees, with two snapshots between. skada marks the source with a positive number and the
# target with a negative one, and gets only these two.
import matplotlib.pyplot as plt
import numpy as np
from skada import CORAL, OTMapping
from sklearn.svm import SVC

from driftfit import GOATClassifier
from driftfit.datasets.toy import rotating_moons

angles = (0, 20, 40, 60)
path = rotating_moons(angles, n_samples=300, seed=0)
fresh = rotating_moons(angles, n_samples=300, split="held_out", seed=0).target
X = np.concatenate([path.source.samples, path.target.samples])
y = np.concatenate([path.source.labels, np.full(300, -1)])
ends = np.repeat([1, -2], 300)

# %%
# The base classifier is the same for all. Labels of the target are masked for all.
svc = SVC(gamma=1.0)
models = {
    "no adaptation": SVC(gamma=1.0).fit(path.source.samples, path.source.labels),
    "skada: CORAL": CORAL(base_estimator=svc).fit(X, y, sample_domain=ends),
    "skada: OTMapping": OTMapping(base_estimator=svc).fit(X, y, sample_domain=ends),
    "driftfit: two ends": GOATClassifier(svc, n_generated=4, random_state=0).fit_path(path.ends()),
    "driftfit: whole path": GOATClassifier(svc, n_generated=4, random_state=0).fit_path(path),
}
accuracy = {name: float(np.mean(model.predict(fresh.samples) == fresh.labels)) for name, model in models.items()}
for name, value in accuracy.items():
    print(f"{name:20} {value:.1%}")

# %%
# This is one seed of one toy problem. It shows how to call the two libraries, not which one is better. Only the last
# classifier uses the snapshots between.
figure, axes = plt.subplots(figsize=(4.8, 3.2), layout="constrained")
bars = axes.barh(list(accuracy), list(accuracy.values()), color=["0.6"] + ["tab:orange"] * 2 + ["tab:blue"] * 2)
axes.bar_label(bars, fmt=" {:.0%}")
axes.set(xlabel="accuracy on new target points", xlim=(0, 1.15))
axes.invert_yaxis()
plt.show()
