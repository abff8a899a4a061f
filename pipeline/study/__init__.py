"""Studies: Optuna chooses the jobs of a sweep by the scores of earlier ones.  The only door to Optuna."""
