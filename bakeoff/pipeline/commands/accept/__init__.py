"""A line of tries against a champion: which change to keep, whatever was tried before."""
