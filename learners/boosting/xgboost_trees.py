"""XGBoost: boosting with a second-order step, where the gain of a split is penalized by the number and size of leaves.

    gain = ½ · (G_l² / (H_l + λ) + G_r² / (H_r + λ) − G² / (H + λ)) − γ

G and H are the sums of the first and second derivatives of the loss over the rows of a node. Cost, with t trees of
depth h on histograms: fit O(t · n · d), predict O(m · t · h).

References
----------
T. Chen and C. Guestrin, "XGBoost: a scalable tree boosting system", KDD 2016.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, final

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from bakeoff.learners.boosting.boosted_trees import (
    AT_LEAST_0,
    COUNT,
    SHARED_CONSTRAINTS,
    BoostedTrees,
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    Rows,
    mask_unseen,
)

FORMAT = "ubj"
"""Universal binary JSON, which later versions of XGBoost read too."""
GAIN = "total_gain"
LIBRARY_KEYS = (
    "learning_rate", "max_depth", "max_leaves", "grow_policy", "min_child_weight", "gamma", "subsample",
    "colsample_bytree", "reg_alpha", "reg_lambda", "max_bin", "max_cat_to_onehot",
)  # fmt: skip
"""Parameters that have the library's names."""
CONSTRAINTS: dict[str, list[Any]] = SHARED_CONSTRAINTS | {
    "max_depth": [Interval(Integral, 0, None, closed="left")],
    "max_leaves": [Interval(Integral, 0, None, closed="left")],
    "grow_policy": [StrOptions({"depthwise", "lossguide"})],
    "min_child_weight": [AT_LEAST_0],
    "gamma": [AT_LEAST_0],
    "max_cat_to_onehot": [COUNT],
}


class XGBoostTrees(BoostedTrees):
    """Abstract: trees of XGBoost."""

    required_package: ClassVar[str] = "xgboost"

    def _list_objective(self, n_classes: int) -> dict[str, Any]:
        """Return the loss, as the library names it."""
        if n_classes == 2:
            return {"objective": "binary:logistic"}
        return {"objective": "multi:softprob", "num_class": n_classes}

    def _grow(self, rows: Rows, held_out: Rows | None, n_classes: int, seed: int) -> Any:
        import xgboost

        settings = {key: getattr(self, key) for key in LIBRARY_KEYS}
        threads = self.n_jobs or 1
        settings |= {"seed": seed, "nthread": threads, "tree_method": "hist", "verbosity": 0}
        evals = [] if held_out is None else [(self._make_matrix(held_out.X, held_out), "held_out")]
        return xgboost.train(
            settings | self._list_objective(n_classes),
            self._make_matrix(rows.X, rows),
            num_boost_round=self.n_estimators,
            evals=evals,
            early_stopping_rounds=self.early_stopping_rounds,
            verbose_eval=False,
        )

    def _make_matrix(self, X: np.ndarray, rows: Rows | None = None) -> Any:
        """Return the library's table of rows X (m, d), with targets and weights if they are known."""
        import xgboost

        types = np.where(self._is_nominal, "c", "q").tolist()
        known = {} if rows is None else {"label": rows.y, "weight": rows.weight}
        table = mask_unseen(X, self._is_nominal)
        return xgboost.DMatrix(table, feature_types=types, enable_categorical=True, nthread=self.n_jobs or 1, **known)

    def _count_rounds(self, grown: Any) -> int:
        return grown.best_iteration + 1 if self.early_stopping_rounds is not None else grown.num_boosted_rounds()

    def _write(self, grown: Any, n_rounds: int) -> bytes:
        return bytes(grown[:n_rounds].save_raw(FORMAT))

    def _read(self, written: bytes) -> Any:
        import xgboost

        booster = xgboost.Booster({"nthread": self.n_jobs or 1})
        booster.load_model(bytearray(written))
        return booster

    def _sum_gains(self, model: Any) -> np.ndarray:
        gains = np.zeros(self.n_features_in_)  # (d,)
        for name, gain in model.get_score(importance_type=GAIN).items():
            gains[int(name.removeprefix("f"))] = gain
        return gains

    def _predict_with(self, model: Any, X: np.ndarray) -> np.ndarray:
        predicted: np.ndarray = model.predict(self._make_matrix(X))
        return predicted


