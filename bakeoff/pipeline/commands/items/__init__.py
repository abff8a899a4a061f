"""Comparison of systems on the items of one test set."""
