"""Datasets: ``table`` is what the others give, ``sources`` and ``files`` are where rows come from."""

from bakeoff.pipeline.stages.dataset.files import read_file, read_table, require_file
from bakeoff.pipeline.stages.dataset.kinds import with_kinds
from bakeoff.pipeline.stages.dataset.sources import bundled, lecture_table, made
from bakeoff.pipeline.stages.dataset.table import Dataset

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
