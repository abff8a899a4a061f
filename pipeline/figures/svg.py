"""Figures as SVG, inside an HTML page or in a file. Equal figures give equal bytes: there is no date or random id."""

from __future__ import annotations

import re
from html import escape
from io import BytesIO
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from bakeoff.pipeline.figures.panels import in_style

NO_METADATA: Any = {"Creator": None, "Date": None, "Format": None, "Type": None}
PAGE_COLOURS = {
    "#222222": "ink",
    "#6b6b6b": "muted",
    "#e5e5e5": "grid",
    "#ffffff": "paper",
    "#0072b2": "accent",
}
"""Colours of figures -> the variables of the page's style that replace them: readers choose a light or a dark one."""
LEFT_OUT = re.compile(r'<!--.*?-->\s*|<metadata>.*?</metadata>\s*| id="[\w.]+_\d{1,5}"', flags=re.DOTALL)
"""Comments, and the ids of groups, which nothing refers to and which other pictures of the page have, too."""


def render_svg(figure: Figure, name: str, description: str) -> str:
    """Return a figure as an SVG element, to be put into a page.

    Parameters
    ----------
    figure : Figure
    name : str
        Ids of the element are made from it and from what they name, so that several figures can be put into one page.
    description : str
        What the figure shows, for readers who do not see it.
    """
    file = BytesIO()
    with in_style(), rc_context({"svg.hashsalt": name}):
        figure.savefig(file, format="svg", metadata=NO_METADATA)
    text = file.getvalue().decode()
    # An XML declaration and a document type are allowed in a file, but not inside a page.
    element = LEFT_OUT.sub("", text[text.index("<svg") :])
    element = _move_style(element)
    for colour, variable in PAGE_COLOURS.items():
        element = element.replace(f": {colour}", f": var(--{variable}, {colour})")
    label = escape(description, quote=True)
    return element.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def _move_style(element: str) -> str:
    """Replace the style sheet of an element, which would apply to the whole page, by a style of the element."""
    sheet = re.compile(r'<style type="text/css">\*\{(.*?)\}</style>')
    found = sheet.search(element)
    if found is None:
        return element
    return sheet.sub("", element).replace("<svg", f'<svg style="{found.group(1)}"', 1)


def fix_colours(element: str) -> str:
    r"""Return an SVG element as a file for programs that are not browsers, which have no variables.

    Examples
    --------
    >>> fix_colours('<path style="fill: var(--ink, #222222)"/>')
    '<?xml version="1.0" encoding="utf-8"?>\n<path style="fill: #222222"/>'
    """
    return '<?xml version="1.0" encoding="utf-8"?>\n' + re.sub(r"var\(--\w+, (#\w+)\)", r"\1", element)
