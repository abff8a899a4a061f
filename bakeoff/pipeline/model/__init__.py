"""Models without a store: the estimator, the record of its training, and its predictions for further rows."""
