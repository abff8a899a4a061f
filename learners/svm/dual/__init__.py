"""Solvers of the dual: one multiplier for each row."""
