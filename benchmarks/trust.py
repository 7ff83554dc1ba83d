"""Tables of `docs/trust_measured.md`: verdicts over 20 seeds, and accuracy estimates against the truth.

    python benchmarks/trust.py verdicts [--seeds 20] [--json results/trust-verdicts.json]
    python benchmarks/trust.py accuracy [--seeds 3] [--first-seed 0] [--json results/trust-accuracy.json]
    python benchmarks/trust.py calibration [--seeds 200] [--results results]
    python benchmarks/trust.py bounds [--seeds 5]
    python benchmarks/trust.py pictures

The accuracy table reads MNIST, Cover Type and Portraits from the folder named by DRIFTFIT_DATA, or downloads them.
Labels of unlabelled domains are looked at here only, to compare; the library never sees them.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from records import write_record

from driftfit.domains import Domain, DomainSequence


def dialed_digits(seed: int) -> DomainSequence:
    """Digits whose class proportions jump while every class stays what it is; no image occurs twice.

    The source has 60 images of each class. In the next domain five classes keep 60 images and the
    others drop to 6; in the target it is the other way round.
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    rng = np.random.default_rng(seed)
    images, labels = digits.data / 16.0, digits.target
    pools = [rng.permutation(np.flatnonzero(labels == label)) for label in range(10)]
    first = rng.permutation(10) < 5
    counts = [np.full(10, 60), np.where(first, 60, 6), np.where(first, 6, 60)]
    ends = np.cumsum(counts, axis=0)
    domains = []
    for name, count, end in zip(("even", "first five", "last five"), counts, ends, strict=True):
        rows = np.concatenate([pools[label][end[label] - count[label] : end[label]] for label in range(10)])
        rows = rng.permutation(rows)
        domains.append(Domain(images[rows], labels=labels[rows], name=name))
    return DomainSequence(domains)


def mixed_digits(seed: int) -> DomainSequence:
    """Upright digits of which a growing share is turned by 60 degrees: gradual in number, not in place."""
    from driftfit.datasets.toy import rotated_digits

    upright, turned = rotated_digits((0, 60), seed=seed)
    rng = np.random.default_rng(seed)
    domains = [upright]
    for share in (0.25, 0.5, 0.75, 1.0):
        chosen = rng.random(len(upright)) < share
        samples = np.where(chosen[:, None], turned.samples, upright.samples)
        domains.append(Domain(samples, labels=upright.labels, name=f"{share:.0%} turned"))
    return DomainSequence(domains)


def scenes() -> dict[str, tuple[Any, set[str]]]:
    """Each scene with the verdicts that are right for it."""
    from driftfit.datasets.toy import rotated_digits

    labels, generate, no = "get labels here", "generate domains between these two", "do not adapt"
    return {
        'class proportions jump, classes stay ("dialing ratios")': (dialed_digits, {no, labels}),
        "digits turned to 60 degrees in steps of 5": (
            lambda seed: rotated_digits(tuple(range(0, 61, 5)), seed=seed),
            {"adapt"},
        ),
        "digits turned by 60 degrees at once": (lambda seed: rotated_digits((0, 60), seed=seed), {generate, labels}),
        "a growing share of the digits turned by 60 degrees": (mixed_digits, {no, labels}),
        "digits turned to 60 degrees in steps of 20": (
            lambda seed: rotated_digits((0, 20, 40, 60), seed=seed),
            {generate, labels},
        ),
        "the same digits twice": (lambda seed: rotated_digits((0, 0), seed=seed), {no}),
    }


