"""Tests and estimates on arrays: folds of one dataset, and mean scores over several datasets."""
