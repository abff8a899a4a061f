"""The page of an explanation: one HTML file without links to the network."""

from bakeoff.pipeline.explanation.page.page import render_page, write_page

__all__ = ["render_page", "write_page"]
