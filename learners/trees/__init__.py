"""The tree engine, which decision trees and random forests share.

``rows`` holds the training rows of a growing tree, ``splitting`` finds the best split of each node, ``growing`` repeats
that level by level, ``pruning`` cuts a grown tree back, `tree` is the result, and `criteria` says what a good split is.
"""
