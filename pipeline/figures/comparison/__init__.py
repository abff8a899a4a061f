"""The pictures of a comparison, from arrays."""
