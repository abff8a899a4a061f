"""Why a model predicts what it does, by columns, over all rows.

Importances are measured on test rows with the models that were fitted without them. Everything else describes one
model: partial dependence, and what its learner says of itself.
"""

from bakeoff.pipeline.explanation.explain_model import Scoring, Subject, explain_model, require_columns
from bakeoff.pipeline.explanation.explanation import Explanation
from bakeoff.pipeline.explanation.file_rows import FileRows, convert_file_rows
from bakeoff.pipeline.explanation.page import render_page, write_page
from bakeoff.pipeline.explanation.subjects import (
    make_file_subject,
    make_run_subject,
    make_version_subject,
)

__all__ = [
    "Explanation",
    "FileRows",
    "Scoring",
    "Subject",
    "convert_file_rows",
    "explain_model",
    "make_file_subject",
    "make_run_subject",
    "make_version_subject",
    "render_page",
    "require_columns",
    "write_page",
]
