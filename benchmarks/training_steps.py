"""A training step of a convolutional network and of each baseline: as it is, captured as a CUDA graph, in bfloat16.

    python benchmarks/training_steps.py [--steps 400]

Needs a GPU; prints a table, microseconds a step.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch

from driftfit.methods.baselines import DANN, CoVi, DeepCoral, DeepJDOT, TargetStatistics
from driftfit.methods.baselines.loop import PairedTrainer
from driftfit.models.networks import reference_conv_net
from driftfit.models.torch.samples import Stored
from driftfit.models.torch.training import Recipe, Trainer

BATCH = 128
# Each baseline at the layer where the paper's tables align.
BASELINES = {
    "CoVi": (CoVi(), "scores"),
    "DANN": (DANN(), "conv3"),
    "Deep CORAL": (DeepCoral(), "scores"),
    "DeepJDOT": (DeepJDOT(), "norm"),
    "target in normalisation layers alone": (TargetStatistics(), "norm"),
}
VARIANTS = {"eager": (False, False), "captured": (None, False), "captured, bfloat16": (None, True)}


def plain_training(batch: int, count: int, capture: bool | None, half: bool) -> Callable[[], None]:
    trainer = Trainer(reference_conv_net(28, 10, half=half).cuda(), Recipe(1, batch), capture=capture)
    n = batch * count
    images, labels = torch.rand(n, 1, 28, 28).cuda(), torch.randint(0, 10, (n,)).cuda()
    rows = torch.arange(n).cuda()
    return lambda: trainer.train(Stored(images), rows, labels)


def paired_training(name: str, count: int, capture: bool | None, half: bool) -> Callable[[], None]:
    baseline, layer = BASELINES[name]
    network = reference_conv_net(28, 10, half=half).cuda()
    trainer = PairedTrainer(
        network, layer, baseline, Recipe(1, BATCH), sample_shape=(1, 28, 28), n_classes=10, capture=capture
    )
    x0, x1 = torch.rand(2, BATCH * count, 1, 28, 28).cuda()
    y0 = torch.randint(0, 10, (BATCH * count,)).cuda()
    return lambda: trainer.train(Stored(x0), y0, Stored(x1), seed=0)


def microseconds(train: Callable[[], None], count: int) -> float:
    train()
    torch.cuda.synchronize()
    started = time.perf_counter()
    train()
    torch.cuda.synchronize()
    return (time.perf_counter() - started) / count * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400, help="steps of a training [400]")
    count = parser.parse_args().steps
    if not torch.cuda.is_available():
        raise SystemExit("this benchmark needs a GPU; there is nothing to compare without one")
    # As the tables are run.
    torch.set_float32_matmul_precision("high")
    trainings: dict[str, Callable[..., Callable[[], None]]] = {
        "reference network": lambda *own: plain_training(BATCH, *own),
        "reference network, batches of 512": lambda *own: plain_training(512, *own),
    }
    trainings |= {name: lambda *own, name=name: paired_training(name, *own) for name in BASELINES}
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    for name, make in trainings.items():
        found = [f"{words} {microseconds(make(count, *own), count):7.1f} us" for words, own in VARIANTS.items()]
        print(f"{name:40} {', '.join(found)}", flush=True)


if __name__ == "__main__":
    main()
