"""HTML pages that hold everything they need: the style sheet, the script and the rendering that they share."""

from bakeoff.pipeline.html.render import make_breakable, render_template

__all__ = ["make_breakable", "render_template"]
