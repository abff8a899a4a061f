"""Tuning: ``grid`` chooses hyperparameters, and ``candidates`` lists what is tried and fits it."""

from bakeoff.pipeline.stages.tuning.candidates import FitRows, Grid, PathEstimator, fit_candidates
from bakeoff.pipeline.stages.tuning.grid import (
    GridTuning,
    NoTuning,
    TuningData,
    find_best_candidate,
    list_candidate_learners,
    preprocess_tables,
)

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
