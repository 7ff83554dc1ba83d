"""
When should I not adapt?
========================

Can adaptation make a model worse, and how can that be noticed without labels? Self-training learns from its own
predictions, so a model can get worse. A gate examines the domains and both models without target labels, and keeps
the old model if there is evidence against the new one.
"""

# %%
# scikit-learn's digits. They look the same in both domains, but most of the new ones are a 0, a 1 or a 2.
import warnings
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from driftfit import GOATClassifier
from driftfit.selection import Gate

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
order = rng.permutation(len(X))
source, rest = order[:900], order[900:]
target = rest[(y[rest] < 3) | (rng.random(len(rest)) < 0.1)]
rows = np.concatenate([source, target])
domain = np.repeat([0, 1], [len(source), len(target)])

# %%
# One classifier is always adapted, the other has a gate that may keep the old model. In that case it warns. The warning
# is suppressed here, and the reasons are printed instead.
always = GOATClassifier(SVC(), random_state=0).fit(X[rows], y[rows], sample_domain=domain)
gated = GOATClassifier(SVC(), gate=Gate(), random_state=0)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    gated.fit(X[rows], y[rows], sample_domain=domain)
decision = gated.decision_
print("advice before adapting:", decision.verdict.advice.value)
print("kept:", decision.kept)
print(*(fill(f"- {reason}", 72) for reason in decision.reasons), sep="\n")

# %%
# The true accuracies, from labels that were not used above. The check before adapting is right.
models = {"old model": gated.source_estimator_, "always adapted": always, "behind the gate": gated}
accuracy = [fitted.score(X[target], y[target]) for fitted in models.values()]
figure, axes = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
bars = axes.bar(list(models), accuracy, color=["0.6", "tab:orange", "tab:blue"])
axes.bar_label(bars, fmt="{:.1%}")
axes.set(ylim=(0, 1.1), ylabel="accuracy on the target")
plt.show()
