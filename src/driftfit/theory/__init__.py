"""The theory of gradual self-training as working functions: numbers in, bounds with named terms out.

Every function cites the statement it computes. Shifts of a sequence of domains are measured by
`driftfit.transport.measure_path`.
"""

from driftfit.theory.assumptions import Assumptions, LinearModels, Sampling
from driftfit.theory.bound import Bound
from driftfit.theory.checked_assumptions import InputBound, LabelInvariance, input_bound, label_invariance, largest_loss
from driftfit.theory.compare import BoundComparison, ComparedModels, FixedLength, FixedShift, compare_bounds
from driftfit.theory.complexity import (
    NormBoundedNetworks,
    linear_sequential_rademacher,
    loss_sequential_rademacher,
    network_sequential_rademacher,
)
from driftfit.theory.discrepancies import discrepancy, discrepancy_bound, distance_to_last, minimising_weights
from driftfit.theory.generalisation import NetworkConstants, PathErrors, generalisation_bound, network_bound
from driftfit.theory.geodesic_distance import GeodesicDistance, distance_from_geodesic
from driftfit.theory.kumar import kumar_exponential, kumar_factor, kumar_path, kumar_step
from driftfit.theory.lipschitz import Lipschitz, Side, compose, linear_lipschitz, margin_lipschitz, spectral_product
from driftfit.theory.measured import (
    clopper_pearson,
    margin_transfer,
    measured_stability,
    transported_error,
    wasserstein_upper,
)
from driftfit.theory.network_lipschitz import network_lower, network_upper
from driftfit.theory.optimal_steps import OptimalSteps, StepConstants, optimal_steps, simplified_bound, stationary_steps
from driftfit.theory.pac_bayes import kl_upper, pac_bayes_margin
from driftfit.theory.path_terms import PathCertificate, PathLength, path_certificate, path_length_inequality
from driftfit.theory.shifted_error import error_difference
from driftfit.theory.stability import naive_bound, self_training_stability
from driftfit.theory.standing import Kind, Standing, guarantee, heuristic, order

__all__ = [
    "Assumptions",
    "Bound",
    "BoundComparison",
    "ComparedModels",
    "FixedLength",
    "FixedShift",
    "GeodesicDistance",
    "InputBound",
    "Kind",
    "LabelInvariance",
    "LinearModels",
    "Lipschitz",
    "NetworkConstants",
    "NormBoundedNetworks",
    "OptimalSteps",
    "PathCertificate",
    "PathErrors",
    "PathLength",
    "Sampling",
    "Side",
    "Standing",
    "StepConstants",
    "clopper_pearson",
    "compare_bounds",
    "compose",
    "discrepancy",
    "discrepancy_bound",
    "distance_from_geodesic",
    "distance_to_last",
    "error_difference",
    "generalisation_bound",
    "guarantee",
    "heuristic",
    "input_bound",
    "kl_upper",
    "kumar_exponential",
    "kumar_factor",
    "kumar_path",
    "kumar_step",
    "label_invariance",
    "largest_loss",
    "linear_lipschitz",
    "linear_sequential_rademacher",
    "loss_sequential_rademacher",
    "margin_lipschitz",
    "margin_transfer",
    "measured_stability",
    "minimising_weights",
    "naive_bound",
    "network_bound",
    "network_lower",
    "network_sequential_rademacher",
    "network_upper",
    "optimal_steps",
    "order",
    "pac_bayes_margin",
    "path_certificate",
    "path_length_inequality",
    "self_training_stability",
    "simplified_bound",
    "spectral_product",
    "stationary_steps",
    "transported_error",
    "wasserstein_upper",
]
