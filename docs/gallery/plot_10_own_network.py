"""
How do I adapt a PyTorch module?
================================

How do I adapt a PyTorch module? ``TorchClassifier`` makes it a classifier, which can then be adapted like any other. In
each step of self-training the new model (student) starts from the weights of the previous one (teacher).
"""

# %%
# scikit-learn's digits with 144 pixels each, turned by up to 40 degrees in steps of ten.
import matplotlib.pyplot as plt
import torch
from torch import nn

from driftfit import GOATClassifier, TorchClassifier
from driftfit.datasets.toy import rotated_digits

torch.manual_seed(0)
torch.set_num_threads(1)
angles = (0, 10, 20, 30, 40)
path = rotated_digits(angles, seed=0)
held_out = rotated_digits(angles, split="held_out", seed=0)

# %%
# A plain module with one score for each class. Domains are generated in the space of the images here; ``encoder="1"``
# would freeze the first two layers and generate domains in the space of their output.
module = nn.Sequential(nn.Linear(144, 128), nn.ReLU(), nn.Linear(128, 32), nn.ReLU(), nn.Linear(32, 10))
network = TorchClassifier(module, epochs=40, refit_epochs=15, batch_size=64, random_state=0, device="cpu")
clf = GOATClassifier(network, n_generated=1, random_state=0).fit_path(path)

# %%
# Both networks, before and after adaptation, on held-out images of every angle.
before = [clf.source_estimator_.score(domain.samples, domain.labels) for domain in held_out]
after = [clf.score(domain.samples, domain.labels) for domain in held_out]
for angle, old, new in zip(angles, before, after, strict=True):
    print(f"{angle:2} degrees: before {old:.1%}, after {new:.1%}")

# %%
# The adapted network is made for the target, and may forget the source.
figure, axes = plt.subplots(figsize=(4.6, 3.4), layout="constrained")
axes.plot(angles, before, "s--", label="before adaptation")
axes.plot(angles, after, "o-", label="after, adapted to the last angle")
axes.set(xlabel="angle in degrees", ylabel="accuracy on held-out images", xticks=angles, ylim=(0, 1.05))
axes.legend(loc="lower left")
plt.show()
