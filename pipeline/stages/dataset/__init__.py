"""Datasets: ``table`` defines a dataset, and ``sources``, ``files`` and ``text_file`` load one."""

from bakeoff.pipeline.stages.dataset.column_types import set_column_types
from bakeoff.pipeline.stages.dataset.files import read_file, read_table, require_file
from bakeoff.pipeline.stages.dataset.sources import load_bundled, load_lecture_table, make_points
from bakeoff.pipeline.stages.dataset.table import Dataset
from bakeoff.pipeline.stages.dataset.text_file import TextLayout, count_columns

__all__ = [
    "Dataset",
    "TextLayout",
    "count_columns",
    "load_bundled",
    "load_lecture_table",
    "make_points",
    "read_file",
    "read_table",
    "require_file",
    "set_column_types",
]
