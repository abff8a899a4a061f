"""Datasets: `table` defines a dataset, and `loaders` has the functions that return one.

`files`, `database` and `typed_table` get the cells of a source, `kinds` decides what each column is, and `convert`
makes features of the columns.
"""

from bakeoff.pipeline.stages.dataset.loaders import (
    load_bundled,
    load_frame,
    load_lecture_table,
    load_openml,
    load_query,
    make_points,
    read_table,
)
from bakeoff.pipeline.stages.dataset.table import Column, Dataset

__all__ = [
    "Column",
    "Dataset",
    "load_bundled",
    "load_frame",
    "load_lecture_table",
    "load_openml",
    "load_query",
    "make_points",
    "read_table",
]
