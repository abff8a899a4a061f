"""Runs and sweeps, and their plan."""
