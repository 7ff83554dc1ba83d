"""
How do I adapt a classifier to data that drift?
===============================================

How do I adapt a scikit-learn classifier to data that drift? Two moons turn by 90 degrees. Only the moons at 0 degrees
have labels. GOAT, the method of the paper, adapts a classifier along unlabelled snapshots and along domains that it
generates between them.
"""

# %%
# Five snapshots of the moons, a quarter of the turn apart. ``angle`` says which row belongs to which snapshot. The
# lowest value is the labelled source, the highest is the target. Other labels are removed before anything is fitted.
import matplotlib.pyplot as plt
from matplotlib.colors import ListedColormap
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from driftfit import GOATClassifier
from driftfit.datasets.toy import rotating_moons

angles = (0, 22.5, 45, 67.5, 90)
X, y, angle = rotating_moons(angles, seed=0).as_samples()

# %%
# Any scikit-learn classifier can be adapted. The classifier before adaptation is kept as ``source_estimator_``.
model = make_pipeline(StandardScaler(), SVC())
clf = GOATClassifier(model, n_generated=2, random_state=0).fit(X, y, sample_domain=angle)

# %%
# Accuracy on new points of the target. Their labels are used for this score and for the colours below, nowhere else.
fresh = rotating_moons(angles, split="held_out", seed=0).target
models = {"before": clf.source_estimator_, "after": clf}
accuracy = {name: model.score(fresh.samples, fresh.labels) for name, model in models.items()}
for name, value in accuracy.items():
    print(f"accuracy on the target {name} adaptation: {value:.1%}")

# %%
# The predicted classes before and after adaptation, with the target points on top.
areas = ListedColormap(["tab:blue", "tab:orange"])
figure, panels = plt.subplots(2, 1, figsize=(4.6, 7.5), layout="constrained", sharex=True)
for axes, (name, model) in zip(panels, models.items(), strict=True):
    DecisionBoundaryDisplay.from_estimator(
        model, fresh.samples, response_method="predict", plot_method="pcolormesh", cmap=areas, alpha=0.25, ax=axes
    )
    for label, marker in ((0, "o"), (1, "^")):
        points = fresh.samples[fresh.labels == label]
        axes.scatter(*points.T, s=14, marker=marker, label=f"class {label}")
    axes.set(title=f"{name} adaptation: {accuracy[name]:.1%} right", ylabel="second feature")
panels[1].set_xlabel("first feature")
panels[0].legend(loc="upper right")
plt.show()
