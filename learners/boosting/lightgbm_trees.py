"""LightGBM: boosting on histograms, where each tree grows by the leaf with the largest gain.

    gain = G_l² / (H_l + λ) + G_r² / (H_r + λ) − G² / (H + λ)

G and H are the sums of the first and second derivatives of the loss over the rows of a node. The values of a nominal
column are sorted by G / H, so that the best division of them into two sets is found. Cost, with t trees of depth h:
fit O(t · n · d), predict O(m · t · h).

References
----------
G. Ke et al., "LightGBM: a highly efficient gradient boosting decision tree", NeurIPS 2017.

The text in which LightGBM writes a model is checked before the library reads it.
"""

from __future__ import annotations

import re
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

LIBRARY_KEYS = (
    "learning_rate", "num_leaves", "max_depth", "min_child_samples", "min_child_weight", "min_split_gain", "subsample",
    "subsample_freq", "colsample_bytree", "reg_alpha", "reg_lambda", "max_bin", "min_data_per_group", "cat_smooth",
)  # fmt: skip
"""Parameters that have the library's names."""
CONSTRAINTS: dict[str, list[Any]] = SHARED_CONSTRAINTS | {
    "num_leaves": [Interval(Integral, 2, None, closed="left")],
    "max_depth": [Interval(Integral, -1, None, closed="left")],
    "min_child_samples": [Interval(Integral, 0, None, closed="left")],
    "min_child_weight": [AT_LEAST_0],
    "min_split_gain": [AT_LEAST_0],
    "subsample_freq": [Interval(Integral, 0, None, closed="left")],
    "min_data_per_group": [COUNT],
    "cat_smooth": [AT_LEAST_0],
}


class LightGBMTrees(BoostedTrees):
    """Abstract: trees of LightGBM."""

    required_package: ClassVar[str] = "lightgbm"

    def _list_objective(self, n_classes: int) -> dict[str, Any]:
        """Return the loss, as the library names it."""
        if n_classes == 2:
            return {"objective": "binary"}
        return {"objective": "multiclass", "num_class": n_classes}

    def _grow(self, rows: Rows, held_out: Rows | None, n_classes: int, seed: int) -> Any:
        import lightgbm

        settings = {key: getattr(self, key) for key in LIBRARY_KEYS}
        settings |= {"seed": seed, "num_threads": self._n_threads, "verbosity": -1}
        # Sums over rows do not depend on the number of threads then.
        settings |= {"deterministic": True, "force_row_wise": True, "feature_pre_filter": False}
        settings |= self._list_objective(n_classes)
        training_rows = self._make_dataset(rows, settings)
        validation = [] if held_out is None else [self._make_dataset(held_out, settings, training_rows)]
        callbacks = []
        if self.early_stopping_rounds is not None:
            callbacks.append(lightgbm.early_stopping(self.early_stopping_rounds, verbose=False))
        return lightgbm.train(settings, training_rows, self.n_estimators, validation, callbacks=callbacks)

    @property
    def _n_threads(self) -> int:
        """The number of threads, where the library's word for all cores is 0."""
        return 0 if self.n_jobs == -1 else self.n_jobs or 1

    def _make_dataset(self, rows: Rows, settings: dict[str, Any], reference: Any = None) -> Any:
        """Return the library's table of rows; the intervals of its columns are those of the reference, if given."""
        import lightgbm

        return lightgbm.Dataset(
            mask_unseen(rows.X, self._is_nominal),
            label=rows.y,
            weight=rows.weight,
            categorical_feature=np.flatnonzero(self._is_nominal).tolist(),
            params=settings,
            reference=reference,
        )

    def _count_rounds(self, grown: Any) -> int:
        best = int(grown.best_iteration)
        return best if best > 0 else int(grown.current_iteration())

    def _write(self, grown: Any, n_rounds: int) -> bytes:
        text: str = grown.model_to_string(num_iteration=n_rounds)
        return text.encode()

    def _read(self, written: bytes) -> Any:
        import lightgbm

        require_complete(written)
        return lightgbm.Booster(model_str=written.decode())

    def _sum_gains(self, model: Any) -> np.ndarray:
        gains: np.ndarray = model.feature_importance("gain")
        return gains

    def _predict_with(self, model: Any, X: np.ndarray) -> np.ndarray:
        table = mask_unseen(X, self._is_nominal)
        predicted: np.ndarray = model.predict(table, num_threads=self._n_threads)
        return predicted


