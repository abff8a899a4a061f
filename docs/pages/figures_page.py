"""The page on the figures that have names."""

from __future__ import annotations

from class_sections import format_class
from markdown_text import escape_text, format_table, join_parts

from bakeoff.pipeline.config.options import FIGURES


def make_figures_page() -> str:
    """Return the page as Markdown."""
    rows = [(f"`{name}`", escape_text(sentence)) for name, (_, sentence) in FIGURES.items()]
    classes = sorted({class_name for class_name, _ in FIGURES.values()})
    return join_parts(
        [
            "# figures",
            "The pictures that a run stores: `figures=all`, or a list of names. [Draw figures](../../figures.md) shows "
            "each of them.",
            format_table(["name", "description"], rows),
            "## Classes",
            "A name stands for a class; `figures=[{NAME: {KEY: VALUE}}]` sets its arguments.",
            *(format_class(f"bakeoff.pipeline.commands.figures.{name}", level=3, members=False) for name in classes),
        ]
    )
