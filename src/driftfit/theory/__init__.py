"""The theory of gradual self-training as working functions: numbers in, bounds with named terms out.

Every function cites the statement it computes. Shifts of a sequence of domains are measured by
`driftfit.transport.measure_path`. Some arguments mean the same everywhere: ``n_samples`` (``n``) samples of each
domain, ``n_steps`` (``T``) steps, a bound that holds with probability at least ``1 - delta``, `Assumptions` with the
constants ``rho``, ``R``, ``B`` and ``M``, and a `Sampling` with the factors that O(.) hides.
"""

from driftfit.theory.bound import (
    Assumptions,
    Bound,
    Kind,
    LinearModels,
    Sampling,
    Standing,
    guarantee,
    heuristic,
    order,
)
from driftfit.theory.checks import input_bound, label_invariance
from driftfit.theory.generalisation import (
    NetworkConstants,
    NormBoundedNetworks,
    PathErrors,
    discrepancy,
    discrepancy_bound,
    distance_to_last,
    generalisation_bound,
    linear_sequential_rademacher,
    loss_sequential_rademacher,
    minimising_weights,
    network_bound,
    network_sequential_rademacher,
)
from driftfit.theory.geodesic import distance_from_geodesic, path_certificate, path_length_inequality
from driftfit.theory.lipschitz import (
    Lipschitz,
    Side,
    compose,
    linear_lipschitz,
    margin_lipschitz,
    network_lower,
    network_upper,
    spectral_product,
)
from driftfit.theory.measured import (
    clopper_pearson,
    kl_upper,
    margin_transfer,
    measured_stability,
    pac_bayes_margin,
    wasserstein_upper,
)
from driftfit.theory.self_training import (
    error_difference,
    kumar_exponential,
    kumar_factor,
    kumar_path,
    kumar_step,
    largest_loss,
    naive_bound,
    self_training_stability,
)
from driftfit.theory.steps import (
    ComparedModels,
    FixedLength,
    FixedShift,
    StepConstants,
    compare_bounds,
    optimal_steps,
    simplified_bound,
    stationary_steps,
)

__all__ = [
    "Assumptions",
    "Bound",
    "FixedLength",
    "clopper_pearson",
    "compare_bounds",
    "generalisation_bound",
    "naive_bound",
    "network_bound",
    "optimal_steps",
]
