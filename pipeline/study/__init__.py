"""Studies: sweeps whose jobs Optuna chooses by the scores of earlier ones. The only package that imports Optuna.

`space` is read from the command line, and `study_key` holds what is optimized. `sweeper` checks the jobs at the edges
of the space, builds the sampler and the pruner, and opens the study that the key identifies in its `storage`.
`trials` turns what is drawn into jobs of the sweep engine, and `results` shows the best.
"""
