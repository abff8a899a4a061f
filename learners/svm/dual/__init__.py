"""Solvers of the dual, which has one multiplier for each training row."""
