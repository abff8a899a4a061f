"""Text for users: numbers, words, terminal output and secrets. No other package formats text."""
