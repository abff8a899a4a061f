"""Searches for the nearest rows. All of them find the same rows."""
