"""Datasets of the user: each function is named by a YAML file in ``conf/dataset`` and returns a `Dataset`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bakeoff.pipeline.stages.dataset.assembly import make_dataset
from bakeoff.pipeline.stages.dataset.catalogue import OpenmlQuery, read_openml
from bakeoff.pipeline.stages.dataset.database import Query, read_query
from bakeoff.pipeline.stages.dataset.files import read_files
from bakeoff.pipeline.stages.dataset.keys import ColumnRules, FileLayout, Roles, build_from_keys
from bakeoff.pipeline.stages.dataset.source import Source
from bakeoff.pipeline.stages.dataset.table import Dataset
from bakeoff.pipeline.stages.dataset.typed_table import read_frame

Collected = tuple[Source, Roles, ColumnRules]
"""The arguments of `make_dataset`: the cells of a source, and what the configuration says of their columns."""


def read_table(
    path: str | Sequence[str], target: str, test_path: str | Sequence[str] | None = None, **keys: Any
) -> Dataset:
    """Read a dataset from a file, or from several of one shape; the kind of each column is inferred unless it is given.

    Parameters
    ----------
    path : str or sequence of str
        A file, whose extension says how it is read; a pattern such as ``data/*.csv``; or a list of both.
    target : str
        The column to predict; ``last`` is the last one, unless a column has that name.
    test_path : str or sequence of str, optional
        The files with the test rows, if `path` holds the training rows only.
    **keys
        The fields of `FileLayout`, `Roles` and `ColumnRules`.

    Raises
    ------
    UserError
        The file or a column does not exist, files have different columns, there are no rows, or a target is missing.
    """
    return make_dataset(*collect_table(path, target, test_path, **keys))


def load_query(target: str, **keys: Any) -> Dataset:
    """Read a dataset from a database.

    Parameters
    ----------
    target : str
        The column to predict; ``last`` is the last one, unless a column has that name.
    **keys
        The fields of `Query`, `Roles` and `ColumnRules`.

    Raises
    ------
    UserError
        The database cannot be read, or a column does not exist or agree with what is said of it.
    """
    return make_dataset(*collect_query(target, **keys))


def load_openml(target: str | None = None, **keys: Any) -> Dataset:
    """Load a dataset of openml.org.

    Parameters
    ----------
    target : str, optional
        The column to predict; by default the one that OpenML names.
    **keys
        The fields of `OpenmlQuery`, `Roles` and `ColumnRules`.

    Raises
    ------
    UserError
        OpenML cannot be reached or has no such dataset, or a column does not exist or agree with what is said of it.
    """
    return make_dataset(*collect_openml(target, **keys))


def load_frame(frame: Any, target: str, name: str = "frame", **keys: Any) -> Dataset:
    """Make a dataset of a table that Python code hands over.

    Parameters
    ----------
    frame : DataFrame of shape (n, d), or a table of Arrow or polars
        It is not changed.
    target : str
        The column to predict; ``last`` is the last one, unless a column has that name.
    name : str
        Of the dataset.
    **keys
        The fields of `Roles` and `ColumnRules`.

    Raises
    ------
    UserError
        It is no table, or a column does not exist or agree with what is said of it.

    Examples
    --------
    >>> import pandas as pd
    >>> dataset = load_frame(pd.DataFrame({"size": [1.5, 2.5], "sort": ["a", "b"]}), target="sort")
    >>> dataset.describe()
    'frame: 2 rows, 1 numeric column, 2 classes of sort (positive: b)'
    """
    roles, rules = build_from_keys({"target": target, **keys}, Roles, ColumnRules)
    return make_dataset(read_frame(frame, name), roles, rules)


def collect_table(
    path: str | Sequence[str], target: str, test_path: str | Sequence[str] | None = None, **keys: Any
) -> Collected:
    """Return the cells of files, with roles and rules; for the arguments see `read_table`."""
    layout, roles, rules = build_from_keys({"target": target, **keys}, FileLayout, Roles, ColumnRules)
    return read_files(path, test_path, layout), roles, rules


def collect_query(target: str, **keys: Any) -> Collected:
    """Return the cells of a database, with roles and rules; for the arguments see `load_query`."""
    query, roles, rules = build_from_keys({"target": target, **keys}, Query, Roles, ColumnRules)
    return read_query(query), roles, rules


def collect_openml(target: str | None = None, **keys: Any) -> Collected:
    """Return the cells of a dataset of openml.org, with roles and rules; for the arguments see `load_openml`."""
    query, roles, rules = build_from_keys({"target": str(target), **keys}, OpenmlQuery, Roles, ColumnRules)
    source, chosen = read_openml(query, target)
    return source, replace(roles, target=chosen), rules


COLLECTORS: Mapping[Callable[..., Dataset], Callable[..., Collected]] = {
    read_table: collect_table,
    load_query: collect_query,
    load_openml: collect_openml,
}
"""Each function that loads a dataset of the user -> the function that returns its cells before anything is decided."""
