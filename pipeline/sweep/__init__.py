"""Sweeps: many jobs from one command, planned before the first one runs, each run once, whatever happens meanwhile.

The way of a sweep: `search` makes overrides, `plugin` composes them, `planning` says what is valid and what is done,
`engine` runs the rest in this process, in `workers` or by a launcher of Hydra's, `display` shows it.
"""
