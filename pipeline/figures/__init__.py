"""Every picture: figures of a finished run, and the pictures of comparisons and explanations.

Figures of a run are asked for by ``figures: [NAME]`` or ``figures: [{_target_: bakeoff.pipeline.figures.X, ...}]``; the
names are in `bakeoff.pipeline.config.named_parts`. `run_figure` holds their base classes, and `finished_run` the data
that they are drawn from. `comparison` and `explanation` draw plain arrays, which `svg` puts into pages. All are drawn
with `panels`.

Matplotlib is imported by this package alone, and whoever needs a picture imports the package late.
"""

from bakeoff.pipeline.figures.classification import ConfusionMatrix, PrecisionRecallCurves, Reliability, RocCurves
from bakeoff.pipeline.figures.columns import Importances
from bakeoff.pipeline.figures.curves import LearningCurve, ValidationCurve
from bakeoff.pipeline.figures.planes import DecisionRegions, Margins
from bakeoff.pipeline.figures.probabilities import ProbabilityTables
from bakeoff.pipeline.figures.regression import RegressionCurves, Residuals
from bakeoff.pipeline.figures.trees import InformationGains, Trees
from bakeoff.pipeline.figures.tuning import Candidates, PruningPaths

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
    "PruningPaths",
    "RegressionCurves",
    "Reliability",
    "Residuals",
    "RocCurves",
    "Trees",
    "ValidationCurve",
]
