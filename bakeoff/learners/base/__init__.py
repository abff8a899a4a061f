"""The base of every learner: estimator classes, nominal columns, input checks, paths, and multiclass reduction."""
