"""Which configuration is better, and how certain that is."""
