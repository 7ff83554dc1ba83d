"""GOAT here against skada's `GradualEstimator`, in one run.

1,000 + 1,000 samples, 10 steps, the same base classifier, target labels masked for both:

    python benchmarks/skada_gradual.py

Times are of `fit` alone, alternating between the two, on one thread, and are compared as
ratios of medians; accuracies are on 1,000 fresh target samples. skada fits the last step on the
transported copy of the target, here it is fitted on the target itself: both train on 10 domains.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from driftfit import Domain, GOATClassifier
from driftfit.datasets.toy import moving_gaussians, rotating_moons
from driftfit.files import write_json

N_STEPS = 10


def moons(seed: int) -> tuple[Domain, Domain, Domain]:
    path = rotating_moons((0, 40), n_samples=1000, seed=seed)
    return path.source, path.target, rotating_moons((0, 40), n_samples=1000, seed=seed, split="held_out").target


def gaussians(seed: int) -> tuple[Domain, Domain, Domain]:
    path = moving_gaussians((0, 2), n_samples=1000, n_features=10, seed=seed)
    fresh = moving_gaussians((0, 2), n_samples=1000, n_features=10, seed=seed, split="held_out")
    return path.source, path.target, fresh.target


def covariate_shift(seed: int) -> tuple[Domain, Domain, Domain]:
    """skada's own generator of shifted clusters; 8 clusters of 125 samples each."""
    from skada.datasets import make_shifted_datasets

    def draw(state: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return make_shifted_datasets(125, 125, shift="covariate_shift", noise=0.3, random_state=state)

    X, y, domain = draw(seed)
    X_new, y_new, domain_new = draw(seed + 1000)
    source, target, fresh = domain >= 0, domain < 0, domain_new < 0
    return Domain(X[source], y[source]), Domain(X[target], y[target]), Domain(X_new[fresh], y_new[fresh])


DATA = {"moons": moons, "gaussians": gaussians, "covariate shift": covariate_shift}


def make_base(name: str, seed: int) -> object:
    if name == "logistic":
        return LogisticRegression()
    # skada's default network.
    return MLPClassifier((100,), max_iter=100, random_state=seed)


def fit_skada(base: object, source: Domain, target: Domain, seed: int) -> object:
    from skada._gradual_da import GradualEstimator  # not exported at the top

    X = np.vstack([source.samples, target.samples])
    y = np.concatenate([source.labels, np.full(len(target), -1)])  # target labels masked
    sample_domain = np.repeat([1, -2], [len(source), len(target)])
    return GradualEstimator(n_steps=N_STEPS, base_estimator=base).fit(X, y, sample_domain=sample_domain)


def fit_driftfit(base: object, source: Domain, target: Domain, seed: int) -> object:
    X = np.vstack([source.samples, target.samples])
    y = np.concatenate([source.labels, np.full(len(target), -1)])
    sample_domain = np.repeat([0, 1], [len(source), len(target)])
    return GOATClassifier(base, n_generated=N_STEPS - 1).fit(X, y, sample_domain=sample_domain)


def compare(data: str, base: str, seeds: int) -> dict[str, object]:
    times: dict[str, list[float]] = {"skada": [], "driftfit": []}
    accuracies: dict[str, list[float]] = {"skada": [], "driftfit": []}
    for seed in range(seeds):
        source, target, fresh = DATA[data](seed)
        for name, fit in (("skada", fit_skada), ("driftfit", fit_driftfit)):
            started = time.perf_counter()
            model = fit(make_base(base, seed), source, target, seed)
            times[name].append(time.perf_counter() - started)
            accuracies[name].append(float(np.mean(model.predict(fresh.samples) == fresh.labels)))
    seconds = {name: float(np.median(values)) for name, values in times.items()}
    return {
        "data": data,
        "base": base,
        "seeds": seeds,
        "seconds": seconds,
        "faster": seconds["skada"] / seconds["driftfit"],
        "accuracy": {name: float(np.mean(values)) for name, values in accuracies.items()},
        "accuracies": accuracies,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, help="write the numbers as JSON")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # convergence warnings of both
    results = []
    print(
        f"{'data':<16}{'classifier':<12}{'skada s':>9}{'driftfit s':>11}{'faster':>8}{'skada %':>9}{'driftfit %':>11}"
    )
    with threadpool_limits(limits=1):
        fit_driftfit(make_base("logistic", 0), *moons(0)[:2], 0)  # imports and compilation
        for base in ("logistic", "mlp"):
            for data in DATA:
                row = compare(data, base, options.seeds)
                results.append(row)
                seconds, accuracy = row["seconds"], row["accuracy"]
                print(
                    f"{data:<16}{base:<12}{seconds['skada']:>9.2f}{seconds['driftfit']:>11.2f}{row['faster']:>7.1f}x"
                    f"{100 * accuracy['skada']:>9.1f}{100 * accuracy['driftfit']:>11.1f}",
                    flush=True,
                )
    versions = {name: version(name) for name in ("driftfit", "skada", "scikit-learn", "POT", "numpy")}
    if options.out:
        write_json(options.out, {"versions": versions, "python": sys.version.split()[0], "rows": results})
    print(json.dumps(versions))


if __name__ == "__main__":
    main()
