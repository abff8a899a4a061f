"""Studies: sweeps whose jobs Optuna chooses by the scores of earlier ones. The only package that imports Optuna.

`parse_space` makes a `space` of `dimension` objects from the command line. `sweeper` checks the jobs at the edges of
that space, and `open_study` opens the study that the `study_key` identifies in its `storage`. `trial_jobs` turns the
`trials` that the `strategy` draws into jobs of the sweep engine, and `results` shows the best.
"""
