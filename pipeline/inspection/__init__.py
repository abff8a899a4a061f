"""Inspection: what each column of a table is taken for and why, what it says about the target, and what looks wrong."""
