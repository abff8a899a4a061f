"""Tuning: ``grid`` chooses hyperparameters; ``candidates`` lists and fits what is tried, ``choice`` finds the best."""

from bakeoff.pipeline.stages.tuning.candidates import FitRows, PathEstimator, fit_candidates
from bakeoff.pipeline.stages.tuning.choice import find_best_candidate
from bakeoff.pipeline.stages.tuning.data import TuningData, preprocess_tables
from bakeoff.pipeline.stages.tuning.grid import GridTuning, NoTuning, list_candidate_learners
from bakeoff.pipeline.stages.tuning.points import Grid

__all__ = [
    "FitRows",
    "Grid",
    "GridTuning",
    "NoTuning",
    "PathEstimator",
    "TuningData",
    "find_best_candidate",
    "fit_candidates",
    "list_candidate_learners",
    "preprocess_tables",
]
