"""Runs arranged as a grid of configurations and datasets, paired fold by fold."""
