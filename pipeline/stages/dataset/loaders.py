"""Datasets of the user: each function is named by a YAML file in ``conf/dataset`` and returns a `Dataset`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bakeoff.pipeline.stages.dataset.columns import ColumnRules
from bakeoff.pipeline.stages.dataset.keys import build_from_keys
from bakeoff.pipeline.stages.dataset.make_dataset import make_dataset
from bakeoff.pipeline.stages.dataset.reading import FileLayout, read_file
from bakeoff.pipeline.stages.dataset.roles import Roles
from bakeoff.pipeline.stages.dataset.table import Dataset


def read_table(path: str, target: str, **keys: Any) -> Dataset:
    """Read a dataset from a file; the kind of each column is inferred unless it is given.

    Parameters
    ----------
    path : str
        The extension of the file says how it is read.
    target : str
        The column to predict; ``last`` is the last one, unless a column has that name.
    **keys
        The fields of `FileLayout`, `Roles` and `ColumnRules`.

    Raises
    ------
    UserError
        The file or a column does not exist, there are no rows, or a target is missing.
    """
    layout, roles, rules = build_from_keys({"target": target, **keys}, FileLayout, Roles, ColumnRules)
    raw = read_file(Path(path).expanduser(), layout)
    return make_dataset(raw, roles, rules)
