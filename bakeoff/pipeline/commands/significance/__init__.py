"""Hypothesis tests of scores: over folds, over datasets, over items, and of all pairs together."""
