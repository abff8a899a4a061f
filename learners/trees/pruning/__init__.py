"""Pruning grown trees: reduced-error, cost-complexity and pessimistic pruning, and the trees nested in one tree."""
