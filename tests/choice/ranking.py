"""How well very different candidates are ranked without labels: the tables of docs/choice.md.

    GRADAPT_DATA=... python tests/choice/ranking.py rotated:45 rotated:45:2 color portraits covtype [--seeds 0,1]

Small samples and a small network. True labels of the target serve to measure what each candidate is worth and nothing
else. Constants were fixed on seeds 0 to 4.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from gradapt import Domain, DomainSequence, datasets
from gradapt.choice import GUARDS, Candidate, NeighbourInformation, Runs
from gradapt.choice.chosen import SCORE, conclude
from gradapt.choice.runs import run_candidates
from gradapt.learners.torch_classifier import TorchClassifier
from gradapt.learners.torch_training import Adam
from gradapt.methods import GOAT, CarriedLabels, GradualSelfTraining, Relabelling, SourceOnly
from gradapt.methods.baselines import DANN, BaselineMethod, CoVi, DeepCoral
from gradapt.networks import mlp
from gradapt.paths import Transport
from gradapt.transport import GromovWasserstein, Mapped, Orthogonal, SameScale

PLAIN = Transport(certified=False)
SCALED = Transport(Mapped(SameScale()), certified=False)
TURNED = Transport(Mapped(Orthogonal(), start=GromovWasserstein(starts=2)), certified=False)


def structural(**options):
    return Candidate.structural(CarriedLabels(TURNED, feature_space=False, direct=True, **options))


CANDIDATES = {
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
SCORES = {"information": NeighbourInformation(), "information, with the source (the rule)": SCORE}


def sequence_of(case, seed, n):
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


def _flat(domain, rows):
    samples = np.asarray(domain.samples)[rows].reshape(len(rows), -1).astype(np.float32)
    return Domain(samples, labels=domain.labels[rows], name=domain.name)


def network(seed):
    return TorchClassifier(
        lambda shape, n_classes: mlp(shape[0], n_classes, hidden=(128, 64), dropout=0.2),
        encoder="fc1", epochs=25, refit_epochs=15, batch_size=64, optimiser=Adam(1e-3, 1e-4), random_state=seed,
        device="cpu",
    )  # fmt: skip


def trial(case, seed, n):
    """Accuracy of every candidate, and the choice by every score."""
    sequence = sequence_of(case, seed, n)
    source, given = sequence.source, sequence.masked()
    learner = network(seed).make_learner(source.classes).fit(source.samples, source.codes())
    runs = run_candidates(Runs(learner, given, given.target, CANDIDATES, "source"))
    truth = np.searchsorted(source.classes, sequence.target.labels)
    accuracy = {name: 100 * float((runs.labels(name) == truth).mean()) for name in runs.names}
    findings = [found for guard in GUARDS for found in (guard.beforehand(runs), guard.inspect(runs))]
    return accuracy, {name: conclude(runs, score.judge(runs), findings, True) for name, score in SCORES.items()}


def ranks(accuracy, choice):
    """Rank correlation of score and accuracy over the candidates that are not struck out."""
    left = [name for name in choice.scores if name not in choice.struck]
    table = [[own[name] for name in left] for own in (choice.scores, accuracy)]
    return float(np.corrcoef(np.argsort(np.argsort(table, axis=1), axis=1))[0, 1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--samples", type=int, default=1_000)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for case in asked.cases:
        found = [trial(case, int(seed), asked.samples) for seed in asked.seeds.split(",")]
        for name in CANDIDATES:
            row = [(accuracy[name], choices[next(iter(SCORES))].scores[name]) for accuracy, choices in found]
            struck = sum(name in choices[next(iter(SCORES))].struck for _, choices in found)
            shown = " ".join(f"{value:.1f} ({score:.2f})" for value, score in row)
            print(f"  {name:30s} {np.mean(row, axis=0)[0]:5.1f} | {shown} | struck out {struck}")
        for rule in SCORES:
            chosen = [accuracy[choices[rule].best] for accuracy, choices in found]
            best = [max(accuracy.values()) for accuracy, _ in found]
            source = [accuracy["source"] for accuracy, _ in found]
            order = np.mean([ranks(accuracy, choices[rule]) for accuracy, choices in found])
            names = ", ".join(str(choices[rule].best) for _, choices in found)
            print(
                f"| {case} | {rule} | source {np.mean(source):.1f} | chosen {np.mean(chosen):.1f} "
                f"| best {np.mean(best):.1f} | worst regret {np.max(np.subtract(best, chosen)):.1f} "
                f"| rank correlation {order:.2f} | {names}",
                flush=True,
            )


if __name__ == "__main__":
    main()
