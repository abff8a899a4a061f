"""Reports of a comparison: for a terminal, for programs, and for papers."""

from bakeoff.pipeline.comparison.reports.csv_table import render_csv
from bakeoff.pipeline.comparison.reports.json_document import render_json
from bakeoff.pipeline.comparison.reports.latex import render_latex
from bakeoff.pipeline.comparison.reports.markdown import render_markdown
from bakeoff.pipeline.comparison.reports.terminal import render_terminal

__all__ = ["render_csv", "render_json", "render_latex", "render_markdown", "render_terminal"]
