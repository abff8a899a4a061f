"""Timings beside scikit-learn: they print tables and assert nothing."""
