"""Optimal transport: certified sparse plans, geodesics and distances.

One verb, ``plan = transport(x0, x1, solver=...)``; solvers, costs, cutoffs and
couplings are frozen values.
"""

from driftfit.transport.cutoffs import ConfidenceCutoff, SmallValueCutoff, transported_confidence
from driftfit.transport.distances import average_shift, distance_matrix, path_length, shifts, wasserstein
from driftfit.transport.geodesic import interpolate
from driftfit.transport.path_shifts import PathShifts, measure_path
from driftfit.transport.plan import Certificate, Plan
from driftfit.transport.problem import Problem, Solution, Solver
from driftfit.transport.problem.costs import CustomCost, PowerMetric, Precomputed, SquaredEuclidean
from driftfit.transport.problem.distortion import Distortion
from driftfit.transport.solve import solve, transport
from driftfit.transport.solvers.automatic import Estimate, choose_solver, estimate
from driftfit.transport.solvers.couplings import IndependentCoupling, OracleCoupling, RandomCoupling, UniformCoupling
from driftfit.transport.solvers.exact import Exact
from driftfit.transport.solvers.hierarchical import Hierarchical
from driftfit.transport.solvers.low_rank import LowRank
from driftfit.transport.solvers.sinkhorn import Greenkhorn, Sinkhorn
from driftfit.transport.solvers.sliced import Sliced
from driftfit.transport.structure.embedding import embed_distances
from driftfit.transport.structure.gromov import FusedGromovWasserstein, GromovWasserstein
from driftfit.transport.structure.isometry import Isometry, isometry
from driftfit.transport.structure.mapped import Mapped
from driftfit.transport.structure.maps import Affine, Orthogonal, SameRank, SameScale

__all__ = [
    "Affine",
    "Certificate",
    "ConfidenceCutoff",
    "CustomCost",
    "Distortion",
    "Estimate",
    "Exact",
    "FusedGromovWasserstein",
    "Greenkhorn",
    "GromovWasserstein",
    "Hierarchical",
    "IndependentCoupling",
    "Isometry",
    "LowRank",
    "Mapped",
    "OracleCoupling",
    "Orthogonal",
    "PathShifts",
    "Plan",
    "PowerMetric",
    "Precomputed",
    "Problem",
    "RandomCoupling",
    "SameRank",
    "SameScale",
    "Sinkhorn",
    "Sliced",
    "SmallValueCutoff",
    "Solution",
    "Solver",
    "SquaredEuclidean",
    "UniformCoupling",
    "average_shift",
    "choose_solver",
    "distance_matrix",
    "embed_distances",
    "estimate",
    "interpolate",
    "isometry",
    "measure_path",
    "path_length",
    "shifts",
    "solve",
    "transport",
    "transported_confidence",
    "wasserstein",
]