def verdicts(n_seeds: int, first: int = 0) -> list[dict[str, Any]]:
    """The verdict on each scene, for every seed and two models."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC

    from driftfit.selection import check

    rows = []
    for model in (SVC(), LogisticRegression(max_iter=200)):
        for name, (make, right) in scenes().items():
            for seed in range(first, first + n_seeds):
                advice = check(make(seed), model, seed=seed).advice.value
                about = {"model": type(model).__name__, "path": name, "right advice": ", ".join(sorted(right))}
                rows.append({**about, "seed": seed, "advice": advice, "right": advice in right})
                print(rows[-1], flush=True)
    return rows


def paths(seed: int) -> list[tuple[str, DomainSequence, Any]]:
    """The demo's paths and small versions of Rotated MNIST, Cover Type and Portraits, each with a classifier."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC

    from driftfit.datasets import covtype, portraits, rotated_mnist
    from driftfit.datasets.toy import moving_gaussians, rotated_digits, rotating_moons

    linear = LogisticRegression(max_iter=300, C=0.05)
    found = [
        ("demo digits", rotated_digits((0, 20, 40, 60), seed=seed), SVC()),
        ("demo moons", rotating_moons((0, 30, 60, 90), seed=seed), SVC()),
        ("demo Gaussians", moving_gaussians((0, 1, 2, 3), seed=seed), LogisticRegression()),
    ]
    for n_given in (2, 4):
        found.append(
            (f"Rotated MNIST, {n_given} given", _flat(rotated_mnist(n_given, n_samples=2_000, seed=seed)), linear)
        )
        found.append((f"Cover Type, {n_given} given", covtype(n_given, n_samples=2_000, seed=seed), linear))
    found.append(("Portraits, 4 given", _flat(portraits(4, n_samples=1_000, seed=seed)), linear))
    return found


def accuracy(n_seeds: int, first: int = 0) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Estimates against the truth on every domain after the source, before and after adaptation; and the gate."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    from driftfit.selection import PathView, assess

    warnings.simplefilter("ignore", ConvergenceWarning)
    rows: list[dict[str, Any]] = []
    gate = []
    for seed in range(first, first + n_seeds):
        for name, sequence, model in paths(seed):
            view = PathView.of(sequence, model, seed)
            found = estimates(view, sequence)
            rows += [{"path": name, "seed": seed, **row} for row in found]
            last = len(sequence) - 1
            decision = assess(view, view.learner, view.students[last])
            source, adapted = (row["truth"] for row in found if row["domain"] == last)
            by_estimates = source if decision.after.value < decision.before.value else adapted
            kept = source if decision.keep_source else adapted
            about = {"path": name, "seed": seed, "source": source, "adapted": adapted}
            gate.append({**about, "by estimates": by_estimates, "kept": kept, "decision": decision.sentence})
            print(gate[-1], flush=True)
    return rows, gate


def estimates(view: Any, sequence: DomainSequence) -> list[dict[str, Any]]:
    """Every estimator on every domain after the source: what it misses, in points, and whether its interval holds."""
    from driftfit.selection import Agreement, CarriedAgreement, CarriedOrAgreement, ThresholdedConfidence

    estimators = {
        "confidence": ThresholdedConfidence(),
        "agreement": Agreement(),
        "carried": CarriedAgreement(),
        "carried or agreement": CarriedOrAgreement(),
    }
    prepared = {key: estimator.prepare(view) for key, estimator in estimators.items()}
    rows = []
    for number in range(1, len(sequence)):
        for adapted, learner in ((False, view.learner), (True, view.students[number])):
            predicted = view.learner.classes[learner.logits(sequence[number].samples).argmax(axis=1)]
            truth = float(np.mean(predicted == sequence[number].labels))
            row = {"domain": number, "adapted": adapted, "truth": round(100 * truth, 2)}
            for key, estimator in prepared.items():
                guess = estimator.estimate(learner, number, adapted=adapted)
                row |= {key: round(100 * abs(guess.value - truth), 2)}
                row |= {f"{key}: inside": guess.low <= truth <= guess.high, f"{key}: refused": not guess.estimable}
            rows.append(row)
    return rows


def _flat(sequence: DomainSequence) -> DomainSequence:
    return DomainSequence(
        Domain(domain.samples.reshape(len(domain), -1), labels=domain.labels, name=domain.name) for domain in sequence
    )


CASES = ("no shift", "overlap", "proportions", "means", "rotation")
LENGTHS, SIZES = (1, 2, 5, 20), (200, 1_000)


