"""Studies: Optuna chooses the jobs of a sweep by the scores of earlier ones.  The only door to Optuna.

The way of a study: `reading` makes a `space` of the command line, its edges are planned like any sweep, `opening` finds
the study in its `storage`, and `jobs` stand between its `trials` and the engine of sweeps, until `results` are shown.
"""
