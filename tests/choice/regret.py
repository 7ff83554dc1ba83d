"""What choosing the number of generated domains costs, over data and seeds: the tables of docs/number_of_domains.md.

    GRADAPT_DATA=... python tests/choice/regret.py design|evaluation [--seeds 8] [--held-out]

The rule was chosen on the design cases (seeds from 0) and its constants were fixed before the evaluation cases (seeds
from 100) were looked at. True labels of the target serve to measure the regret and nothing else.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from gradapt import Domain, DomainSequence, datasets
from gradapt.choice import CANDIDATES, score_candidates
from gradapt.datasets.toy import moving_gaussians, rotated_digits, rotating_moons
from gradapt.learners import as_learner
from gradapt.methods import GOAT
from gradapt.paths import Transport, Workspace
from gradapt.tables.encoder import MLPEncoder

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
    if not held_out:
        return Trial(*whole, before, truth)
    n = len(target)
    judged = np.sort(np.random.default_rng([seed, 5]).choice(n, n // 3, replace=False))
    trained = Domain(target.samples[np.setdiff1d(np.arange(n), judged)], name="t")
    probabilities, _ = _adapt_all(learner, DomainSequence([*sequence[:-1], trained]), target.samples[judged])
    return Trial(probabilities, whole[1][judged], before[judged], truth)


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


RULES = {
    "carried and consensus labels, 90 % (the rule)": lambda t: score_candidates(t.probabilities, t.carried).values,
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=("design", "evaluation"))
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--held-out", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    first, cases = (0, DESIGN) if asked.part == "design" else (100, EVALUATION)
    found = {name: [] for name in RULES}
    for case in cases:
        trials = [trial(*case, first + seed, asked.held_out) for seed in range(asked.seeds)]
        accuracy = [100 * np.mean([t.accuracy[k] for t in trials]) for k in CANDIDATES]
        for name, rule in RULES.items():
            found[name].append([100 * t.regret(rule(t)) for t in trials])
        shown = [np.mean(found[name][-1]) for name in (next(iter(RULES)), "always 4", "consensus, agreement, 50 %")]
        print(f"| {' | '.join(case)} | {' | '.join(f'{v:.1f}' for v in [*accuracy, *shown])} |", flush=True)
    for name, regrets in found.items():
        means = np.mean(regrets, axis=1)
        print(f"| {name} | {means.mean():.2f} | {means.max():.1f} | {cases[int(means.argmax())][0]} |")
    difference = np.mean(found[next(iter(RULES))], axis=1) - np.mean(found["always 4"], axis=1)
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    print(f"the rule against always 4: {difference.mean():+.2f} +- {error:.2f} over {len(difference)} cases")


if __name__ == "__main__":
    main()
