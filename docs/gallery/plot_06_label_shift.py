"""
What if only class shares change?
=================================

A disease becomes rarer, but its symptoms stay the same. This is called label shift. The new class proportions can be
estimated without labels, and the probabilities of the old model corrected accordingly.
"""

# %%
# Two measurements of tumours from scikit-learn. Malignant and benign are equally frequent in the source; in the target
# one in ten is malignant.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from driftfit import AdaptedClassifier
from driftfit.methods import ProportionCorrection

data = load_breast_cancer()
X, y = data.data[:, :2], data.target_names[data.target]
order = np.random.default_rng(0).permutation(len(X))
malignant, benign = order[y[order] == "malignant"], order[y[order] == "benign"]
source = np.concatenate([malignant[:150], benign[:150]])
target = np.concatenate([malignant[150:173], benign[150:]])
rows = np.concatenate([source, target])
domain = np.repeat([0, 1], [len(source), len(target)])

# %%
# The correction is a method like any other. Its estimates are in ``adaptation_.choice``, with 95 % intervals.
clf = AdaptedClassifier(make_pipeline(StandardScaler(), LogisticRegression()), method=ProportionCorrection())
clf.fit(X[rows], y[rows], sample_domain=domain)
found = clf.adaptation_.choice
truth = [float(np.mean(y[target] == name)) for name in clf.classes_]
for name, value, low, high, true in zip(clf.classes_, found.estimate, found.low, found.high, truth, strict=True):
    print(f"share of {name:9}: estimated {value:.2f} ({low:.2f} to {high:.2f}), true {true:.2f}")
print(f"accuracy on the target before: {clf.source_estimator_.score(X[target], y[target]):.1%}")
print(f"accuracy on the target after:  {clf.score(X[target], y[target]):.1%}")

# %%
# Shares of the two classes.
places = np.arange(2)
estimate, low, high = (np.asarray(values) for values in (found.estimate, found.low, found.high))
spread = np.abs([estimate - low, high - estimate])
figure, axes = plt.subplots(figsize=(4.6, 3.4), layout="constrained")
axes.bar(places - 0.25, found.source, 0.25, label="source", color="0.7")
axes.bar(places, estimate, 0.25, yerr=spread, capsize=4, label="target, estimated")
axes.bar(places + 0.25, truth, 0.25, label="target, true")
axes.set(xticks=places, xticklabels=clf.classes_, ylabel="share of the rows", ylim=(0, 1.1))
axes.legend(loc="upper right")
plt.show()
