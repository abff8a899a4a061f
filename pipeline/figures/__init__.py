"""Every picture: figures of a finished run, and the pictures of comparisons and explanations.

Figures of a run are asked for by ``figures: [NAME]`` or ``figures: [{_target_: bakeoff.pipeline.figures.X, ...}]``; the
names are in `bakeoff.pipeline.config.options`. `run_figure` holds their base classes and the data that they are
drawn from. `comparison`, and the functions of `importances` for explanations, draw plain arrays. All are drawn with
`panels`, which also writes the SVG of pages.

Matplotlib is imported by this package alone, and whoever needs a picture imports the package late.
"""

from bakeoff.pipeline.figures.classification import ConfusionMatrix, PrecisionRecallCurves, Reliability, RocCurves
from bakeoff.pipeline.figures.curves import Candidates, LearningCurve, ValidationCurve
from bakeoff.pipeline.figures.importances import Importances
from bakeoff.pipeline.figures.planes import DecisionRegions, Margins
from bakeoff.pipeline.figures.probabilities import ProbabilityTables
from bakeoff.pipeline.figures.regression import RegressionCurves, Residuals
from bakeoff.pipeline.figures.trees import InformationGains, Trees

__all__ = [
    "Candidates",
    "ConfusionMatrix",
    "DecisionRegions",
    "Importances",
    "InformationGains",
    "LearningCurve",
    "Margins",
    "PrecisionRecallCurves",
    "ProbabilityTables",
    "RegressionCurves",
    "Reliability",
    "Residuals",
    "RocCurves",
    "Trees",
    "ValidationCurve",
]
