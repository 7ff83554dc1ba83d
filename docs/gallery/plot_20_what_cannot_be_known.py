"""
What can nobody know without labels?
====================================

Are there shifts that no method can follow without labels? Three groups on a ring turn by 80 degrees. The points look
the same after a turn back by 40 degrees, which is the smaller move. No method can tell the two apart without a label
or a snapshot between.
"""

# %%
# Three groups at equal distances on a ring. ``turned`` draws them at a given angle.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from driftfit import Domain, DomainSequence, GOATClassifier


def turned(degrees: float, seed: int) -> Domain:
    rng = np.random.default_rng(seed)
    labels = np.arange(300) % 3
    angle = np.deg2rad(degrees + 120 * labels)
    points = 3 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.3 * rng.normal(size=(300, 2))
    return Domain(points, labels=labels, name=f"{degrees:g} degrees")


# %%
# One path has a single jump, the other has three snapshots on the way. The true accuracies use labels of the target,
# which nothing else sees.
paths = {
    "one jump": DomainSequence([turned(0, 0), turned(80, 4)]),
    "with snapshots": DomainSequence([turned(angle, seed) for seed, angle in enumerate((0, 20, 40, 60, 80))]),
}
adapted = {}
for name, path in paths.items():
    target = path.target
    clf = GOATClassifier(LogisticRegression(), n_generated=2, random_state=0).fit_path(path)
    adapted[name] = clf.predict(target.samples)
    true = clf.source_estimator_.score(target.samples, target.labels)
    print(f"{name}: old model {true:.2f}, adapted model {np.mean(adapted[name] == target.labels):.2f}")

# %%
# The target, coloured by the true classes and by the predictions of the adapted models.
panels_of = {"true classes": target.labels, **{f"adapted, {name}": said for name, said in adapted.items()}}
figure, panels = plt.subplots(3, 1, figsize=(3.6, 9), layout="constrained", sharex=True)
for axes, (name, labels) in zip(panels, panels_of.items(), strict=True):
    for label, marker in enumerate("o^s"):
        axes.scatter(*target.samples[labels == label].T, s=14, marker=marker, label=f"class {label}")
    axes.set(title=name, ylabel="second feature", aspect="equal")
panels[0].legend(loc="center", fontsize=8)
panels[-1].set_xlabel("first feature")
plt.show()
