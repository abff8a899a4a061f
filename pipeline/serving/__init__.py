"""Uses of stored models: predictions for a file and over HTTP, and procedures fitted on all rows."""
