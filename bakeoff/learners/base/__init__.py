"""The base of every learner: estimator classes, input checks with nominal columns and paths, and scaled columns."""
