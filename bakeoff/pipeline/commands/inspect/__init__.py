"""Inspection of a table: the kind of each column, its association with the target, and possible problems."""
