"""Numbers for the report: the map of domains, what moved, lines of the plan, confidence, images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftfit.app.job import Result
from driftfit.domains import Domain, DomainSequence, is_tensor, some_rows
from driftfit.methods import top_probability
from driftfit.models import Learner
from driftfit.seeds import derive_seed
from driftfit.transport import Plan, transport, wasserstein

_MAP_SAMPLES = 200
_PLAN_SAMPLES = 1_000
_PLAN_LINES = 300
_MOST_FEATURES = 50


def as_array(domain: Domain) -> NDArray[np.float64]:
    """Samples of a domain, wherever they are, as a table of numbers.

    >>> as_array(Domain([[0.0, 1.0]])).tolist()
    [[0.0, 1.0]]
    """
    samples = domain.matrix()
    return np.asarray(samples.detach().cpu() if is_tensor(samples) else samples, dtype=np.float64)


def domain_distances(domains: list[Domain], seed: int) -> NDArray[np.float64]:
    """Wasserstein-2 distances between all domains, with the distance between two samples of one domain taken out.

    >>> near, far = Domain([[0.0], [1.0], [0.0], [1.0]]), Domain([[5.0], [6.0], [5.0], [6.0]])
    >>> domain_distances([near, far], 0).round(3).tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    most = _MAP_SAMPLES if len(domains) <= 20 else _MAP_SAMPLES // 2
    pairs = [_two_samples(domain, most, derive_seed(seed, "map", number)) for number, domain in enumerate(domains)]
    noise = [wasserstein(one, two) ** 2 for one, two in pairs]
    distances = np.zeros((len(domains), len(domains)))
    for i in range(len(domains)):
        for j in range(i + 1, len(domains)):
            squared = wasserstein(pairs[i][0], pairs[j][1]) ** 2 - 0.5 * (noise[i] + noise[j])
            distances[i, j] = distances[j, i] = np.sqrt(max(squared, 0.0))
    return distances


def flat_map(distances: NDArray[np.float64], n_iterations: int = 200) -> tuple[NDArray[np.float64], float]:
    """Points in the plane whose distances come close to the given ones, and the relative distortion.

    Classical scaling, improved by majorisation (SMACOF). The distortion is the root of the summed squared
    differences over the summed squared distances.

    >>> points, stress = flat_map(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]))
    >>> stress < 1e-6
    True
    """
    n = len(distances)
    centring = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * centring @ np.square(distances) @ centring)
    points = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    if points.shape[1] < 2:
        points = np.column_stack([points, np.zeros(n)])
    for _ in range(n_iterations):
        current = _pairwise(points)
        ratio = np.divide(distances, current, out=np.zeros_like(distances), where=current > 1e-12)
        points = (np.diag(ratio.sum(axis=1)) - ratio) @ points / n
    total = float(np.square(distances).sum())
    stress = float(np.sqrt(np.square(_pairwise(points) - distances).sum() / total)) if total > 0 else 0.0
    # Time runs from left to right.
    if points[0, 0] > points[-1, 0]:
        points[:, 0] *= -1
    return points, stress


