"""Studies: sweeps in which Optuna chooses the jobs by the scores of earlier ones. Only this package imports Optuna.

`space` parses the search space from the command line. `storage` identifies a study by its objectives, its space and
the jobs at the edges of the space, and opens it. `sweeper` checks these jobs, builds the sampler and the pruner, and
shows the best trials. `trials` turns suggestions into jobs of the sweep engine.
"""
