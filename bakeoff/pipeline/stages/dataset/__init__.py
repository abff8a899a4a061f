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
    from bakeoff.pipeline.stages.dataset.loaders import (
        load_bundled,
        load_frame,
        load_lecture_table,
        load_openml,
        load_query,
        make_points,
        read_table,
    )

MODULES: Mapping[str, str] = {
    "load_bundled": "loaders",
    "load_frame": "loaders",
    "load_lecture_table": "loaders",
    "load_openml": "loaders",
    "load_query": "loaders",
    "make_points": "loaders",
    "read_table": "loaders",
}
"""Name -> the module that defines it; modules are imported on demand because most runs need few."""

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


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
