"""Random forests in tests: a table with everything that a forest can meet, and all that a forest has learned."""

from typing import Any

import numpy as np

from bakeoff.learners import RandomForestClassifier, RandomForestRegressor

FOREST_CLASSES = [RandomForestClassifier, RandomForestRegressor]

NOMINAL_FEATURE = 3
"""The nominal column of `make_mixed_table`."""


def make_mixed_table(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows X (120, 4), numeric targets (120,) and whole weights (120,), some of which are 0.

    Cells are rounded, some rows are equal, some cells are missing, and one column is nominal.
    """
    rng = np.random.default_rng(seed)
    numeric = rng.normal(size=(120, 3)).round(1)
    nominal = rng.integers(0, 3, 120)
    X = np.column_stack([numeric, nominal])  # (120, 4)
    X[::9, 1] = np.nan
    X[60:75] = X[:15]
    noise = rng.normal(size=120).round(1)
    y = np.nan_to_num(X[:, 0] + X[:, 1]) + X[:, 3] + noise
    y[60:70] = y[:10]
    weight = rng.integers(0, 4, 120)
    return X, y, weight


def choose_target(forest_class: Any, y: np.ndarray) -> np.ndarray:
    """Return the targets themselves for a regressor, three classes of them for a classifier."""
    if forest_class is RandomForestRegressor:
        return y
    return (y > 1).astype(int) + (y > 2)


def make_forest(forest_class: Any, options: dict[str, Any]) -> Any:
    """Return an unfitted forest of 12 trees for the mixed table; a regressor takes no ``class_weight``."""
    options = dict(options)
    if forest_class is RandomForestRegressor:
        options.pop("class_weight", None)
    return forest_class(12, categorical_features=[NOMINAL_FEATURE], random_state=4, **options)


def list_fitted_bytes(forest: Any) -> list[bytes]:
    """Return all that a forest has learned, bit by bit."""
    trees = [np.asarray(part).tobytes() for tree in forest.trees_ for part in vars(tree).values()]
    oob_score = getattr(forest, "oob_score_", None)
    return [*trees, str(oob_score).encode()]
