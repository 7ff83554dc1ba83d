"""The problem to solve: clouds, costs and their arithmetic, and the certificate of a plan."""

from driftfit.transport.problem.problem import Problem, Solution, Solver

__all__ = ["Problem", "Solution", "Solver"]
