"""The training rows of a growing tree: which node each is in, in which order, and what is summed over them."""
