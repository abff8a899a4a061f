"""Tuning: ``grid`` chooses hyperparameters; ``candidates`` lists and fits the candidates."""

from bakeoff.pipeline.stages.tuning.candidates import (
    FitRows,
    Grid,
    PathEstimator,
    TuningData,
    fit_candidates,
    preprocess_tables,
)
from bakeoff.pipeline.stages.tuning.grid import GridTuning, NoTuning, find_best_candidate, list_candidate_learners
from bakeoff.pipeline.stages.tuning.score_file import ScoreFile

__all__ = [
    "FitRows",
    "Grid",
    "GridTuning",
    "NoTuning",
    "PathEstimator",
    "ScoreFile",
    "TuningData",
    "find_best_candidate",
    "fit_candidates",
    "list_candidate_learners",
    "preprocess_tables",
]
