"""Each bound in 1,000 random worlds where the true errors are known, and broken copies of it that must be caught.

A world is a chain of domains with two classes; each class is a Gaussian that is moved from domain to
domain, so that all Wasserstein distances are the lengths of the moves, and the errors of linear models
are closed forms. `violations` counts the draws in which a bound fails: it must be zero for the bound as
published (never more than the share ``delta`` it allows itself) and more than ``delta`` for a
copy of the bound with a piece taken out.
"""

from dataclasses import dataclass
from functools import cache
from math import sqrt

import numpy as np
import pytest
from scipy.special import ndtr

from driftfit import theory

DRAWS = 1000
DELTA = 0.05


def violations(worlds, truth, bound):
    """In how many worlds the truth exceeds the bound."""
    return sum(truth(world) > bound(world) + 1e-9 for world in worlds)


def assert_holds(worlds, truth, bound):
    assert len(worlds) == DRAWS
    assert violations(worlds, truth, bound) == 0


def assert_caught(worlds, truth, broken):
    assert violations(worlds, truth, broken) > DELTA * len(worlds)


# Closed forms -----------------------------------------------------------------------------------


def density(u):
    return np.exp(-0.5 * u * u) / sqrt(2 * np.pi)


def clipped_loss(mean, spread, rho, largest):
    """E min(M, rho |Z|) for Z ~ N(mean, spread^2)."""
    k = largest / rho
    a, zero, b = (-k - mean) / spread, -mean / spread, (k - mean) / spread
    upper = mean * (ndtr(b) - ndtr(zero)) + spread * (density(zero) - density(b))
    lower = mean * (ndtr(zero) - ndtr(a)) + spread * (density(a) - density(zero))
    return rho * (upper - lower + k * (ndtr(a) + ndtr(-b)))


def ramp_loss(mean, spread):
    """E min(1, max(0, 1 - Z)) for a margin Z ~ N(mean, spread^2)."""
    a, b = -mean / spread, (1 - mean) / spread
    middle = (1 - mean) * (ndtr(b) - ndtr(a)) - spread * (density(a) - density(b))
    return ndtr(a) + middle


def test_closed_forms_match_a_large_sample():
    z = np.random.default_rng(0).normal(0.4, 0.7, 2_000_000)
    assert clipped_loss(0.4, 0.7, 0.5, 0.3) == pytest.approx(np.minimum(0.3, 0.5 * np.abs(z)).mean(), abs=1e-3)
    assert ramp_loss(0.4, 0.7) == pytest.approx(np.clip(1 - z, 0, 1).mean(), abs=1e-3)


# Worlds -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """Domains of two Gaussian classes, labels -1 and 1 with equal odds, spread isotropic and constant."""

    means: np.ndarray  # (domains, 2, d): class means
    spread: float
    n: int
    model: np.ndarray  # weights of the source model
    radius: float  # R
    rho: float
    students: tuple  # weights of the model after each domain, the source model first

    @property
    def shifts(self):
        """All samples of a step move by one vector: its length is W_p for every p."""
        return np.linalg.norm(self.means[1:, 0] - self.means[:-1, 0], axis=1)

    @property
    def data_norm(self):
        square = (self.means**2).sum(axis=2).mean(axis=1).max() + self.means.shape[2] * self.spread**2
        return sqrt(square)

    def errors(self, weights):
        """E min(1, rho |w x - y|), rho-Lipschitz in both arguments and at most 1, of each model on each domain."""
        reach = np.maximum(np.linalg.norm(weights, axis=1) * self.spread, 1e-12)
        misses = np.einsum("tcd,kd->ktc", self.means, weights) - np.array([-1.0, 1.0])
        return clipped_loss(misses, reach[:, None, None], self.rho, 1.0).mean(axis=2)

    def error(self, weights, domain):
        return float(self.errors(weights[None])[0, domain])

    def sample(self, rng, domain):
        labels = rng.integers(0, 2, self.n)
        return self.means[domain, labels] + self.spread * rng.normal(size=(self.n, self.means.shape[2]))


