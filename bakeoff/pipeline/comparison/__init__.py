"""Comparison of runs: which learner is better, and how certain that is."""