@final
class LightGBMClassifier(BoostedTreesClassifier, LightGBMTrees):
    """Gradient boosting of LightGBM for classification.

    Parameters
    ----------
    n_estimators : int
        Rounds; each grows a tree, or one for each class if there are more than two.
    learning_rate : float
        Shrinks the contribution of each tree.
    num_leaves : int
        Leaves of a tree at most.
    max_depth : int
        -1 for no limit.
    min_child_samples : int
        The fewest rows of a leaf.
    min_child_weight : float
        The smallest sum of second derivatives in a leaf.
    min_split_gain : float
        The smallest gain of a split.
    subsample : float
        The fraction of the rows that trees are grown on, if ``subsample_freq`` is not 0.
    subsample_freq : int
        After how many rounds rows are drawn again; 0 never draws.
    colsample_bytree : float
        The fraction of the columns that each tree is grown on.
    reg_alpha, reg_lambda : float
        Penalties on the absolute values and the squares of the values of leaves.
    max_bin : int
        Intervals of a numeric column.
    min_data_per_group : int
        The fewest rows of a nominal value that counts by itself.
    cat_smooth : float
        Smooths the order of the values of a nominal column.
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
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        max_depth: int = -1,
        min_child_samples: int = 20,
        min_child_weight: float = 1e-3,
        min_split_gain: float = 0.0,
        subsample: float = 1.0,
        subsample_freq: int = 0,
        colsample_bytree: float = 1.0,
        reg_alpha: float = 0.0,
        reg_lambda: float = 0.0,
        max_bin: int = 255,
        min_data_per_group: int = 100,
        cat_smooth: float = 10.0,
        early_stopping_rounds: int | None = None,
        validation_fraction: float = 0.1,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.min_child_samples = min_child_samples
        self.min_child_weight = min_child_weight
        self.min_split_gain = min_split_gain
        self.subsample = subsample
        self.subsample_freq = subsample_freq
        self.colsample_bytree = colsample_bytree
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.max_bin = max_bin
        self.min_data_per_group = min_data_per_group
        self.cat_smooth = cat_smooth
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state


@final
class LightGBMRegressor(BoostedTreesRegressor, LightGBMTrees):
    """Gradient boosting of LightGBM for regression.

    The parameters are those of `LightGBMClassifier`, with a loss in place of ``class_weight``.

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
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        max_depth: int = -1,
        min_child_samples: int = 20,
        min_child_weight: float = 1e-3,
        min_split_gain: float = 0.0,
        subsample: float = 1.0,
        subsample_freq: int = 0,
        colsample_bytree: float = 1.0,
        reg_alpha: float = 0.0,
        reg_lambda: float = 0.0,
        max_bin: int = 255,
        min_data_per_group: int = 100,
        cat_smooth: float = 10.0,
        early_stopping_rounds: int | None = None,
        validation_fraction: float = 0.1,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.min_child_samples = min_child_samples
        self.min_child_weight = min_child_weight
        self.min_split_gain = min_split_gain
        self.subsample = subsample
        self.subsample_freq = subsample_freq
        self.colsample_bytree = colsample_bytree
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.max_bin = max_bin
        self.min_data_per_group = min_data_per_group
        self.cat_smooth = cat_smooth
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _list_objective(self, n_classes: int) -> dict[str, Any]:
        names = {"squared_error": "regression", "absolute_error": "regression_l1", "poisson": "poisson"}
        return {"objective": names.get(self.loss, self.loss)}


FIRST_TREE = b"Tree=0\n"
END_OF_TREES = b"end of trees\n"


def require_complete(written: bytes) -> None:
    """Reject a model that lacks a part of its trees: LightGBM would end the process where it reads on.

    Parameters
    ----------
    written : bytes
        In the text format of LightGBM, which says how many bytes each tree has.

    Raises
    ------
    ValueError
    """
    sizes = re.search(rb"^tree_sizes=([\d ]*)$", written, re.MULTILINE)
    first = written.find(FIRST_TREE)
    last = written.find(END_OF_TREES)
    is_complete = sizes is not None and last >= 0
    if sizes is not None and first >= 0:
        n_bytes = sum(int(size) for size in sizes[1].split())
        is_complete = is_complete and n_bytes == last - first
    if not is_complete:
        raise ValueError("the trees of LightGBM are not complete, or were changed; fit the model again.")
