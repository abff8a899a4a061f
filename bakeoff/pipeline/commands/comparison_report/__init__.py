"""A finished comparison, and how it is shown, written and kept."""