def what_moved(sequence: DomainSequence, owners: list[str], seed: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Share of the transport from first to last domain that each column carries, and lines of that plan.

    What a plan between two halves of the source would move, which is sampling noise, is taken out.
    """
    half = max(1, min(_PLAN_SAMPLES, len(sequence.source) // 2))
    one, two = _two_samples(sequence.source, half, derive_seed(seed, "moved", "source"))
    last, _ = _two_samples(sequence.target, half, derive_seed(seed, "moved", "target"))
    plan = transport(one, last)
    moved = _costs(one, last, plan)
    excess = np.maximum(moved - _costs(one, two, transport(one, two)), 0.0)
    carried = excess if excess.sum() > 0 else moved
    shares: dict[str, float] = {}
    for name, cost in zip(owners, carried, strict=True):
        shares[name] = shares.get(name, 0.0) + float(cost)
    total = sum(shares.values())
    ranked = sorted(shares.items(), key=lambda item: -item[1])[:_MOST_FEATURES]
    features = [{"name": name, "share": cost / total if total > 0 else 0.0} for name, cost in ranked]
    return features, _lines(one, last, plan, seed)


def confidence_histogram(source: Learner, kept: Learner, samples: Any) -> dict[str, list[float]]:
    """Share of target samples by the probability of their predicted class, before and after."""
    edges = np.linspace(0.0, 1.0, 21)
    found: dict[str, list[float]] = {"edges": edges.tolist()}
    for name, learner in (("old", source), ("new", kept)):
        top = top_probability(learner.logits(samples))
        found[name] = (np.histogram(top, edges)[0] / len(top)).tolist()
    return found


def _lines(x0: NDArray[np.float64], x1: NDArray[np.float64], plan: Plan, seed: int) -> dict[str, Any]:
    chosen = some_rows(len(plan), _PLAN_LINES, derive_seed(seed, "lines"))
    rows, cols = plan.rows[chosen], plan.cols[chosen]
    both = np.concatenate([x0, x1])
    centred = both - both.mean(axis=0)
    # The Gram matrix is small where features are many.
    small = centred if centred.shape[0] >= centred.shape[1] else centred.T
    _, vectors = np.linalg.eigh(small.T @ small)
    top = vectors[:, ::-1][:, :2]
    if small is not centred:
        scores = centred @ (centred.T @ top)
        lengths = np.linalg.norm(centred.T @ top, axis=0)
        scores = scores / np.where(lengths > 0, lengths, 1.0)
    else:
        scores = centred @ top
    if scores.shape[1] < 2:
        scores = np.column_stack([scores, np.zeros(len(scores))])
    mass = np.asarray(plan.mass)[chosen]
    return {
        "from": scores[: len(x0)][rows].round(6).tolist(),
        "to": scores[len(x0) :][cols].round(6).tolist(),
        "mass": (mass / mass.sum()).tolist(),
    }


def _costs(x0: NDArray[np.float64], x1: NDArray[np.float64], plan: Plan) -> NDArray[np.float64]:
    return np.asarray(plan.mass @ np.square(x0[plan.rows] - x1[plan.cols]))


def _two_samples(domain: Domain, most: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two samples of a domain that share no row where it has enough of them."""
    rng = np.random.default_rng(seed)
    n = len(domain)
    size = min(most, max(1, n // 2))
    if domain.weights is None:
        rows = rng.choice(n, 2 * size, replace=n < 2 * size)
    else:
        rows = rng.choice(n, 2 * size, p=domain.weights)
    samples = as_array(domain)
    return samples[rows[:size]], samples[rows[size:]]


def _pairwise(points: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.norm(points[:, None, :] - points[None, :, :], axis=2))


_TILES = 8


def image_tiles(result: Result) -> dict[str, Any] | None:
    """A few images of each domain on the path; None where samples are not images.

    Generated images are shown where the encoder can be turned back into pixels.
    """
    shape = result.checked.table.image_shape
    if shape is None:
        return None
    front = [step for name, step in getattr(result.source.estimator, "steps", []) if name == "encoder"]
    if front and not hasattr(front[0], "inverse_transform"):
        return _real_tiles(result, shape)
    path = result.path
    places = [(0.0, False, path.source), *((step.position, step.generated, step.domain) for step in path.steps)]
    steps = []
    for position, generated, domain in places:
        samples = as_array(domain.take(np.arange(min(_TILES, len(domain)))))
        pixels = front[0].inverse_transform(samples) if front else samples
        steps.append({"position": position, "generated": generated, "tiles": _grey(pixels)})
    return {"shape": list(shape), "steps": steps}


def _real_tiles(result: Result, shape: tuple[int, int]) -> dict[str, Any]:
    sequence = result.checked.prepared.training
    steps = [
        {"position": number / (len(sequence) - 1), "generated": False, "tiles": _grey(domain.samples[:_TILES])}
        for number, domain in enumerate(sequence)
    ]
    return {"shape": list(shape), "steps": steps}


def _grey(pixels: Any) -> list[list[float]]:
    return [np.clip(row, 0.0, 1.0).round(3).tolist() for row in np.asarray(pixels)]
