"""Figures of a finished run; ``figures: [{_target_: bakeoff.pipeline.figures.X, ...}]`` keeps them among its artifacts.

`canvas` is the paper, `finished` what can be drawn from, and each other module one subject: `regions` of the plane,
`curves`, `trees` (each a `sketch`), `gains`, `probabilities` of naive Bayes, and `outcomes` of any classification.
"""

from bakeoff.pipeline.figures.curves import RegressionCurves, ValidationCurve
from bakeoff.pipeline.figures.gains import InformationGains
from bakeoff.pipeline.figures.outcomes import ConfusionMatrix, Reliability
from bakeoff.pipeline.figures.probabilities import ProbabilityTables
from bakeoff.pipeline.figures.regions import DecisionRegions, Margins
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
