"""Solvers: frozen values with one verb, ``solve(problem) -> Solution``."""
