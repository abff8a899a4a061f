"""Figures of a finished run; ``figures: [NAME]`` or ``figures: [{_target_: bakeoff.pipeline.figures.X, ...}]``.

The names are in `bakeoff.pipeline.config.named_parts`. `run_figure` holds the base classes, and `finished_run` the
data that figures are drawn from; each other module has one subject. The folder `drawing` holds what several of them are
drawn with.

The folder `comparison` draws pictures of several runs from plain arrays: mean ranks, scores of folds, costs,
posteriors, a map of means, ROC and calibration curves.
"""

from bakeoff.pipeline.figures.calibration import Reliability
from bakeoff.pipeline.figures.classification import ConfusionMatrix
from bakeoff.pipeline.figures.coefficients import Coefficients
from bakeoff.pipeline.figures.gains import InformationGains
from bakeoff.pipeline.figures.importances import Importances
from bakeoff.pipeline.figures.learning_curve import LearningCurve
from bakeoff.pipeline.figures.margins import Margins
from bakeoff.pipeline.figures.probabilities import ProbabilityTables
from bakeoff.pipeline.figures.pruning_paths import PruningPaths
from bakeoff.pipeline.figures.regions import DecisionRegions
from bakeoff.pipeline.figures.regression_curves import RegressionCurves
from bakeoff.pipeline.figures.residuals import Residuals
from bakeoff.pipeline.figures.threshold_curves import PrecisionRecallCurves, RocCurves
from bakeoff.pipeline.figures.trees import Trees
from bakeoff.pipeline.figures.tuning_choices import Candidates, Choices
from bakeoff.pipeline.figures.validation_curve import ValidationCurve

__all__ = [
    "Candidates",
    "Choices",
    "Coefficients",
    "ConfusionMatrix",
    "DecisionRegions",
    "Importances",
    "InformationGains",
    "LearningCurve",
    "Margins",
    "PrecisionRecallCurves",
    "ProbabilityTables",
    "PruningPaths",
    "RegressionCurves",
    "Reliability",
    "Residuals",
    "RocCurves",
    "Trees",
    "ValidationCurve",
]
