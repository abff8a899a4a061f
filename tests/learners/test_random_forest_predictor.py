"""Prediction with all trees at once: every row stops in the node where it stops in each tree alone."""

from typing import Any

import numpy as np
import pytest
from random_forests import make_mixed_table

from bakeoff.learners import RandomForestRegressor


@pytest.mark.parametrize("nominal", [None, [3], [0, 1, 2, 3]])
@pytest.mark.parametrize("missing", [False, True])
def test_rows_stop_where_they_stop_in_each_tree(nominal: Any, missing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # Several groups of trees.
    monkeypatch.setattr("bakeoff.learners.random_forest.predictor.NODES_PER_GROUP", 300)
    X, y, _ = make_mixed_table()
    X = X if missing else np.nan_to_num(X)
    forest = RandomForestRegressor(9, categorical_features=nominal, max_features=2, random_state=0).fit(X, y)
    query = np.vstack([X, X[:, ::-1], np.full((1, 4), 99.0)])
    table = forest._check_query(query)
    predictions = [tree.value[tree.apply(table), 0] for tree in forest.trees_]
    np.testing.assert_allclose(forest.predict(query), np.sum(predictions, axis=0) / 9, rtol=1e-12)
