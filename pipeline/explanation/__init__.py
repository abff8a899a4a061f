"""Why a model predicts what it does: over all rows by columns, and for one row by contributions.

Importances are measured on test rows with the models that were fitted without them. Everything else describes one
model: partial dependence, what its learner says of itself, and the contributions of the columns to one prediction.
"""

from bakeoff.pipeline.explanation.explain_model import Scoring, Subject, explain_model
from bakeoff.pipeline.explanation.explanation import Explanation
from bakeoff.pipeline.explanation.page import render_page, write_page
from bakeoff.pipeline.explanation.run_subject import make_run_subject

__all__ = [
    "Explanation",
    "Scoring",
    "Subject",
    "explain_model",
    "make_run_subject",
    "render_page",
    "write_page",
]
