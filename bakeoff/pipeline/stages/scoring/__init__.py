"""Scores with plain names and their natural sign: lower is better for errors, higher for accuracies.

The formulas are scikit-learn's. A score that is not defined on some rows (such as ROC AUC if a class is absent) is NaN
rather than 0. `names` lists the metrics without NumPy and scikit-learn, which the other modules load.
"""
