"""How well very different candidates are ranked without labels: the table of docs/choice.md.

    DRIFTFIT_DATA=... python benchmarks/ranking.py [--cases rotated:45:2] [--seeds 100 101] [--json ranking.json]

Small samples and a small network. True labels of the target serve to measure what each candidate is worth and nothing
else. Constants were fixed on seeds 0 to 4.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
from records import write_record

from driftfit import Domain, DomainSequence, datasets
from driftfit.methods import GOAT, CarriedLabels, GradualSelfTraining, Relabelling, SourceOnly, Transport
from driftfit.methods.baselines import DANN, BaselineMethod, CoVi, DeepCoral
from driftfit.models.networks import mlp
from driftfit.models.torch.classifier import TorchClassifier
from driftfit.models.torch.training import Adam
from driftfit.selection import GUARDS, Candidate, Choice, NeighbourInformation, Runs
from driftfit.selection.chosen import SCORE, conclude
from driftfit.selection.runs import run_candidates
from driftfit.transport import GromovWasserstein, Mapped, Orthogonal, SameScale

PLAIN = Transport(certified=False)
SCALED = Transport(Mapped(SameScale()), certified=False)
TURNED = Transport(Mapped(Orthogonal(), start=GromovWasserstein(starts=2)), certified=False)


def structural(**options: Any) -> Candidate:
    return Candidate.structural(CarriedLabels(TURNED, feature_space=False, direct=True, **options))


CANDIDATES: dict[Hashable, Candidate] = {
    "source": Candidate(SourceOnly()),
    "gradual self-training": Candidate(GradualSelfTraining(measure_shift=False)),
    "the same, head alone": Candidate(GradualSelfTraining(measure_shift=False, freeze_encoder=True)),
    "GOAT, 2": Candidate(GOAT(2, transport=PLAIN)),
    "GOAT, 4, input": Candidate(GOAT(4, transport=PLAIN, feature_space=False)),
    "carried, encoder": Candidate(CarriedLabels(PLAIN)),
    "carried, input": Candidate(CarriedLabels(PLAIN, feature_space=False)),
    "carried, input, joint, mixup": Candidate(CarriedLabels(PLAIN, feature_space=False, joint=True, mixup=0.5)),
    "carried, own scale": Candidate(CarriedLabels(SCALED, feature_space=False)),
    "carried, own scale, joint": Candidate(CarriedLabels(SCALED, feature_space=False, joint=True)),
    "structure": structural(),
    "structure, mixup": structural(mixup=0.5),
    "structure, mixup, relabelling": structural(mixup=0.5, relabelling=Relabelling()),
    "structure, joint, mixup": structural(joint=True, mixup=0.5),
    "CoVi": Candidate(BaselineMethod(CoVi(), sequential=True)),
    "Deep CORAL": Candidate(BaselineMethod(DeepCoral())),
    "DANN": Candidate(BaselineMethod(DANN())),
}
SCORES = {
    "information": NeighbourInformation(),
    "information, measured": NeighbourInformation(measured=True),
    "rule": SCORE,
}
# The data, for digits the angle of the target, and the number of given domains.
CASES = {
    "rotated:45": "Rotated MNIST 45",
    "rotated:60": "Rotated MNIST 60",
    "rotated:45:2": "Rotated MNIST 45, 2 given",
    "color": "Color-Shift MNIST",
    "portraits": "Portraits",
    "covtype": "Cover Type",
}


def sequence_of(case: str, seed: int, n: int) -> DomainSequence:
    """Different samples in every domain."""
    kind, *more = case.split(":")
    rng = np.random.default_rng([seed, 3])
    if kind == "rotated":  # rotated:45, or rotated:45:2 with two given domains
        n_given = int(more[1]) if len(more) > 1 else 0
        whole = datasets.rotated_mnist(n_given, seed=seed, target_angle=float(more[0]), download=False)
        order = rng.permutation(len(whole[0]))
        return DomainSequence([_flat(d, order[place * n : (place + 1) * n]) for place, d in enumerate(whole)])
    make = {"color": datasets.color_mnist, "portraits": datasets.portraits, "covtype": datasets.covtype}[kind]
    whole = make(int(more[0]) if more else 0, seed=seed, download=False)  # portraits, or portraits:2 with two given
    return DomainSequence([_flat(domain, rng.permutation(len(domain))[:n]) for domain in whole])


def _flat(domain: Domain, rows: np.ndarray) -> Domain:
    samples = np.asarray(domain.samples)[rows].reshape(len(rows), -1).astype(np.float32)
    return Domain(samples, labels=domain.labels[rows], name=domain.name)


def network(seed: int) -> TorchClassifier:
    return TorchClassifier(
        lambda shape, n_classes: mlp(shape[0], n_classes, hidden=(128, 64), dropout=0.2),
        encoder="fc1", epochs=25, refit_epochs=15, batch_size=64, optimiser=Adam(1e-3, 1e-4), random_state=seed,
        device="cpu",
    )  # fmt: skip


def trial(case: str, seed: int, n: int) -> tuple[dict[Hashable, float], dict[str, Choice]]:
    """Accuracy of every candidate, and the choice by every score."""
    sequence = sequence_of(case, seed, n)
    source, given = sequence.source, sequence.masked()
    learner = network(seed).make_learner(source.classes).fit(source.samples, source.codes())
    runs = run_candidates(Runs(learner, given, given.target, CANDIDATES, "source"))
    truth = np.searchsorted(source.classes, sequence.target.labels)
    accuracy = {name: 100 * float((runs.labels(name) == truth).mean()) for name in runs.names}
    findings = [found for guard in GUARDS for found in (guard.beforehand(runs), guard.inspect(runs))]
    return accuracy, {name: conclude(runs, score.judge(runs), findings, True) for name, score in SCORES.items()}


def ranks(accuracy: dict[Hashable, float], choice: Choice) -> float:
    """Rank correlation of score and accuracy over the candidates that are not struck out."""
    left = [name for name in choice.scores if name not in choice.struck]
    table = [[own[name] for name in left] for own in (choice.scores, accuracy)]
    first, second = np.argsort(np.argsort(table, axis=1), axis=1)
    return float(np.asarray(np.corrcoef(first, second))[0, 1])


def row_of(accuracy: dict[Hashable, float], choices: dict[str, Choice]) -> dict[str, Any]:
    """What the source model, the best candidate and the one chosen by each score are worth, in percent."""
    row: dict[str, Any] = {"source": round(accuracy["source"], 2), "best": round(max(accuracy.values()), 2)}
    for name, choice in choices.items():
        row |= {name: round(accuracy[choice.best], 2), f"{name}: chosen": choice.best}
        row |= {f"{name}: rank correlation": round(ranks(accuracy, choice), 3)}
    row["accuracies"] = {name: round(value, 1) for name, value in accuracy.items()}
    return row | {"struck": sorted(choices["rule"].struck)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=list(CASES), help="others too: portraits:2 has two given domains")
    parser.add_argument("--seeds", type=int, nargs="+", default=[100, 101, 102, 103, 104])
    parser.add_argument("--samples", type=int, default=1_000)
    parser.add_argument("--json", type=Path, dest="target", help="write every run here; none in it is run again")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    if asked.target is not None and asked.target.exists():
        known = json.loads(asked.target.read_text())
        if (known["samples"], known["candidates"]) != (asked.samples, list(CANDIDATES)):
            raise SystemExit(f"{asked.target} has other samples or candidates; name another file")
        rows = known["rows"]
    for case in asked.cases:
        for seed in asked.seeds:
            if any((row["case"], row["seed"]) == (case, seed) for row in rows):
                continue
            found = row_of(*trial(case, seed, asked.samples))
            rows.append({"case": case, "data": CASES.get(case, case), "seed": seed, **found})
            print(rows[-1], flush=True)
            if asked.target is not None:
                order = sorted(rows, key=lambda row: ([*CASES, row["case"]].index(row["case"]), row["seed"]))
                seeds = (row["seed"] for row in rows)
                write_record(asked.target, order, seeds, candidates=list(CANDIDATES), samples=asked.samples)


if __name__ == "__main__":
    main()