def draw_world(seed, *, few_samples=False, largest_steps=6):
    """A random world, its source model of norm R, and the chain of self-trained students.

    With few samples (fewer than features) many models reproduce the teacher's answers and the student is
    the shortest of them; otherwise the only empirical minimiser is the teacher itself, for any
    ``n`` of at least the number of features, so a huge ``n`` need not be drawn.
    """
    rng = np.random.default_rng(seed)
    d = 40 if few_samples else int(rng.integers(1, 4))
    n = int(rng.integers(2, 20)) if few_samples else 10 ** int(rng.integers(6, 13))
    n_steps = int(rng.integers(1, largest_steps + 1))
    radius = float(rng.choice([0.3, 1.0, 3.0, 10.0]))
    rho = float(rng.choice([0.1, 0.5]))
    spread = float(rng.choice([0.01, 0.1, 0.5]))
    weights = rng.normal(size=d)
    weights *= radius / np.linalg.norm(weights)
    centre = weights / radius**2  # the point of this class is answered exactly
    start = np.stack([-centre, centre])
    # Half of the worlds move along the model's own direction, the worst case; sizes vary from step to step.
    direction = weights / radius if rng.random() < 0.5 else rng.normal(size=d)
    direction = direction / np.linalg.norm(direction)
    moves = rng.uniform(0, (0.02 if few_samples else 0.6) / radius, n_steps)[:, None] * direction
    means = start + np.concatenate([np.zeros((1, d)), np.cumsum(moves, axis=0)])[:, None, :]
    world = World(means, spread, n, weights, radius, rho, ())
    students = [weights]
    for domain in range(1, n_steps + 1):
        students.append(self_train(world, students[-1], rng, domain) if few_samples else students[-1])
    return World(means, spread, n, weights, radius, rho, tuple(students))


def self_train(world, teacher, rng, domain):
    """The shortest model that answers as the teacher on every sample: a minimiser of the empirical loss."""
    x = world.sample(rng, domain)
    basis = np.linalg.qr(x.T)[0]
    return basis @ (basis.T @ teacher)


@cache
def worlds(few_samples=False):
    return [draw_world(seed, few_samples=few_samples) for seed in range(DRAWS)]


def models_of(world):
    return theory.LinearModels(world.radius, world.data_norm)


def assumptions(world):
    return theory.Assumptions(
        loss_lipschitz=world.rho, model_lipschitz=world.radius, model_complexity=models_of(world).complexity
    )


# Error difference -------------------------------------------------------------------------------


def difference(world):
    return abs(world.error(world.model, 1) - world.error(world.model, 0))


def test_error_difference_on_moving_gaussians():
    assert_holds(worlds(), difference, lambda w: theory.error_difference(w.shifts[0], assumptions(w)).total)
    assert_caught(worlds(), difference, lambda w: w.rho * w.shifts[0])  # the slope of the model forgotten


