"""Launchers: the jobs of a sweep on other machines, on an engine that exists; one file per engine."""
