"""The way from source to target: plans between neighbours, generated domains, labels carried along."""

from driftfit.paths.path import Path, PathStep, generate_path, given_path
from driftfit.paths.plans import Coupled, Transport, carry_labels
from driftfit.paths.workspace import Workspace

__all__ = [
    "Coupled",
    "Path",
    "PathStep",
    "Transport",
    "Workspace",
    "carry_labels",
    "generate_path",
    "given_path",
]
