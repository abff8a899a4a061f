"""A stored model in use: predictions for the rows of a file, and over HTTP by the protocol of MLflow's server."""
