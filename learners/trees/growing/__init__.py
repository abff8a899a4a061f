"""Growing a tree, level by level."""
