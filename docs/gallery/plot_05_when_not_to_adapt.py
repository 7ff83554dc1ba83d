"""
When not to adapt
=================

Self-training believes its own labels, so a model can get worse by it. A gate looks at the path and at both models
without target labels, and keeps the old model where anything speaks against the new one.
"""

# %%
# Two measurements of tumours, from scikit-learn. Nothing about a tumour changes between the two domains. Only the share of
# benign ones rises, as it may when a hospital begins to screen everybody.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gradapt import GOATClassifier
from gradapt.trust import Gate, Keep

X, y = load_breast_cancer(return_X_y=True)
X = X[:, :2]
order = np.random.default_rng(0).permutation(len(X))
malignant, benign = order[y[order] == 0], order[y[order] == 1]
source = np.concatenate([malignant[:150], benign[:100]])
target = np.concatenate([malignant[150:170], benign[100:]])
rows = np.concatenate([source, target])
hospital = np.repeat(["1 old", "2 new"], [len(source), len(target)])

# %%
# One classifier is adapted in any case, the other has a gate that may keep the old model. A gate that does so warns.
model = make_pipeline(StandardScaler(), LogisticRegression())
always = GOATClassifier(model, gate=Gate(keep=Keep.ADAPTED), random_state=0)
gated = GOATClassifier(model, gate=Gate(), random_state=0)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    always.fit(X[rows], y[rows], sample_domain=hospital)
    gated.fit(X[rows], y[rows], sample_domain=hospital)
decision = gated.decision_
print("advice before adapting:", decision.verdict.advice.value)
print("kept:", decision.kept)
print(*(f"  - {reason}" for reason in decision.reasons), sep="\n")

# %%
# The true accuracies, from labels that nothing above looked at.
models = {"old model": gated.source_estimator_, "always adapted": always, "behind the gate": gated}
accuracy = [fitted.score(X[target], y[target]) for fitted in models.values()]
figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
bars = axes.bar(list(models), accuracy, color=["0.6", "tab:orange", "tab:blue"])
axes.bar_label(bars, fmt="{:.1%}")
axes.set(ylim=(0, 1.1), ylabel="accuracy on the target")
plt.show()
