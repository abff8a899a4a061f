"""Datasets: ``table`` defines a dataset; ``loaders`` and ``bundled`` return one.

``reading`` gets the cells of a source, ``columns`` decides what each column is, and ``make_dataset`` joins both.
"""

from bakeoff.pipeline.stages.dataset.bundled import load_bundled, load_lecture_table, make_points
from bakeoff.pipeline.stages.dataset.column import Column
from bakeoff.pipeline.stages.dataset.columns import ColumnRules, convert_columns, convert_like
from bakeoff.pipeline.stages.dataset.loaders import load_frame, load_openml, load_query, load_sklearn, read_table
from bakeoff.pipeline.stages.dataset.make_dataset import make_dataset
from bakeoff.pipeline.stages.dataset.reading import FileLayout, RawTable, count_columns, read_file, require_file
from bakeoff.pipeline.stages.dataset.roles import Roles
from bakeoff.pipeline.stages.dataset.table import Dataset

__all__ = [
    "Column",
    "ColumnRules",
    "Dataset",
    "FileLayout",
    "RawTable",
    "Roles",
    "convert_columns",
    "convert_like",
    "count_columns",
    "load_bundled",
    "load_frame",
    "load_lecture_table",
    "load_openml",
    "load_query",
    "load_sklearn",
    "make_dataset",
    "make_points",
    "read_file",
    "read_table",
    "require_file",
]
