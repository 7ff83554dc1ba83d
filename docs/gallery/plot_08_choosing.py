"""
Which method should I use?
==========================

Which adaptation method should I use? None is the best everywhere, but they can be compared without target labels: a
good labelling of the target gives neighbouring points the same label. The source model is one of the candidates.
"""

# %%
# Moons that turn by 60 degrees, with one snapshot on the way.
from textwrap import fill

import matplotlib.pyplot as plt
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from driftfit import AutoAdaptedClassifier
from driftfit.datasets.toy import rotating_moons

path = rotating_moons((0, 30, 60), n_samples=300, seed=0)
fresh = rotating_moons((0, 30, 60), n_samples=300, split="held_out", seed=0).target

# %%
# The classifier tries the candidates, and says in words which one it chose and why.
clf = AutoAdaptedClassifier(make_pipeline(StandardScaler(), SVC()), assume="path", history="first", random_state=0)
clf.fit_path(path)
choice = clf.choice_
print(fill(choice.sentence, 72))
print(f"accuracy of the source model: {clf.source_estimator_.score(fresh.samples, fresh.labels):.1%}")
print(f"accuracy of the chosen one:   {clf.score(fresh.samples, fresh.labels):.1%}")

# %%
# The gain of each candidate over the source model, in the score without labels. Lines are 95 % intervals. A candidate
# whose interval reaches below zero is not chosen.
names = list(choice.gains)
gains = [choice.gains[name] for name in names]
errors = [[gain.value - gain.low for gain in gains], [gain.high - gain.value for gain in gains]]
colours = ["tab:blue" if name == choice.best else "0.6" for name in names]
figure, axes = plt.subplots(figsize=(4.8, 3.2), layout="constrained")
axes.barh(names, [gain.value for gain in gains], xerr=errors, color=colours, capsize=4)
axes.axvline(0, color="0.3", linewidth=1)
axes.set(xlabel="gain in score over the source model", title=f"chosen: {choice.best}")
axes.invert_yaxis()
plt.show()
