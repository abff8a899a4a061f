"""Datasets: ``table`` defines a dataset; ``loaders`` and ``catalogue`` return one.

``files``, ``database`` and ``catalogue`` get the cells of a source, ``kinds`` decides what each column is, and
``make_dataset`` joins both.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.stages.dataset.table import Column, Dataset

if TYPE_CHECKING:
    from bakeoff.pipeline.stages.dataset.catalogue import load_bundled, make_points
    from bakeoff.pipeline.stages.dataset.files import read_file
    from bakeoff.pipeline.stages.dataset.keys import ColumnRules, FileLayout, Roles
    from bakeoff.pipeline.stages.dataset.loaders import (
        load_frame,
        load_lecture_table,
        load_openml,
        load_query,
        make_dataset,
        read_table,
    )
    from bakeoff.pipeline.stages.dataset.source import Source

MODULES: Mapping[str, str] = {
    "ColumnRules": "keys",
    "FileLayout": "keys",
    "Source": "source",
    "Roles": "keys",
    "load_bundled": "catalogue",
    "load_frame": "loaders",
    "load_lecture_table": "loaders",
    "load_openml": "loaders",
    "load_query": "loaders",
    "make_dataset": "loaders",
    "make_points": "catalogue",
    "read_file": "files",
    "read_table": "loaders",
}
"""Name -> the module that defines it, imported on demand: most runs need few."""

__all__ = [
    "Column",
    "ColumnRules",
    "Dataset",
    "FileLayout",
    "Roles",
    "Source",
    "load_bundled",
    "load_frame",
    "load_lecture_table",
    "load_openml",
    "load_query",
    "make_dataset",
    "make_points",
    "read_file",
    "read_table",
]


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
