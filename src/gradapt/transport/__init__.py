"""Optimal transport: certified sparse plans, geodesics and distances.

One verb, ``plan = transport(x0, x1, solver=...)``; solvers, costs, cutoffs and
couplings are frozen values.
"""

from gradapt.transport.cutoffs import ConfidenceCutoff, SmallValueCutoff, transported_confidence
from gradapt.transport.distances import average_shift, distance_matrix, path_length, shifts, wasserstein
from gradapt.transport.geodesic import interpolate
from gradapt.transport.path_shifts import PathShifts, measure_path
from gradapt.transport.plan import Certificate, Plan
from gradapt.transport.problem import Problem, Solution, Solver
from gradapt.transport.problem.costs import CustomCost, PowerMetric, Precomputed, SquaredEuclidean
from gradapt.transport.problem.distortion import Distortion
from gradapt.transport.solve import solve, transport
from gradapt.transport.solvers.automatic import Estimate, choose_solver, estimate
from gradapt.transport.solvers.couplings import IndependentCoupling, OracleCoupling, RandomCoupling, UniformCoupling
from gradapt.transport.solvers.exact import Exact
from gradapt.transport.solvers.hierarchical import Hierarchical
from gradapt.transport.solvers.low_rank import LowRank
from gradapt.transport.solvers.sinkhorn import Greenkhorn, Sinkhorn
from gradapt.transport.solvers.sliced import Sliced
from gradapt.transport.structure.embedding import embed_distances
from gradapt.transport.structure.gromov import FusedGromovWasserstein, GromovWasserstein
from gradapt.transport.structure.isometry import Isometry, isometry
from gradapt.transport.structure.mapped import Mapped
from gradapt.transport.structure.maps import Affine, Orthogonal, SameRank, SameScale

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
