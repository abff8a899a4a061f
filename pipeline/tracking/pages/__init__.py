"""What MLflow shows first: saved views of the table of runs."""
