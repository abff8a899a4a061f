"""The verdicts of a capsule, which are checked again, and the causes of those that no longer hold."""
