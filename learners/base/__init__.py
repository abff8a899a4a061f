"""What every learner is built on: the estimator, nominal columns, checks of input, paths, several classes from two."""
