"""The training rows of a growing tree: their nodes, their order, and the sums over them."""
