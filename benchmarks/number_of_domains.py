"""What choosing the number of generated domains costs, over data and seeds: the tables of docs/number_of_domains.md.

    DRIFTFIT_DATA=... python benchmarks/number_of_domains.py design evaluation [--seeds 8] [--held-out] [--json FILE]

The rule was chosen on the design cases (seeds from 0) and its constants were fixed before the evaluation cases (seeds
from 100) were looked at. True labels of the target serve to measure the regret and nothing else.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from driftfit import Domain, DomainSequence, datasets
from driftfit.app.models import MLPEncoder
from driftfit.datasets.toy import moving_gaussians, rotated_digits, rotating_moons
from driftfit.methods import GOAT, Transport, Workspace
from driftfit.models import as_learner
from driftfit.selection import CANDIDATES, score_candidates

# Data and classifier. After the colon: positions of the domains; for benchmarks the number of given domains between.
DESIGN = [
    *(("digits:0,30", "lr"), ("digits:0,30,60", "lr"), ("digits:0,45", "encoder")),
    *(("moons:0,60", "rbf"), ("moons:0,45,90", "rbf"), ("moons:0,20,40", "rbf")),
    *(("gauss:0,1.2", "lr"), ("gauss:0,2.5", "lr"), ("wide:0,1.5", "lr"), ("skew:0,1.2", "lr")),
    *(("mnist:0:30", "lr"), ("mnist:1:45", "encoder"), ("covtype:1", "lr"), ("covtype:0", "encoder")),
]
EVALUATION = [
    *(("digits:0,20,40", "lr"), ("digits:0,35,70", "encoder")),
    *(("moons:0,35", "rbf"), ("moons:0,75", "rbf"), ("moons:0,40,80,120", "rbf")),
    *(("gauss:0,1.8", "lr"), ("gauss:0,1.4,2.8", "lr"), ("wide:0,2", "lr"), ("skew:0,1.5", "lr")),
    *(
        ("mnist:0:45", "encoder"),
        ("mnist:2:45", "lr"),
        ("mnist:1:30", "mlp"),
        ("color:0", "lr"),
        ("color:1", "encoder"),
    ),
    *(("portraits:0", "lr"), ("portraits:2", "encoder"), ("covtype:2", "lr"), ("covtype:0", "mlp")),
]


@dataclass(frozen=True, eq=False)
class Trial:
    """All candidates on one path: probabilities and carried labels for some target rows, and what was really right."""

    probabilities: dict[int, np.ndarray]
    carried: np.ndarray
    source: np.ndarray
    accuracy: dict[int, float]
    carried_right: float = float("nan")

    def regret(self, scores):
        """Accuracy lost by taking the highest score; the smallest number where several tie."""
        highest = max(scores.values())
        chosen = min(number for number, score in scores.items() if score >= highest - 1e-9)
        return max(self.accuracy.values()) - self.accuracy[chosen]


def sequence_of(name, seed):
    kind, positions, *angle = name.split(":")
    places = [float(place) for place in positions.split(",")]
    if kind == "digits":
        return _limited(rotated_digits(places, seed=seed), 400, seed)
    if kind == "moons":
        return rotating_moons(places, seed=seed, n_samples=300)
    if kind == "gauss":
        return moving_gaussians(places, seed=seed, n_samples=300)
    if kind == "wide":  # few samples of many features
        return moving_gaussians(places, seed=seed, n_samples=100, n_features=20)
    if kind == "skew":  # one class is three times rarer in the target
        *others, target = moving_gaussians(places, seed=seed, n_samples=400)
        drawn = np.random.default_rng([seed, 9]).random(len(target)) < 1 / 3
        kept = np.flatnonzero((target.labels == 0) | drawn)
        return DomainSequence([*others, Domain(target.samples[kept], labels=target.labels[kept], name="t")])
    n_given = int(positions)
    if kind == "covtype":
        return _limited(datasets.covtype(n_given, seed=seed, download=False), 800, seed)
    make = {"mnist": datasets.rotated_mnist, "color": datasets.color_mnist, "portraits": datasets.portraits}[kind]
    options = {"target_angle": float(angle[0])} if angle else {}
    return _limited(make(n_given, seed=seed, n_samples=2000, download=False, **options), 600, seed)


def _limited(sequence, most, seed):
    rng = np.random.default_rng([seed, 77])
    domains = []
    for domain in sequence:
        rows = np.sort(rng.choice(len(domain), min(most, len(domain)), replace=False))
        samples = np.asarray(domain.samples, dtype=np.float64)[rows].reshape(len(rows), -1)
        domains.append(Domain(samples, labels=domain.labels[rows], name=domain.name))
    return DomainSequence(domains)


def classifier_of(name, seed):
    linear = LogisticRegression(max_iter=300)
    return {
        "lr": linear,
        "mlp": MLPClassifier((32,), max_iter=60, random_state=seed),
        "encoder": make_pipeline(MLPEncoder(32, max_iter=60, random_state=seed), linear),
        "rbf": make_pipeline(
            Nystroem(gamma=1.0, n_components=60, random_state=seed), LogisticRegression(max_iter=300, C=10)
        ),
    }[name]


def trial(data, classifier, seed, held_out=False):
    """Adapt with every candidate; with ``held_out`` a third of the target is judged on and not trained on."""
    sequence = sequence_of(data, seed)
    source, target = sequence.source, sequence.target
    classes = np.unique(source.labels)
    learner = as_learner(classifier_of(classifier, seed), classes)
    learner = learner.fit(source.samples, np.searchsorted(classes, source.labels))
    whole = _adapt_all(learner, sequence)
    truth = {k: float((classes[p.argmax(axis=1)] == target.labels).mean()) for k, p in whole[0].items()}
    before = softmax(learner.logits(target.samples), axis=1)
    carried_right = float((classes[whole[1].argmax(axis=1)] == target.labels).mean())
    if not held_out:
        return Trial(*whole, before, truth, carried_right)
    n = len(target)
    judged = np.sort(np.random.default_rng([seed, 5]).choice(n, n // 3, replace=False))
    trained = Domain(target.samples[np.setdiff1d(np.arange(n), judged)], name="t")
    probabilities, _ = _adapt_all(learner, DomainSequence([*sequence[:-1], trained]), target.samples[judged])
    return Trial(probabilities, whole[1][judged], before[judged], truth, carried_right)


def _adapt_all(learner, sequence, samples=None):
    work = Workspace()
    coupled = work.coupled(work.encoded(learner, sequence), Transport())
    samples = sequence.target.samples if samples is None else samples
    runs = {k: GOAT(k).adapt(learner, sequence, workspace=work).learner for k in CANDIDATES}
    return {k: softmax(run.logits(samples), axis=1) for k, run in runs.items()}, coupled.carried()


def agreement(opinion, share, per_class=False):
    """The rule of the paper taken at its word: share of confident pseudo-labels that a candidate agrees with."""

    def scores(t):
        teacher = opinion(t)
        labels, sure = teacher.argmax(axis=1), teacher.max(axis=1)
        groups = [np.flatnonzero(labels == c) for c in np.unique(labels)] if per_class else [np.arange(len(labels))]
        rows = np.concatenate(
            [group[np.argsort(-sure[group], kind="stable")[: int(np.ceil(share * len(group)))]] for group in groups]
        )
        return {k: float((p[rows].argmax(axis=1) == labels[rows]).mean()) for k, p in t.probabilities.items()}

    return scores


def own_confidence(t):
    return {k: float(np.sort(p.max(axis=1))[-(len(p) // 2) :].mean()) for k, p in t.probabilities.items()}


def mutual_information(t):
    scores = {}
    for k, p in t.probabilities.items():
        mean = p.mean(axis=0)
        scores[k] = float((p * np.log(p + 1e-12)).sum(axis=1).mean() - (mean * np.log(mean + 1e-12)).sum())
    return scores


def consensus(t):
    return np.mean(list(t.probabilities.values()), axis=0)


RULE = "carried and consensus labels, 90 % (the rule)"
RULES = {
    RULE: lambda t: score_candidates(t.probabilities, t.carried).values,
    "the same, all rows": lambda t: score_candidates(t.probabilities, t.carried, share=1.0).values,
    "the same, 50 %": lambda t: score_candidates(t.probabilities, t.carried, share=0.5).values,
    "carried labels, agreement, all rows": agreement(lambda t: t.carried, 1.0),
    "consensus, mean probability, 20 % (without plans)": lambda t: score_candidates(t.probabilities).values,
    "consensus, mean probability, 50 %": lambda t: score_candidates(t.probabilities, share=0.5).values,
    "consensus, agreement, 50 %": agreement(consensus, 0.5),
    "consensus, agreement, 50 % of each class": agreement(consensus, 0.5, per_class=True),
    "labels of the candidate 4, agreement, 50 %": agreement(lambda t: t.probabilities[4], 0.5),
    "labels of the candidate 0, agreement, 50 %": agreement(lambda t: t.probabilities[0], 0.5),
    "labels of the source model, agreement, 50 %": agreement(lambda t: t.source, 0.5),
    "mutual information of samples and classes": mutual_information,
    "own confidence on the surest half": own_confidence,
    **{f"always {k}": (lambda t, k=k: {j: float(j == k) for j in t.probabilities}) for k in CANDIDATES},
}


PARTS = {"design": (0, DESIGN), "evaluation": (100, EVALUATION)}
TITLES = {
    "digits": "digits turned by {} degrees",
    "moons": "moons turned by {} degrees",
    "gauss": "Gaussians moved by {}",
    "wide": "Gaussians moved by {}; 100 samples, 20 features",
    "skew": "Gaussians moved by {}; a class three times rarer in the target",
    "color": "Color-Shift MNIST, {} given",
    "portraits": "Portraits, {} given",
    "covtype": "Cover Type, {} given",
}


def title(data: str) -> str:
    """What a case is called in a table."""
    kind, positions, *angle = data.split(":")
    if kind == "mnist":
        return f"Rotated MNIST {angle[0]}, {positions} given"
    return TITLES[kind].format(positions.replace(",", ", "))


def measured(part: str, n_seeds: int, held_out: bool) -> list[dict[str, Any]]:
    """For each case the accuracy of all candidates, and the regret of all rules, in points; means over the seeds."""
    first, cases = PARTS[part]
    rows = []
    for data, classifier in cases:
        trials = [trial(data, classifier, first + seed, held_out) for seed in range(n_seeds)]
        accuracy = {f"{k}": round(100 * float(np.mean([t.accuracy[k] for t in trials])), 2) for k in CANDIDATES}
        regrets = {
            name: round(100 * float(np.mean([t.regret(rule(t)) for t in trials])), 3) for name, rule in RULES.items()
        }
        about = {"part": part, "data": title(data), "case": data, "classifier": classifier}
        carried = round(100 * float(np.mean([t.carried_right for t in trials])), 1)
        rows.append(about | {"accuracy": accuracy, "carried labels right": carried, "regret": regrets})
        print({**about, **accuracy, RULE: regrets[RULE]}, flush=True)
    return rows


def summary(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Mean and largest regret of every rule over the cases of a part; and what the rule loses to always taking 4."""
    own = {part: [row["regret"] for row in rows if row["part"] == part] for part in PARTS}
    rules = []
    for name in RULES:
        found: dict[str, Any] = {"rule": name}
        for part, regrets in own.items():
            values = [regret[name] for regret in regrets]
            if values:
                found |= {part: round(float(np.mean(values)), 2), f"{part}, worst": round(max(values), 1)}
        rules.append(found)
    against = {}
    for part, regrets in own.items():
        lost = np.array([regret[RULE] - regret["always 4"] for regret in regrets])
        if len(lost) > 1:
            error = lost.std(ddof=1) / np.sqrt(len(lost))
            against[part] = {"mean": round(float(lost.mean()), 2), "standard error": round(float(error), 2)}
    return rules, against


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--json", type=Path, dest="target", help="write the tables to this file")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [row for part in asked.parts for row in measured(part, asked.seeds, asked.held_out)]
    rules, against = summary(rows)
    print(*rules, f"the rule against always 4: {against}", sep="\n")
    if asked.target is not None:
        seeds = [PARTS[part][0] + seed for part in asked.parts for seed in range(asked.seeds)]
        write_record = run_path(str(Path(__file__).with_name("records.py")))["write_record"]
        write_record(asked.target, rows, seeds, rules=rules, against_always_4=against, held_out=asked.held_out)


if __name__ == "__main__":
    main()
