"""Columns: what each column of a raw table is taken for and why, and its cells in one canonical form.

`convert_columns` is the one function that turns cells into numbers, categories, dates and text; training files and the
rows of ``predict`` go through it alike.
"""

from bakeoff.pipeline.stages.dataset.columns.convert import ConvertedTable, convert_columns
from bakeoff.pipeline.stages.dataset.columns.rules import ColumnRules

__all__ = ["ColumnRules", "ConvertedTable", "convert_columns"]
