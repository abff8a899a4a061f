"""Datasets: ``table`` is what the others give, ``sources`` and ``files`` are where rows come from."""

from pipeline.dataset.files import read_file, read_table, require_file
from pipeline.dataset.kinds import with_kinds
from pipeline.dataset.sources import bundled, lecture_table, made
from pipeline.dataset.table import Dataset

__all__ = [
    "Dataset",
    "bundled",
    "lecture_table",
    "made",
    "read_file",
    "read_table",
    "require_file",
    "with_kinds",
]
