"""The loop over splits: preprocess, tune, fit, prune and score, with each part of the data used by only one stage.

Holdout, k-fold and all other evaluations use the same code. A stage that is switched off is a null object, so the loop
has no modes. It yields the result of each fold to its caller: a tracker, a progress display or a test.
"""

from bakeoff.pipeline.experiment.decision import list_decision_rows, list_inner_splits
from bakeoff.pipeline.experiment.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.experiment.fitting import make_pipeline, prepare_rows, score_headline
from bakeoff.pipeline.experiment.loop import evaluate_split, evaluate_splits, fit_final_model, fit_model

__all__ = [
    "Experiment",
    "FittedModel",
    "FoldResult",
    "evaluate_split",
    "evaluate_splits",
    "fit_final_model",
    "fit_model",
    "list_decision_rows",
    "list_inner_splits",
    "make_pipeline",
    "prepare_rows",
    "score_headline",
]