@final
class XGBoostClassifier(BoostedTreesClassifier, XGBoostTrees):
    """Gradient boosting of XGBoost for classification.

    Parameters
    ----------
    n_estimators : int
        Rounds; each grows a tree, or one for each class if there are more than two.
    learning_rate : float
        Shrinks the contribution of each tree.
    max_depth, max_leaves : int
        Limits of a tree; 0 for none.
    grow_policy : {"depthwise", "lossguide"}
        Level by level, or the best leaf first.
    min_child_weight : float
        The smallest sum of second derivatives in a leaf.
    gamma : float
        The smallest gain of a split.
    subsample, colsample_bytree : float
        The fractions of rows and columns that each tree is grown on.
    reg_alpha, reg_lambda : float
        Penalties on the absolute values and the squares of the values of leaves.
    max_bin : int
        Intervals of a numeric column.
    max_cat_to_onehot : int
        Nominal columns with fewer values are divided into one value and the others.
    early_stopping_rounds : int or None
        Rounds without a smaller loss on rows set aside before growing stops; None grows all.
    validation_fraction : float
        Of the training rows, set aside at random to stop early.
    class_weight : mapping, "balanced" or None
    categorical_features : {"from_dtype"}, array-like or None
        The nominal columns; see `bakeoff.learners.base.nominal_columns`.
    n_jobs : int or None
        Threads; None is one, -1 all.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    feature_importances_ : ndarray of shape (d,)
    n_rounds_ : int
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS | {
        "class_weight": [dict, StrOptions({"balanced"}), None]
    }

    def __init__(
        self,
        n_estimators: int = 100,
        learning_rate: float = 0.3,
        max_depth: int = 6,
        max_leaves: int = 0,
        grow_policy: str = "depthwise",
        min_child_weight: float = 1.0,
        gamma: float = 0.0,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        reg_alpha: float = 0.0,
        reg_lambda: float = 1.0,
        max_bin: int = 256,
        max_cat_to_onehot: int = 4,
        early_stopping_rounds: int | None = None,
        validation_fraction: float = 0.1,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.grow_policy = grow_policy
        self.min_child_weight = min_child_weight
        self.gamma = gamma
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.max_bin = max_bin
        self.max_cat_to_onehot = max_cat_to_onehot
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state


@final
class XGBoostRegressor(BoostedTreesRegressor, XGBoostTrees):
    """Gradient boosting of XGBoost for regression.

    The parameters are those of `XGBoostClassifier`, with a loss in place of ``class_weight``.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "poisson", "gamma"}
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS | {
        "loss": [StrOptions({"squared_error", "absolute_error", "poisson", "gamma"})]
    }

    def __init__(
        self,
        loss: str = "squared_error",
        n_estimators: int = 100,
        learning_rate: float = 0.3,
        max_depth: int = 6,
        max_leaves: int = 0,
        grow_policy: str = "depthwise",
        min_child_weight: float = 1.0,
        gamma: float = 0.0,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        reg_alpha: float = 0.0,
        reg_lambda: float = 1.0,
        max_bin: int = 256,
        max_cat_to_onehot: int = 4,
        early_stopping_rounds: int | None = None,
        validation_fraction: float = 0.1,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.grow_policy = grow_policy
        self.min_child_weight = min_child_weight
        self.gamma = gamma
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.max_bin = max_bin
        self.max_cat_to_onehot = max_cat_to_onehot
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _list_objective(self, n_classes: int) -> dict[str, Any]:
        names = {
            "squared_error": "reg:squarederror",
            "absolute_error": "reg:absoluteerror",
            "poisson": "count:poisson",
            "gamma": "reg:gamma",
        }
        return {"objective": names[self.loss]}