def drifting(case: str, n_steps: int, n: int, seed: int) -> DomainSequence:
    """Two classes in the plane that stay, overlap and stay, change their proportions, move or turn; fresh samples each.

    Proportions go from a half to a quarter, means by three spreads, turns by 60 degrees, evenly over the steps.
    """
    rng = np.random.default_rng([CASES.index(case), n_steps, n, seed])
    domains = []
    for number in range(n_steps + 1):
        way = number / n_steps
        labels = (rng.random(n) < (0.5 - 0.25 * way * (case == "proportions"))).astype(int)
        gap = 1.0 if case == "overlap" else 3.0
        x = (1.0 if case == "overlap" else 0.5) * rng.normal(size=(n, 2)) + np.outer(gap * (labels - 0.5), [1.0, 0.0])
        if case == "means":
            x += 1.5 * way * np.array([0.6, 0.8])
        if case == "rotation":
            turn = np.deg2rad(60.0 * way)
            x = x @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
        domains.append(Domain(x, labels=labels, name=str(number)))
    return DomainSequence(domains)


def one_path(case: str, n_steps: int, n: int, seed: int) -> dict[str, Any]:
    """Verdict and estimate for the source model on the target of one drawn path, and the truth."""
    from sklearn.linear_model import LogisticRegression

    from driftfit.selection import CarriedOrAgreement, PathView
    from driftfit.selection.checking import diagnose
    from driftfit.selection.same_law import same_laws

    sequence = drifting(case, n_steps, n, seed)
    view = PathView.of(sequence, LogisticRegression(), seed)
    # Where every domain passes the tests the verdict is not to adapt, and the rest need not be computed.
    calm = all(law.classes_stay for law in same_laws(view))
    advice = "do not adapt" if calm else diagnose(view).advice.value
    guess = CarriedOrAgreement().prepare(view).estimate(view.learner, n_steps, adapted=False)
    predicted = view.learner.classes[view.predicted(view.learner, n_steps)]
    truth = float(np.mean(predicted == sequence.target.labels))
    return {
        "advice": advice,
        "value": guess.value,
        "low": guess.low,
        "high": guess.high,
        "reliable": guess.reliable,
        "method": guess.method,
        "truth": truth,
    }


def calibration(
    n_seeds: int, first: int, cells: Iterable[tuple[str, int, int]], minutes: float, drawn: Path | None = None
) -> dict[str, Any]:
    """False alarms of the verdict and coverage of the estimates, over drawn paths: (case, T, n) of each cell.

    ``drawn`` keeps every path as a line of JSON; what is there already is not drawn again.
    """
    import warnings

    from threadpoolctl import threadpool_limits

    warnings.simplefilter("ignore")
    lines = drawn.read_text().splitlines() if drawn is not None and drawn.exists() else []
    known = {(run["case"], run["T"], run["n"], run["seed"]): run for run in map(json.loads, lines)}
    table: dict[str, Any] = {}
    started = time.perf_counter()
    for case, n_steps, n in cells:
        runs = []
        with threadpool_limits(limits=1):
            for seed in range(first, first + n_seeds):
                run = known.get((case, n_steps, n, seed))
                if run is None and time.perf_counter() - started <= 60.0 * minutes:
                    found = one_path(case, n_steps, n, seed)
                    run = {"case": case, "T": n_steps, "n": n, "seed": seed, **found}
                    if drawn is not None:
                        with drawn.open("a") as file:
                            file.write(json.dumps(run) + "\n")
                runs += [] if run is None else [run]
        if runs:
            name = f"{case}, T = {n_steps}, n = {n}"
            table[name] = {"case": case, "T": n_steps, "n": n, **calibrated(runs)}
            print(f"{time.perf_counter() - started:6.0f} s  {name}: {table[name]}", flush=True)
    return table


