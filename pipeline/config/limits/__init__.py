"""Limits on what a configuration may ask for."""
