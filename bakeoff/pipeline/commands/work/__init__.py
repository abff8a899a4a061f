"""Calculations by hand: the steps of a definition for a small table, as text, Markdown, LaTeX or a page."""
