"""A study before its first run: how large it must be, and the question that is sealed."""
