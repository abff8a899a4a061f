"""Finding the best split of every node of a level."""
