"""Reports of a comparison: for a terminal, for programs, and for papers."""

from bakeoff.pipeline.comparison.reports.papers import render_latex, render_markdown
from bakeoff.pipeline.comparison.reports.programs import render_csv, render_json
from bakeoff.pipeline.comparison.reports.terminal import render_terminal

__all__ = ["render_csv", "render_json", "render_latex", "render_markdown", "render_terminal"]
