"""Launchers: the jobs of a sweep on other machines, with an existing engine; one module for each engine."""
