"""Learners whose calculation by hand is short."""

from __future__ import annotations

SMALL = {
    "mlp": {"learner.hidden_layer_sizes": "[2]", "learner.solver": "lbfgs", "learner.alpha": "1"},
    "random_forest": {"learner.n_estimators": "3"},
}


def name_words(name: str, **words: str) -> dict[str, str]:
    """Return the words of a learner whose calculation is short."""
    return {"learner": name, **SMALL.get(name.removesuffix("_regressor"), {}), **words}
