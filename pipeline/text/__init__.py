"""Text for users: numbers, words, terminal output and secrets. Nothing else formats text."""
