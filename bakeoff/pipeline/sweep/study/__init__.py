"""Studies: sweeps in which Optuna chooses the jobs by the scores of earlier ones. Only this package imports Optuna.

`space` parses the search space from the command line, and `study_key` defines the objectives. `sweeper` checks the jobs
at the edges of the space, builds the sampler and the pruner, opens the study identified by the key in its `storage`,
and shows the best trials. `trials` turns suggestions into jobs of the sweep engine.
"""