def discrete_pair(seed):
    """Two small labelled clouds, labels real numbers: the joint distance by linear programming."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 12)), int(rng.integers(1, 4))
    weights = rng.normal(size=d) * float(rng.choice([0.1, 1.0, 5.0]))
    x0, y0 = rng.normal(size=(n, d)), rng.normal(size=n)
    # Samples and labels move against each other, so that both parts of sqrt(R^2 + 1) are needed.
    slope = np.linalg.norm(weights)
    step = rng.uniform(0, 1) * np.append(weights / slope * slope, -1.0) / sqrt(slope**2 + 1)
    x1, y1 = x0 + step[:-1] + 0.01 * rng.normal(size=(n, d)), y0 + step[-1]
    joint0, joint1 = np.column_stack([x0, y0]), np.column_stack([x1, y1])
    costs = cdist(joint0, joint1)
    rows, cols = linear_sum_assignment(costs)
    loss0 = np.abs(x0 @ weights - y0 + 9.0)
    loss1 = np.abs(x1 @ weights - y1 + 9.0)
    return abs(loss0.mean() - loss1.mean()), float(costs[rows, cols].mean()), float(slope)


def test_error_difference_on_labelled_clouds_with_moving_labels():
    pairs = [discrete_pair(seed) for seed in range(DRAWS)]
    truth = lambda pair: pair[0]  # noqa: E731
    assert_holds(
        pairs, truth, lambda pair: theory.error_difference(pair[1], theory.Assumptions(model_lipschitz=pair[2])).total
    )
    assert_caught(pairs, truth, lambda pair: pair[1] * max(pair[2], 1.0))
    assert_caught(pairs, truth, lambda pair: 0.99 * pair[1] * sqrt(pair[2] ** 2 + 1))


# Self-training ----------------------------------------------------------------------------------


def step_difference(world):
    return abs(world.error(world.students[1], 1) - world.error(world.students[0], 0))


def stability(world):
    return theory.self_training_stability(world.shifts[0], world.n, assumptions(world), delta=DELTA)


@pytest.mark.parametrize("few_samples", [False, True])
def test_stability_of_self_training(few_samples):
    assert_holds(worlds(few_samples), step_difference, lambda w: stability(w).total)


def test_stability_without_a_term_is_caught():
    assert_caught(worlds(), step_difference, lambda w: stability(w).total - stability(w)["shift"])
    assert_caught(worlds(few_samples=True), step_difference, lambda w: stability(w)["shift"])


def final_error(world):
    return world.error(world.students[-1], len(world.means) - 1)


def naive(world):
    return theory.naive_bound(world.error(world.model, 0), world.shifts, world.n, assumptions(world), delta=DELTA)


@pytest.mark.parametrize("few_samples", [False, True])
def test_naive_bound(few_samples):
    assert_holds(worlds(few_samples), final_error, lambda w: naive(w).total)


def test_naive_bound_without_a_term_is_caught():
    assert_caught(worlds(), final_error, lambda w: naive(w).total - naive(w)["source error"])
    assert_caught(worlds(), final_error, lambda w: naive(w).total - naive(w)["shift"])
    # One step's shift in place of the path's.
    assert_caught(
        worlds(), final_error, lambda w: naive(w).total - naive(w)["shift"] * (1 - w.shifts[0] / w.shifts.sum())
    )
    assert_caught(worlds(few_samples=True), final_error, lambda w: naive(w)["source error"] + naive(w)["shift"])


# The bound of Kumar et al. ------------------------------------------------------------------------


@dataclass(frozen=True)
class RampChain:
    """Ramp losses of hard self-training with a finite class of linear models of norm at most R."""

    losses: tuple  # of each student on its own domain
    best: float  # smallest loss of the class on any later domain
    shifts: tuple  # largest move of a class, per step: W_inf
    n: int
    radius: float
    data_norm: float


def follow(losses, draw, models, n_steps, current):
    """Hard self-training over a finite class: the exact minimiser of the empirical ramp loss at every step."""
    chain = [float(losses(0)[current])]
    for domain in range(1, n_steps + 1):
        x, counts = draw(domain)
        outputs = x @ models.T
        pseudo = np.where(outputs[:, current] >= 0, 1.0, -1.0)
        current = int(np.argmin(counts @ np.clip(1 - pseudo[:, None] * outputs, 0, 1)))
        chain.append(float(losses(domain)[current]))
    best = max(float(losses(domain).min()) for domain in range(1, n_steps + 1))
    return tuple(chain), best


def circle(size, turn=0.0):
    angles = turn + np.linspace(0, 2 * np.pi, size, endpoint=False)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def draw_gaussian_chain(seed):
    """Two Gaussian classes that move on their own, a few hundred samples."""
    rng = np.random.default_rng(seed)
    radius = float(rng.choice([0.5, 2.0]))
    n, n_steps = int(rng.integers(3, 300)), int(rng.integers(1, 4))
    spread = float(rng.uniform(0.05, 0.5)) / radius
    models = np.concatenate([radius * circle(60), 0.5 * radius * circle(60)])
    # Each class sits where some model has margin one or a bit more.
    centre = circle(60)[rng.integers(60)] * rng.uniform(1.0, 1.6) / radius
    moves = rng.normal(size=(n_steps, 2, 2))
    moves *= (rng.uniform(0.3, 0.95, (n_steps, 2)) / radius / np.linalg.norm(moves, axis=2))[:, :, None]
    means = np.stack([-centre, centre]) + np.concatenate([np.zeros((1, 2, 2)), np.cumsum(moves, axis=0)])

    def losses(domain):
        margins = (means[domain] @ models.T) * np.array([[-1.0], [1.0]])
        return ramp_loss(margins, np.linalg.norm(models, axis=1) * spread).mean(axis=0)

    def draw(domain):
        return means[domain, rng.integers(0, 2, n)] + spread * rng.normal(size=(n, 2)), np.full(n, 1 / n)

    chain, best = follow(losses, draw, models, n_steps, int(np.argmin(losses(0))))
    square = (means**2).sum(axis=2).mean(axis=1).max() + 2 * spread**2
    shifts = np.linalg.norm(moves, axis=2).max(axis=1)
    return RampChain(chain, best, tuple(shifts), n, radius, sqrt(square))


def kumar_constants(chain):
    return {"delta": DELTA, "models": theory.LinearModels(chain.radius, chain.data_norm)}


def one_step(chain):
    return theory.kumar_step(chain.losses[0], chain.shifts[0], chain.n, best_error=chain.best, **kumar_constants(chain))


def test_kumar_bounds():
    # That the factor and the sampling terms are needed: see test_binding_terms.
    sample = [draw_gaussian_chain(seed) for seed in range(DRAWS)]
    assert_holds(sample, lambda c: c.losses[1], lambda c: one_step(c).total)
    assert_holds(
        sample,
        lambda c: c.losses[-1],
        lambda c: theory.kumar_path(c.losses[0], c.shifts, c.n, best_error=c.best, **kumar_constants(c)).total,
    )
    # The corollary starts from a source error that is no smaller than the best one on later domains.
    assert_holds(
        sample,
        lambda c: c.losses[-1],
        lambda c: (
            theory.kumar_exponential(
                max(c.losses[0], c.best), max(c.shifts), len(c.shifts), c.n, best_error=c.best, **kumar_constants(c)
            ).total
        ),
    )


# Discrepancy ------------------------------------------------------------------------------------


@cache
def discrepancies():
    """(true discrepancy over a finite class, weights, world), with random weights in every draw."""
    cases = []
    for seed, world in enumerate(worlds()):
        rng = np.random.default_rng([7, seed])
        size, d = len(world.means), world.means.shape[2]
        directions = np.concatenate([rng.normal(size=(30, d)), world.model[None], -world.model[None]])
        directions *= world.radius / np.linalg.norm(directions, axis=1, keepdims=True)
        weights = rng.dirichlet(np.full(size, 0.5)) if seed % 2 else np.full(size, 1 / size)
        cases.append((theory.discrepancy(world.errors(directions), weights), weights, world))
    return cases


def test_discrepancy_bound():
    truth = lambda case: case[0]  # noqa: E731
    bound = lambda case: theory.discrepancy_bound(case[2].shifts, case[1], assumptions(case[2])).total  # noqa: E731
    assert_holds(discrepancies(), truth, bound)
    assert_caught(discrepancies(), truth, lambda case: 0.2 * bound(case))
    # Distances counted from the source and not to the last domain.
    assert_caught(discrepancies(), truth, lambda case: bound((case[0], case[1][::-1], case[2])) * 0.5)


def test_average_shift_is_not_enough_when_the_last_step_is_the_largest():
    # Points on a line, loss |x| with rho = R = 1 and labels 0: the errors are the positions.
    positions = np.array([0.0, 0.0, 0.0, 1.0])
    true = theory.discrepancy(positions[None])
    per_step = theory.discrepancy_bound(np.diff(positions)).total
    average = theory.discrepancy_bound(np.full(3, 1 / 3)).total
    assert average < true <= per_step


# Sequential Rademacher complexity ---------------------------------------------------------------


def signs(t):
    return 1 - 2 * ((np.arange(2**t)[:, None] >> np.arange(t)) & 1)


def random_tree(seed, t, d):
    """Unit vectors, one per node: the sample at depth tau depends on the first tau signs."""
    rng = np.random.default_rng(seed)
    paths = signs(t)
    samples = np.zeros((2**t, t, d))
    for tau in range(t):
        node = paths[:, :tau] @ (1 << np.arange(tau)) if tau else np.zeros(2**t, dtype=int)
        _, node = np.unique(node, return_inverse=True)
        vectors = rng.normal(size=(node.max() + 1, d))
        samples[:, tau] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True))[node]
    return paths, samples


def orthogonal_tree(t):
    """In the plane, the next sample is always at a right angle to the signed sum so far."""
    paths = signs(t)
    samples = np.zeros((2**t, t, 2))
    total = np.zeros((2**t, 2))
    for tau in range(t):
        length = np.linalg.norm(total, axis=1, keepdims=True)
        turned = np.stack([-total[:, 1], total[:, 0]], axis=1) / np.maximum(length, 1e-12)
        samples[:, tau] = np.where(length > 0, turned, [1.0, 0.0])
        total = total + paths[:, tau, None] * samples[:, tau]
    return paths, samples


def linear_complexity_of(tree, radius):
    paths, samples = tree
    t = paths.shape[1]
    return radius * np.linalg.norm((paths[:, :, None] * samples).sum(axis=1), axis=1).mean() / t


def neuron_complexity_of(tree, radius):
    """Two layers: all nets of ReLU neurons with weights of total length R, whose best choice is a single neuron."""
    paths, samples = tree
    t = paths.shape[1]
    angles = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    neurons = np.stack([np.cos(angles), np.sin(angles)])
    sums = (paths[:, :, None] * np.maximum(samples @ neurons, 0)).sum(axis=1)
    return radius * np.abs(sums).max(axis=1).mean() / t


@cache
def trees():
    rng = np.random.default_rng(0)
    random = [random_tree(seed, int(rng.integers(1, 9)), 2) for seed in range(DRAWS - 8)]
    return [*random, *(orthogonal_tree(t) for t in range(1, 9))]


def test_sequential_complexity_of_linear_models():
    bound = lambda tree: theory.linear_sequential_rademacher(tree[0].shape[1], theory.LinearModels(2.0)).total  # noqa: E731
    truth = lambda tree: linear_complexity_of(tree, 2.0)  # noqa: E731
    assert_holds(trees(), truth, bound)
    for tree in trees()[-8:]:
        assert truth(tree) == pytest.approx(bound(tree))
    assert_caught(trees(), truth, lambda tree: 2.0 / tree[0].shape[1])  # t in place of its square root


def test_sequential_complexity_of_networks():
    # Two layers of norms 1 and 2 with one neuron: three parameters in the plane.
    networks = theory.NormBoundedNetworks((1.0, 2.0), 3)
    bound = lambda tree: theory.network_sequential_rademacher(tree[0].shape[1], networks).total  # noqa: E731
    truth = lambda tree: neuron_complexity_of(tree, 2.0)  # noqa: E731
    assert_holds(trees(), truth, bound)
    assert_caught(trees(), truth, lambda tree: 2.0 / tree[0].shape[1])


def test_sequential_complexity_of_a_loss():
    # The loss |h| of single neurons: 1-Lipschitz.
    def truth(tree):
        paths, samples = tree
        angles = np.linspace(0, np.pi, 48, endpoint=False)
        outputs = np.abs(samples @ np.stack([np.cos(angles), np.sin(angles)]))
        return (paths[:, :, None] * outputs).sum(axis=1).max(axis=1).mean() / paths.shape[1]

    def bound(tree):
        own = linear_complexity_of(tree, 1.0)
        return theory.loss_sequential_rademacher(own, tree[0].shape[1]).total

    assert_holds(trees(), truth, bound)
    assert_caught(trees(), truth, lambda tree: bound(tree) / 20)


# Generalisation bound ---------------------------------------------------------------------------


@dataclass(frozen=True)
class PointWorld:
    """Two classes of two points each: samples of bounded norm, which complexities over all trees ask for."""

    points: np.ndarray  # (domains, 2, 2, d): class, point
    shifts: np.ndarray
    n: int
    model: np.ndarray
    radius: float
    rho: float

    @property
    def largest_norm(self):
        return float(np.linalg.norm(self.points, axis=-1).max())

    def errors(self, model):
        """Of a model on each domain."""
        misses = self.points @ model - np.array([-1.0, 1.0])[:, None]
        return np.minimum(1.0, self.rho * np.abs(misses)).mean(axis=(1, 2))


@cache
def point_worlds():
    """The worlds above with two points a spread apart in place of each Gaussian; the student is its teacher."""
    made = []
    for world in worlds():
        across = np.zeros(world.means.shape[2])
        across[0] = world.spread
        points = world.means[:, :, None, :] + np.stack([-across, across])
        made.append(PointWorld(points, world.shifts, world.n, world.model, world.radius, world.rho))
    return made


def bounded(world):
    return theory.LinearModels(world.radius, world.largest_norm)


def bounded_assumptions(world):
    return theory.Assumptions(
        loss_lipschitz=world.rho, model_lipschitz=world.radius, model_complexity=bounded(world).complexity
    )


def target_error(world):
    return float(world.errors(world.model)[-1])


def general(world, weights=None):
    length = world.n * len(world.points)
    own = theory.linear_sequential_rademacher(length, bounded(world)).total
    complexity = theory.loss_sequential_rademacher(own, length, loss_lipschitz=world.rho).total
    path = theory.PathErrors(world.errors(world.model), world.shifts, weights)
    return theory.generalisation_bound(path, world.n, complexity, bounded_assumptions(world), delta=DELTA)


def test_general_generalisation_bound():
    assert_holds(point_worlds(), target_error, lambda w: general(w).total)
    source_only = lambda w: np.eye(len(w.points))[0]  # noqa: E731
    assert_holds(point_worlds(), target_error, lambda w: general(w, source_only(w)).total)


def test_broken_generalisation_bound_is_caught():
    # The other terms cannot be falsified: see test_binding_terms.
    assert_caught(point_worlds(), target_error, lambda w: general(w).total - general(w)["discrepancy"])
    assert_caught(point_worlds(), target_error, lambda w: general(w).total - general(w)["path error"])


def test_the_mean_square_of_a_norm_is_not_its_maximum():
    # What a complexity over all trees asks for: one far sample among ten thousand.
    norms = np.append(np.full(9_999, 0.1), 10.0)
    mean_square, largest = sqrt((norms**2).mean()), norms.max()
    # A tree that shows the far sample at every node.
    complexity = np.abs(signs(8).sum(axis=1)).mean() / 8 * largest
    assert complexity > theory.linear_sequential_rademacher(8, theory.LinearModels(1.0, mean_square)).total
    assert complexity <= theory.linear_sequential_rademacher(8, theory.LinearModels(1.0, largest)).total


def network(world, **changes):
    steps = len(world.shifts)
    derived = theory.NetworkConstants.derived(assumptions(world), sequential=world.data_norm)
    fields = {**vars(derived), **changes}
    return theory.network_bound(
        world.error(world.model, 0),
        world.shifts.max(),
        steps,
        world.n,
        1,
        delta=DELTA,
        constants=theory.NetworkConstants(**fields),
    )


@pytest.mark.parametrize("few_samples", [False, True])
def test_network_form_of_the_generalisation_bound(few_samples):
    assert_holds(worlds(few_samples), final_error, lambda w: network(w).total)


def test_broken_network_form_is_caught():
    huge = [w for w in worlds() if w.n >= 10**12]  # where the sampling terms are small enough to see the others
    assert len(huge) > 100
    assert_caught(huge, final_error, lambda w: network(w, shift=0.0).total)
    assert_caught(huge, final_error, lambda w: network(w).total - network(w)["source error"])
    # One step's shift for the whole path.
    assert_caught(huge, final_error, lambda w: network(w, shift=0.5 * w.rho * w.radius / len(w.shifts)).total)
