"""The page of an inspection: one HTML file without links to the network."""

from bakeoff.pipeline.inspection.page.page import render_page, write_page

__all__ = ["render_page", "write_page"]
