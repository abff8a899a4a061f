"""Replay: run stored runs again from what the store holds of them, compare every number, and draw figures.

`rebuild` makes the configuration, `repeat` runs it and stores nothing, `differences` compares the results with the
stored ones, `environment` lists what has changed since, and `replay` joins them to a `ReplayReport`. The runs that are
read do not change; `draw` adds figures to their artifacts.
"""
