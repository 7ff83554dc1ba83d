"""How much do source models differ from seed to seed, and with details that the protocol leaves open?

    python benchmarks/source_models.py --seeds 16 --device cuda

Rotated MNIST and Color-Shift MNIST at the `reference` preset: the network is trained on the source alone, with the
pixels as they are, with normalised pixels, and (Rotated MNIST) without the last, small batch of each epoch, and
measured on the target. Prints mean and standard deviation over the seeds; the images are the same for every variant.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from driftfit.datasets import color_mnist, rotated_mnist
from driftfit.lab.cells import settings
from driftfit.models.networks import reference_conv_net
from driftfit.models.torch.samples import Stored, logits, pick_device
from driftfit.models.torch.training import Adam, Recipe, Trainer

# Mean and standard deviation of MNIST's pixels.
MEAN, SPREAD = 0.1307, 0.3081

VARIANTS: dict[str, Callable[[Tensor], Tensor]] = {
    "pixels / 255": lambda x: x,
    "mean 0, deviation 1": lambda x: (x - MEAN) / SPREAD,
    "-1 to 1": lambda x: 2.0 * x - 1.0,
}


def target_accuracy(
    table: str, seed: int, change: Callable[[Tensor], Tensor], whole_batches: bool, place: str
) -> float:
    """Train on the source, measure on the target."""
    device = pick_device(place)
    load = rotated_mnist if table == "rotated-mnist" else color_mnist
    source, target = load(0, seed=seed)
    images, goal = (change(torch.from_numpy(domain.samples).to(device)) for domain in (source, target))
    labels, answers = (torch.from_numpy(np.array(domain.labels)).to(device) for domain in (source, target))
    chosen = settings(table)
    torch.manual_seed(seed)
    module = reference_conv_net(28, 10).to(device)
    recipe = Recipe(chosen.source_epochs, chosen.batch_size, Adam(chosen.lr, chosen.weight_decay))
    n_used = len(images) // chosen.batch_size * chosen.batch_size if whole_batches else len(images)
    rows = torch.arange(n_used, device=device)
    Trainer(module, recipe).train(Stored(images), rows, labels[rows], seed=seed)
    return 100 * float((logits(module, Stored(goal)).argmax(1) == answers).double().mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--tables", nargs="+", default=["rotated-mnist", "color-mnist"])
    options = parser.parse_args()
    for table in options.tables:
        cases = [(name, change, False) for name, change in VARIANTS.items()]
        if table == "rotated-mnist":
            cases.append(("pixels / 255, whole batches", VARIANTS["pixels / 255"], True))
        for name, change, whole_batches in cases:
            found = [
                target_accuracy(table, seed, change, whole_batches, options.device) for seed in range(options.seeds)
            ]
            print(
                f"{table}, {name}: {np.mean(found):.2f}, deviation {np.std(found, ddof=1):.2f} over {len(found)} seeds"
            )


if __name__ == "__main__":
    main()