def calibrated(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Shares of the advice, of intervals that hold the truth, and of estimates that call themselves reliable."""
    covered = np.array([run["low"] <= run["truth"] <= run["high"] for run in runs])
    reliable = np.array([run["reliable"] for run in runs])
    said = collections.Counter(run["advice"] for run in runs)
    return {
        "runs": len(runs),
        "advice": dict(said),
        "not 'do not adapt'": round(1.0 - said["do not adapt"] / len(runs), 3),
        "covered": round(float(covered.mean()), 3),
        "reliable": round(float(reliable.mean()), 3),
        "covered where reliable": round(float(covered[reliable].mean()), 3) if reliable.any() else None,
        "mean width": round(float(np.mean([run["high"] - run["low"] for run in runs])), 3),
        "bias": round(float(np.mean([run["value"] - run["truth"] for run in runs])), 3),
    }


def share_text(share: float, n: int) -> str:
    """A share in percent with the 95 % interval of Clopper and Pearson."""
    from scipy.stats import binomtest

    ends = binomtest(round(share * n), n).proportion_ci(0.95, "exact")
    return f"{100 * share:.1f} % ({100 * ends.low:.1f} - {100 * ends.high:.1f})"


def calibration_text(table: dict[str, Any]) -> str:
    """The table in Markdown."""
    lines = [
        "| case | T | n | paths | said to move | truth in interval | called reliable | of these covered | mean width |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    order = {case: place for place, case in enumerate(CASES)}
    for row in sorted(table.values(), key=lambda row: (order[row["case"]], row["n"], row["T"])):
        n, sure = row["runs"], row["covered where reliable"]
        lines.append(
            f"| {row['case']} | {row['T']} | {row['n']:,} | {n} | {share_text(row[NOT_CALM], n)} | "
            f"{share_text(row['covered'], n)} | {100 * row['reliable']:.0f} % | "
            f"{'-' if sure is None else f'{100 * sure:.1f} %'} | {row['mean width']:.2f} |"
        )
    return "\n".join(lines) + "\n"


NOT_CALM = "not 'do not adapt'"


def ring(angle: float, seed: int, n: int = 300) -> tuple[Any, Any]:
    """Three classes at 0, 120 and 240 degrees, turned by an angle."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    turn = np.deg2rad(120.0 * labels + angle)
    return 4.0 * np.stack([np.cos(turn), np.sin(turn)], axis=1) + 0.3 * rng.normal(size=(n, 2)), labels


def pictures(folder: Path) -> None:
    """The ring whose two readings nothing can tell apart, and the terms of a bound on the demo's path."""
    from matplotlib.figure import Figure

    from driftfit.lab.demo import SCENES
    from driftfit.methods import GOAT
    from driftfit.selection import SourceCrossing, error_certificate

    figure = Figure(figsize=(10.0, 2.7), layout="constrained")
    colours = np.array(["#4477aa", "#ee6677", "#228833"])
    source, labels = ring(0, 0)
    target, turned = ring(80, 1)
    panels = (
        ("source", source, colours[labels]),
        ("target, as it is seen", target, "0.5"),
        ("its classes, if it turned by 80 degrees", target, colours[turned]),
        ("its classes, if it turned back by 40", target, colours[(turned + 1) % 3]),
    )
    for axes, (title, points, colour) in zip(figure.subplots(1, 4), panels, strict=True):
        axes.scatter(*points.T, s=4, c=colour)
        axes.set(xticks=[], yticks=[], aspect="equal", xlim=(-5.5, 5.5), ylim=(-5.5, 5.5))
        axes.set_title(title, fontsize=9)
    figure.savefig(folder / "symmetric-ring.png", dpi=130)

    scene = SCENES["gaussians"]
    sequence = scene.make(seed=0)
    started = time.perf_counter()
    found = error_certificate(
        sequence, scene.make_classifier(), crossing=SourceCrossing(), method=GOAT(n_generated=scene.n_generated)
    )
    rows = found.rows[-1]
    answers = found.adapted.classes[found.adapted.logits(sequence.target.samples[rows]).argmax(axis=1)]
    truth = float(np.mean(answers != sequence.target.labels[rows]))
    print(found.bound, f"true error {truth:.3f}, {time.perf_counter() - started:.1f} s", sep="\n")
    found.bound.plot(truth=truth).figure.savefig(folder / "error-bound.png", dpi=130)


def yearbook(n_domains: int, seed: int) -> DomainSequence:
    """The first so many of six windows of the Portraits, 1905 to 1973; 1,000 pictures each."""
    from driftfit.datasets import portraits

    return DomainSequence(list(_flat(portraits(4, n_samples=1_000, seed=seed)))[:n_domains])


def bounds(n_seeds: int, first: int, folder: Path) -> dict[str, Any]:
    """Bounds on the target error along real paths, against the truth; the first of each is drawn."""
    from itertools import pairwise

    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    from driftfit.selection import LabelledPoints, SourceCrossing, error_certificate
    from driftfit.selection.moves import Moves
    from driftfit.selection.view import encoded_rows

    table: dict[str, Any] = {}
    for n_domains, name in ((3, "1905-1951"), (6, "1905-1973")):
        for seed in range(first, first + n_seeds):
            sequence = yearbook(n_domains, seed)
            model = make_pipeline(
                PCA(60, random_state=0), LinearDiscriminantAnalysis(n_components=1), LogisticRegression()
            )
            started = time.perf_counter()
            found = error_certificate(sequence, model, crossing=SourceCrossing(), seed=seed)
            seconds = time.perf_counter() - started
            rows = found.rows[-1]
            answers = found.adapted.classes[found.adapted.logits(sequence.target.samples[rows]).argmax(axis=1)]
            truth = float(np.mean(answers != sequence.target.labels[rows]))
            points = [
                LabelledPoints(encoded_rows(found.source, domain.samples[own]), domain.labels[own])
                for domain, own in zip(sequence, found.rows, strict=True)
            ]
            crossing = [round(Moves.between(a, b).crossing, 3) for a, b in pairwise(points)]
            table[f"{name}, seed {seed}"] = {
                "bound": round(found.bound.total, 3),
                "terms": {key: round(value, 3) for key, value in found.bound.terms.items()},
                "true error": round(truth, 3),
                "assumed crossing": round(found.crossing, 3),
                "true crossing": crossing,
                "seconds": round(seconds, 1),
            }
            print(name, seed, table[f"{name}, seed {seed}"], flush=True)
            if seed == first:
                picture = folder / f"error-bound-portraits-{n_domains - 1}-steps.png"
                found.bound.plot(truth=truth).figure.savefig(picture, dpi=130)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["verdicts", "accuracy", "calibration", "pictures", "bounds"])
    parser.add_argument("--results", help="folder for trust-calibration.json and .md")
    parser.add_argument("--drawn", type=Path, help="file of drawn paths, to go on from where a run was stopped")
    parser.add_argument("--minutes", type=float, default=60.0, help="calibration stops drawing after so long")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--json", dest="target")
    parser.add_argument("--cases", nargs="+", choices=CASES)
    parser.add_argument("--lengths", nargs="+", type=int)
    parser.add_argument("--sizes", nargs="+", type=int)
    arguments = parser.parse_args()
    if arguments.table == "pictures":
        return pictures(Path("docs/images"))
    if arguments.table == "bounds":
        result = bounds(arguments.seeds or 5, arguments.first_seed, Path("docs/images"))
    elif arguments.table == "calibration":
        cells = [
            (case, t, n)
            for n in arguments.sizes or SIZES
            for t in arguments.lengths or LENGTHS
            for case in arguments.cases or CASES
        ]
        result = calibration(arguments.seeds or 200, arguments.first_seed, cells, arguments.minutes, arguments.drawn)
        if arguments.results:
            folder = Path(arguments.results)
            known = folder / "trust-calibration.json"
            # What was measured before and not now stays.
            result = {**(json.loads(known.read_text()) if known.exists() else {}), **result}
            known.write_text(json.dumps(result, indent=2) + "\n")
            (folder / "trust-calibration.md").write_text(calibration_text(result))
    else:
        return recorded(arguments)
    if arguments.target:
        with open(arguments.target, "w") as file:
            json.dump(result, file, indent=2)
    sys.stdout.flush()


def recorded(arguments: argparse.Namespace) -> None:
    """Verdicts or estimates of accuracy, into a file where one is named."""
    n_seeds = arguments.seeds or (20 if arguments.table == "verdicts" else 3)
    others: dict[str, Any] = {}
    if arguments.table == "verdicts":
        rows = verdicts(n_seeds, arguments.first_seed)
    else:
        rows, others["gate"] = accuracy(n_seeds, arguments.first_seed)
    if arguments.target:
        seeds = range(arguments.first_seed, arguments.first_seed + n_seeds)
        write_record(Path(arguments.target), rows, seeds, **others)


if __name__ == "__main__":
    main()
