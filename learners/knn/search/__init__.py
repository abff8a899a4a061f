"""Searches for the nearest rows, all of which find the same rows."""
