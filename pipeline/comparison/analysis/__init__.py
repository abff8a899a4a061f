"""The analysis of a grid of scores: per dataset, over datasets, the costs and the verdict."""
