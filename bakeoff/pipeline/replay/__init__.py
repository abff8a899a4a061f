"""Replay of stored runs: repeat them from their records, compare every number, and draw figures.

`replay` runs the configuration of a run again without storing anything, and `differences` compares the results with the
stored ones and reports what has changed since. `refit` fits a run again and draws its figures. The stored runs remain
unchanged, except that figures are added to their artifacts.
"""
