"""Columns: what each column of a raw table is taken for and why, and its cells in one canonical form.

`convert_columns` decides on kinds and turns cells into numbers, categories, dates and text. The rows of ``predict`` go
through `convert_like`, which reads the cells in the same way and gives them the kinds of training.
"""

from bakeoff.pipeline.stages.dataset.columns.convert import ConvertedTable, convert_columns, read_column
from bakeoff.pipeline.stages.dataset.columns.further_rows import FurtherRows, convert_like
from bakeoff.pipeline.stages.dataset.columns.rules import ColumnRules

__all__ = ["ColumnRules", "ConvertedTable", "FurtherRows", "convert_columns", "convert_like", "read_column"]
