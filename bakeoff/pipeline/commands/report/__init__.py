"""A page about a run: its scores with intervals, its figures, its configuration, and how to repeat it."""
