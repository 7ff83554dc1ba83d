"""Optimal transport: certified sparse plans, geodesics and distances.

One verb, ``plan = transport(x0, x1, solver=...)``; solvers, costs, cutoffs and
couplings are frozen values.
"""

from driftfit.transport.batch import transport_batch
from driftfit.transport.costs.cost import CustomCost, PowerMetric, Precomputed, SquaredEuclidean
from driftfit.transport.cutoffs import ConfidenceCutoff, SmallValueCutoff, transported_confidence
from driftfit.transport.distances import (
    PathShifts,
    measure_path,
    path_length,
    shifts,
    wasserstein,
)
from driftfit.transport.plan import Certificate, Distortion, Plan, interpolate
from driftfit.transport.problem import Problem, Solution, Solver
from driftfit.transport.solve import Estimate, choose_solver, estimate, solve, transport
from driftfit.transport.solvers.couplings import (
    IndependentCoupling,
    OracleCoupling,
    RandomCoupling,
    Sliced,
    UniformCoupling,
)
from driftfit.transport.solvers.exact import Exact
from driftfit.transport.solvers.hierarchical import Hierarchical
from driftfit.transport.solvers.sinkhorn import Sinkhorn
from driftfit.transport.structure.gromov import GromovWasserstein
from driftfit.transport.structure.inner import embed_distances
from driftfit.transport.structure.isometry import Isometry, isometry
from driftfit.transport.structure.maps import Mapped, Orthogonal, SameScale

__all__ = [
    "Certificate",
    "Exact",
    "GromovWasserstein",
    "Hierarchical",
    "IndependentCoupling",
    "Mapped",
    "Orthogonal",
    "Plan",
    "Problem",
    "Sinkhorn",
    "Sliced",
    "SmallValueCutoff",
    "estimate",
    "interpolate",
    "isometry",
    "measure_path",
    "transport",
    "transport_batch",
    "wasserstein",
]
