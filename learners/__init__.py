"""The learners: classical machine learning in NumPy, behind scikit-learn's estimator contract.

`REGISTRY` is the one table of them.  Its names are those of ``conf/learner/``; everything that lists, tests or trusts
learners reads it from here.
"""

from sklearn.base import BaseEstimator

from learners.majority import MajorityClassifier, MeanRegressor

REGISTRY: dict[str, type[BaseEstimator]] = {
    "majority": MajorityClassifier,
    "mean": MeanRegressor,
}

__all__ = ["REGISTRY", "MajorityClassifier", "MeanRegressor"]
