"""Metrics: distances between rows."""
