"""A stored run, fitted again: compared bit by bit."""
