"""Sweeps: many jobs from one command, all checked before the first one starts, each run once.

The modules form a chain: `compose` makes the overrides of each job and composes them, `planning` decides which jobs are
valid and which are done, `engine` runs the others in this process, in `workers` or with another Hydra launcher, and
`display` prints what happens. `job_runner` runs one job, and `run_screen` shows how much of it is done. `plugin` is the
entry point for Hydra.
"""
