"""Stored models in use: predictions for a file and over HTTP, and procedures that are fitted on all rows."""
