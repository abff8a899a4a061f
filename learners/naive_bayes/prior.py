"""The probability of each class before its features are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.learners.naive_bayes.nominal import normalize_counts


def choose_prior(given: Any, counts: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the prior that is given, or the shares of the counts.

    Parameters
    ----------
    given : array-like of shape (c,) or None
    counts : ndarray of shape (c,)
        Of the training rows of each class, with pseudo-counts.
    classes : ndarray of shape (c,)

    Returns
    -------
    ndarray of shape (c,)

    Raises
    ------
    ValueError
        What is given are not c probabilities that sum to 1.
    """
    if given is None:
        return normalize_counts(counts)
    c = counts.shape[0]
    prior = np.array(given, dtype=np.float64)
    are_probabilities = prior.shape == (c,) and (prior >= 0).all()
    if not are_probabilities or not np.isclose(prior.sum(), 1.0):
        raise ValueError(
            f"class_prior is {prior.tolist()}, but must be {c} probabilities that sum to 1, one for each of "
            f"the classes {classes.tolist()}."
        )
    return prior
