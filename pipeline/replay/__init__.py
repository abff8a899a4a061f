"""Replay: run stored runs again from their records, compare every number, and draw figures.

`replay` runs the configuration of a run again and stores nothing, and `differences` compares the results with the
stored ones, and reports them with what has changed since. `refit` fits a run again, and draws its figures. The runs
that are read do not change, but that figures are added to their artifacts.
"""
