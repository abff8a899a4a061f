"""Figures of a finished run; ``figures: [{_target_: bakeoff.pipeline.figures.X, ...}]`` adds them to its artifacts.

`run_figure` holds the base class, `panels` the tools to draw with, and `finished_run` the data that figures are
drawn from. Each other module has one subject: `regions` of the plane, `margins`, `curves`, `trees` (laid out by
`tree_diagram`), `gains` of splits, `probabilities` of naive Bayes, and `classification` by any learner.

The modules `comparison_…` draw pictures of several runs from plain arrays: mean ranks, scores of folds, costs,
posteriors, a map of means, ROC and calibration curves. `rendering` writes them as SVG and PNG.
"""

from bakeoff.pipeline.figures.classification import ConfusionMatrix, Reliability
from bakeoff.pipeline.figures.curves import RegressionCurves, ValidationCurve
from bakeoff.pipeline.figures.gains import InformationGains
from bakeoff.pipeline.figures.margins import Margins
from bakeoff.pipeline.figures.probabilities import ProbabilityTables
from bakeoff.pipeline.figures.regions import DecisionRegions
from bakeoff.pipeline.figures.trees import Trees

__all__ = [
    "ConfusionMatrix",
    "DecisionRegions",
    "InformationGains",
    "Margins",
    "ProbabilityTables",
    "RegressionCurves",
    "Reliability",
    "Trees",
    "ValidationCurve",
]
