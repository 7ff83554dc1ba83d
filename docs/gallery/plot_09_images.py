"""
Can a model follow images that turn?
====================================

Can a classifier follow images that change gradually? Digits rotate by 60 degrees in steps of 15. Only upright digits
have labels. The curves compare a classifier that is adapted step by step with one that is not.
"""

# %%
# scikit-learn's digits, turned. One half of the images is used for adaptation, the other half for evaluation.
import matplotlib.pyplot as plt
from sklearn.svm import SVC

from driftfit import GOATClassifier
from driftfit.datasets.toy import rotated_digits

angles = (0, 15, 30, 45, 60)
path = rotated_digits(angles, split="train", seed=0)
held_out = rotated_digits(angles, split="held_out", seed=0)

# %%
# ``keep_steps`` keeps the model after every step. Steps at generated domains come between those at given ones.
clf = GOATClassifier(SVC(gamma="scale"), n_generated=1, keep_steps=True, random_state=0)
clf.fit_path(path)
given = [model for model, step in zip(clf.step_estimators_[1:], clf.path_, strict=True) if not step.generated]
models = [clf.source_estimator_, *given]
following = [model.score(domain.samples, domain.labels) for model, domain in zip(models, held_out, strict=True)]
staying = [models[0].score(domain.samples, domain.labels) for domain in held_out]
for angle, stays, follows in zip(angles, staying, following, strict=True):
    print(f"{angle:2} degrees: source model {stays:.1%}, adapted up to here {follows:.1%}")

# %%
# Top: one image at each angle. Bottom: the accuracy on held-out images.
figure = plt.figure(figsize=(4.8, 4.5), layout="constrained")
pictures, curves = figure.subfigures(2, 1, height_ratios=(1, 3))
for axes, domain in zip(pictures.subplots(1, len(angles)), held_out, strict=True):
    axes.imshow(domain.samples[0].reshape(12, 12), cmap="gray_r")
    axes.axis("off")
axes = curves.subplots()
axes.plot(angles, following, "o-", label="adapted step by step")
axes.plot(angles, staying, "s--", label="source model")
axes.set(xlabel="angle in degrees", ylabel="accuracy on held-out images", xticks=angles, ylim=(0, 1.05))
axes.legend(loc="lower left")
plt.show()
