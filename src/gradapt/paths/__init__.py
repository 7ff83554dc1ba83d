"""The way from source to target: plans between neighbours, generated domains, labels carried along."""

from gradapt.paths.path import Path, PathStep, generate_path, given_path, make_plans

__all__ = ["Path", "PathStep", "generate_path", "given_path", "make_plans"]
