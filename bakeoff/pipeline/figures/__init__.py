"""Figures of finished runs, and the pictures in explanations and in calculations by hand.

Figures of a run are requested with ``figures: [NAME]`` or ``figures: [{_target_: bakeoff.pipeline.figures.X, ...}]``;
`bakeoff.pipeline.config.options` lists the names. `run_figure` contains their base classes and the data they are drawn
from. `steps` draws a calculation by hand, and some functions of `importances` draw plain arrays for explanations. All
of them use `panels`, which also writes the SVG for pages.

Only this package imports Matplotlib, so code that needs a picture imports the package late.
"""

from bakeoff.pipeline.figures.classification import ConfusionMatrix, PrecisionRecallCurves, Reliability, RocCurves
from bakeoff.pipeline.figures.curves import Candidates, LearningCurve, RegressionCurves, Residuals, ValidationCurve
from bakeoff.pipeline.figures.importances import Importances
from bakeoff.pipeline.figures.planes import DecisionRegions, Margins
from bakeoff.pipeline.figures.trees import Trees

__all__ = [
    "Candidates",
    "ConfusionMatrix",
    "DecisionRegions",
    "Importances",
    "LearningCurve",
    "Margins",
    "PrecisionRecallCurves",
    "RegressionCurves",
    "Reliability",
    "Residuals",
    "RocCurves",
    "Trees",
    "ValidationCurve",
]
