"""Pruning of grown trees: reduced-error, cost-complexity and pessimistic pruning, and trees nested in one tree."""
