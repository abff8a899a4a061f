"""Sweeps: many jobs from one command, all checked before the first one runs, each run once.

A sweep goes through these modules: `compose` makes the overrides of each job and composes them, `planning` decides
which jobs are valid and which are done, `engine` runs the others in this process, in `workers` or with another launcher
of Hydra, and `display` prints the progress. `plugin` is the entry point for Hydra.
"""
