"""A training step of a convolutional network and of each baseline: torch's kernels, and ours in bfloat16.

    python benchmarks/training_steps.py [--steps 200]

Needs a GPU and Triton; prints a table, microseconds a step. `results/lockstep.json` keeps it (whole_network_steps).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch

from driftfit.extras import has
from driftfit.methods.baselines import DANN, CoVi, DeepCoral, DeepJDOT, TargetStatistics
from driftfit.methods.baselines.loop import PairedTrainer
from driftfit.models.networks import reference_conv_net
from driftfit.models.torch.training import Recipe, Trainer

BATCH, WARM_UP = 128, 10
# Each baseline at the layer where the paper's tables align.
BASELINES = {
    "CoVi": (CoVi(), "scores"),
    "DANN": (DANN(), "conv3"),
    "Deep CORAL": (DeepCoral(), "scores"),
    "DeepJDOT": (DeepJDOT(), "norm"),
    "target in normalisation layers alone": (TargetStatistics(), "norm"),
}


def plain_step(half: bool, batch: int) -> Callable[[], None]:
    trainer = Trainer(reference_conv_net(28, 10, half=half).cuda().train(), Recipe())
    images, labels = torch.rand(batch, 1, 28, 28).cuda(), torch.randint(0, 10, (batch,)).cuda()
    return lambda: trainer.steps.take(images, labels, None)


def paired_step(half: bool, name: str) -> Callable[[], None]:
    baseline, layer = BASELINES[name]
    network = reference_conv_net(28, 10, half=half).cuda()
    trainer = PairedTrainer(network, layer, baseline, Recipe(), sample_shape=(1, 28, 28), n_classes=10)
    x0, x1 = torch.rand(2, BATCH, 1, 28, 28).cuda()
    y0, progress = torch.randint(0, 10, (BATCH,)).cuda(), torch.zeros(()).cuda()
    return lambda: trainer._step(x0, y0, x1, progress)


def microseconds(step: Callable[[], None], count: int) -> float:
    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(count):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - started) / count * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200, help="steps that are timed [200]")
    count = parser.parse_args().steps
    if not (torch.cuda.is_available() and has("triton")):
        raise SystemExit("this benchmark needs a GPU and Triton; there is nothing to compare without them")
    # As the tables are run.
    torch.set_float32_matmul_precision("high")
    steps: dict[str, Callable[[bool], Callable[[], None]]] = {
        "reference network": lambda half: plain_step(half, BATCH),
        "reference network, batches of 512": lambda half: plain_step(half, 512),
    }
    steps |= {name: lambda half, name=name: paired_step(half, name) for name in BASELINES}
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    for name, make in steps.items():
        plain, own = (microseconds(make(half), count) for half in (False, True))
        print(f"{name:40} torch {plain:7.1f} us, ours {own:7.1f} us, {plain / own:.1f}x", flush=True)


if __name__ == "__main__":
    main()
