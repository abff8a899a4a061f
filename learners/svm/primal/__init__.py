"""Solvers of the linear primal: one weight for each feature."""
