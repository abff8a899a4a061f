"""Launchers that run the jobs of a sweep on other machines, with one module for each engine."""
