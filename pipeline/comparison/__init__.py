"""Comparison of runs: which learner is better, and how sure that is."""
