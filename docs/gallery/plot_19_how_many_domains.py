"""
How many domains should be generated?
=====================================

How many domains should GOAT generate? More domains make smaller steps, but each step also repeats the mistakes of the
previous model. The number can be chosen without target labels: transport plans carry labels of the source to the
target, and the models are compared with these.
"""

# %%
# Two groups of points that move by more than their distance from the decision boundary, in one step.
from textwrap import fill

import matplotlib.pyplot as plt
from sklearn.linear_model import LogisticRegression

from driftfit import GOATClassifier
from driftfit.datasets.toy import moving_gaussians

path = moving_gaussians((0, 2.5), seed=0)
fresh = moving_gaussians((0, 2.5), split="held_out", seed=0).target

# %%
# Each number of domains, with the true accuracy on new target points. This needs labels and is shown for comparison.
numbers = [0, 1, 2, 3, 4]
truth = []
for n_generated in numbers:
    clf = GOATClassifier(LogisticRegression(), n_generated=n_generated, random_state=0).fit_path(path)
    truth.append(clf.score(fresh.samples, fresh.labels))
    print(f"{n_generated} generated domains: {truth[-1]:.1%}")

# %%
# The choice without labels.
auto = GOATClassifier(LogisticRegression(), n_generated="auto", random_state=0).fit_path(path)
print(fill(auto.choice_.sentence, 72))
print(f"accuracy of the chosen one: {auto.score(fresh.samples, fresh.labels):.1%}")

# %%
# The score is the agreement with carried labels, not an accuracy. What matters is that both rise together.
scores = [auto.choice_.scores[n_generated] for n_generated in numbers]
figure, axes = plt.subplots(figsize=(4.6, 3.4), layout="constrained")
axes.plot(numbers, truth, "o-", label="true accuracy")
axes.plot(numbers, scores, "s--", label="score without labels")
axes.axvline(auto.n_generated_, color="0.4", linestyle=":", label="chosen")
axes.set(xlabel="domains generated between source and target", ylabel="share", xticks=numbers, ylim=(0, 1.05))
axes.legend(loc="lower right")
plt.show()
