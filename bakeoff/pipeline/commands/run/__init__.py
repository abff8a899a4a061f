"""Runs and sweeps, their plan, and the figures of a run."""
