"""Boosted trees of XGBoost and LightGBM: learners that take nominal columns, missing cells and labels of any kind."""

from bakeoff.learners.boosting.lightgbm_trees import LightGBMClassifier, LightGBMRegressor
from bakeoff.learners.boosting.xgboost_trees import XGBoostClassifier, XGBoostRegressor

__all__ = ["LightGBMClassifier", "LightGBMRegressor", "XGBoostClassifier", "XGBoostRegressor"]
