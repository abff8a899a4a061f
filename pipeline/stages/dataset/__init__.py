"""Datasets: ``table`` defines a dataset, and ``sources`` and ``files`` load one."""

from bakeoff.pipeline.stages.dataset.column_types import set_column_types
from bakeoff.pipeline.stages.dataset.files import read_file, read_table, require_file
from bakeoff.pipeline.stages.dataset.sources import load_bundled, load_lecture_table, make_points
from bakeoff.pipeline.stages.dataset.table import Dataset

__all__ = [
    "Dataset",
    "load_bundled",
    "load_lecture_table",
    "make_points",
    "read_file",
    "read_table",
    "require_file",
    "set_column_types",
]
