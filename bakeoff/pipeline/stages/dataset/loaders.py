"""The functions that ``conf/dataset`` names, each of which returns a dataset.

Bundled datasets and generated points are known completely. The cells of files, databases, openml.org and tables from
Python are collected first; `make_dataset` then decides the roles and kinds of their columns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import wraps
from itertools import chain
from pathlib import Path
from threading import get_native_id
from typing import Any, ParamSpec

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.dataset.cells import Cells, read_cells
from bakeoff.pipeline.stages.dataset.convert import LEFT_OUT_KINDS, convert_columns, describe_cells
from bakeoff.pipeline.stages.dataset.database import Query, read_query
from bakeoff.pipeline.stages.dataset.files import read_files
from bakeoff.pipeline.stages.dataset.keys import ColumnRules, FileLayout, Roles, build_from_keys, name_roles
from bakeoff.pipeline.stages.dataset.kinds import Kind, find_kind, settle_source
from bakeoff.pipeline.stages.dataset.odd_rows import suspect_rows
from bakeoff.pipeline.stages.dataset.source import Source, make_source
from bakeoff.pipeline.stages.dataset.spelling import (
    choose_spelling,
    format_list_key,
    format_mapping_key,
    make_missing_rule,
)
from bakeoff.pipeline.stages.dataset.table import (
    DATE,
    DROPPED,
    FEATURE,
    IDENTIFIER,
    LEFT_OUT,
    NOMINAL,
    NUMERIC,
    TARGET,
    Column,
    Dataset,
    find_positive_class,
)
from bakeoff.pipeline.stages.dataset.target import (
    find_missing,
    read_row_facts,
    read_target,
)
from bakeoff.pipeline.stages.dataset.typed_table import read_frame
from bakeoff.pipeline.text.wording import count_nouns, name_first

BUNDLED = ("iris", "wine", "breast_cancer", "digits", "diabetes")


def load_bundled(name: str, positive: str | None = None) -> Dataset:
    """Load a dataset that comes with scikit-learn; codes of classes are replaced by the names of the classes.

    Parameters
    ----------
    name : {"iris", "wine", "breast_cancer", "digits", "diabetes"}
    positive : str, optional
        The positive class if there are two; by default the last in sorted order.
    """
    from sklearn import datasets

    if name not in BUNDLED:
        raise UserError(f"dataset.name={name!r} is not bundled. {did_you_mean(str(name), BUNDLED)}")
    bunch: dict[str, np.ndarray] = getattr(datasets, f"load_{name}")()
    features = [str(feature) for feature in bunch["feature_names"]]
    task, y = "regression", bunch["target"]  # (n,)
    if name != "diabetes":
        task, y = "classification", bunch["target_names"].astype(str)[y]
    return Dataset(
        name=name,
        X=pd.DataFrame(bunch["data"], columns=features, dtype=np.float64),
        y=y,
        task=task,
        target="target",
        positive=find_positive_class(positive, y, task),
        source=f"scikit-learn: {name}",
    )


SHAPES: Mapping[str, Mapping[str, Any]] = {
    "moons": {},
    "circles": {"factor": 0.4},
    "blobs": {"centers": [(-1.5, 0.0), (1.5, 0.0), (0.0, 2.0)]},
}
"""Name of generated points -> options of scikit-learn's function, which shuffles the rows."""


def make_points(name: str, rows: int, noise: float, seed: int) -> Dataset:
    """Generate points in the plane, with columns x1 and x2, in classes that no line separates.

    Parameters
    ----------
    name : {"moons", "circles", "blobs"}
        Two half moons, a ring around a disc, or three round clouds.
    rows : int
    noise : float
        Standard deviation around the shape.
    seed : int
        The seed of the points, which do not depend on the experiment's seed.
    """
    from sklearn import datasets

    if str(name) not in SHAPES:
        raise UserError(f"dataset.name={name!r} cannot be generated. {did_you_mean(str(name), SHAPES)}")
    spread = "cluster_std" if name == "blobs" else "noise"
    make = getattr(datasets, f"make_{name}")
    points, codes = make(rows, random_state=seed, **{spread: noise}, **SHAPES[name])  # (n, 2), (n,)
    y = np.array(["A", "B", "C"])[codes]
    return Dataset(
        name=name,
        X=pd.DataFrame(points, columns=["x1", "x2"]),
        y=y,
        task="classification",
        target="class",
        positive=find_positive_class(None, y, "classification"),
        source=f"scikit-learn: make_{name}",
    )


Parameters = ParamSpec("Parameters")
Collected = tuple[Source, Roles, ColumnRules]
"""The arguments of `make_dataset`: the cells of a source, and the configuration of its columns."""
COLLECTORS: dict[Callable[..., Dataset], Callable[..., Collected]] = {}
"""Function that loads a dataset -> the function that collects its cells before they are interpreted."""
ARROW_THREADS = "arrow"
"""The name of the threads that Arrow starts while a table is read, and starts again after a fork."""


def make_loader(collect: Callable[Parameters, Collected]) -> Callable[Parameters, Dataset]:
    """Return the function that makes a dataset of what another function collects; register both in `COLLECTORS`."""

    @wraps(collect)
    @_naming_threads()
    def load(*args: Parameters.args, **keys: Parameters.kwargs) -> Dataset:
        return make_dataset(*collect(*args, **keys))

    COLLECTORS[load] = collect
    return load


@contextmanager
def _naming_threads() -> Iterator[None]:
    """Name the threads that Arrow starts in the block: on Linux, they inherit the name of this thread."""
    file = Path(f"/proc/self/task/{get_native_id()}/comm")
    earlier = file.read_text(encoding="latin-1") if file.is_file() else ""
    try:
        with suppress(OSError):
            file.write_text(ARROW_THREADS, encoding="latin-1")
        yield
    finally:
        with suppress(OSError):
            file.write_text(earlier, encoding="latin-1")


@make_loader
def read_table(
    path: str | Sequence[str], target: str, test_path: str | Sequence[str] | None = None, **keys: Any
) -> Collected:
    """Read a dataset from one file, or several of the same form, inferring the kinds of columns that are not given.

    Parameters
    ----------
    path : str or sequence of str
        A file, whose extension determines its format; a pattern such as ``data/*.csv``; or a list of these.
    target : str
        The column to predict; ``last`` is the last one, unless a column has that name.
    test_path : str or sequence of str, optional
        The files with the test rows, if `path` contains only training rows.
    **keys
        The fields of `FileLayout`, `Roles` and `ColumnRules`.

    Raises
    ------
    UserError
        The file or a column does not exist, files have different columns, there are no rows, or a target is missing.
    """
    layout, roles, rules = build_from_keys({"target": target, **keys}, FileLayout, Roles, ColumnRules)
    return read_files(path, test_path, layout), roles, rules


TABLES = Path(__file__).parent / "tables"
"""The folder of the lecture tables."""


def load_lecture_table(name: str, target: str, task: str = "classification", positive: str | None = None) -> Dataset:
    """Load one of the small worked examples that come with bakeoff.

    Parameters
    ----------
    name : str
        The name of a file in ``pipeline/stages/dataset/tables``, without its extension.
    target : str
        The column to predict.
    task : {"classification", "regression"}
    positive : str, optional
        The positive class if there are two; by default the last in sorted order.
    """
    dataset = read_table(str(TABLES / f"{name}.csv"), target, task=task, positive=positive)
    # These tables are known to be correct, so a run reports nothing about their columns.
    return replace(dataset, columns=(), notes=())


@make_loader
def load_query(target: str, **keys: Any) -> Collected:
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
        The database cannot be read, or a column does not exist or does not match its declaration.
    """
    query, roles, rules = build_from_keys({"target": target, **keys}, Query, Roles, ColumnRules)
    return read_query(query), roles, rules


@make_loader
def load_openml(id: int, target: str | None = None, data_home: str | None = None, **keys: Any) -> Collected:
    """Load a dataset from openml.org.

    Parameters
    ----------
    id : int
        Its number, which identifies a single version.
    target : str, optional
        The column to predict; by default the one specified by OpenML.
    data_home : str, optional
        The folder of the cache; by default that of scikit-learn.
    **keys
        The fields of `Roles` and `ColumnRules`.

    Raises
    ------
    UserError
        OpenML cannot be reached or has no such dataset, the dataset is sparse, a target must be chosen, or a column
        does not exist or does not match its declaration.
    """
    roles, rules = build_from_keys({"target": str(target), **keys}, Roles, ColumnRules)
    bunch, notes = _fetch_openml(id, data_home)
    details = bunch["details"]
    frame = bunch["frame"]
    if frame is None:
        raise UserError(f"the OpenML dataset {details['name']!r} is sparse; sparse datasets are not supported.")
    known = bunch["target_names"]
    if target is None and len(known) != 1:
        named = f"{len(known)} targets: {', '.join(known)}" if known else "no target"
        raise UserError(f"OpenML names {named}; choose a column with dataset.target=NAME.")
    chosen = target or known[0]
    others = [each for each in known if chosen in known and each != chosen]
    if others:
        # The other targets would reveal the chosen one.
        frame = frame.drop(columns=others)
        notes.append(f"The other targets in OpenML are left out: {', '.join(map(repr, others))}.")
    origin = f"OpenML: {details['name']}, version {details['version']}, id {details['id']}"
    return make_source(frame, str(details["name"]), origin, notes), replace(roles, target=chosen), rules


def _fetch_openml(id: int, data_home: str | None) -> tuple[Any, list[str]]:
    """Return the response of OpenML, and its warnings."""
    from sklearn.datasets import fetch_openml

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            # scikit-learn's other parser truncates cells at a % and fails on values such as 0 and 1 with pandas 3.
            bunch = fetch_openml(data_id=id, data_home=data_home, parser="liac-arff", as_frame="auto")
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise UserError(
                f"dataset.id={id!r} cannot be read from OpenML: {reason}. Check the id and the connection, or "
                "read a downloaded file with dataset=file."
            ) from error
    return bunch, [" ".join(str(warning.message).split()) for warning in caught]


@make_loader
def load_frame(frame: Any, target: str, name: str = "frame", **keys: Any) -> Collected:
    """Make a dataset from a table passed from Python code.

    Parameters
    ----------
    frame : DataFrame of shape (n, d), or a table of Arrow or polars
        The table, which is not modified.
    target : str
        The column to predict; ``last`` is the last one, unless a column has that name.
    name : str
        The name of the dataset.
    **keys
        The fields of `Roles` and `ColumnRules`.

    Raises
    ------
    UserError
        The object is not a table, or a column does not exist or does not match its declaration.

    Examples
    --------
    >>> import pandas as pd
    >>> dataset = load_frame(pd.DataFrame({"size": [1.5, 2.5], "sort": ["a", "b"]}), target="sort")
    >>> dataset.describe()
    'frame: 2 rows, 1 numeric column, 2 classes of sort (positive: b)'
    """
    roles, rules = build_from_keys({"target": target, **keys}, Roles, ColumnRules)
    return read_frame(frame, name), roles, rules


ROW_NAMES = Kind(IDENTIFIER, "different names of the rows, for which the header has no name")
MAX_SHOWN_COLUMNS = 8


def make_dataset(source: Source, roles: Roles, rules: ColumnRules) -> Dataset:
    """Make a dataset from the cells of a source.

    Parameters
    ----------
    source : Source
        A source of n rows.
    roles : Roles
    rules : ColumnRules

    Raises
    ------
    UserError
        A column does not exist, has two roles, or does not agree with its declared kind; or a target is missing.
    """
    names = list(source.frame.columns)
    if roles.weights is None and source.weights not in rules.lists["drop"]:
        roles = replace(roles, weights=source.weights)
    named = name_roles(names, roles, rules)
    target = named.pop(TARGET)
    source, rules = settle_source(source, rules)
    frame = source.frame
    target_cells = read_cells(frame[target], rules, source.declared)
    is_kept = ~find_missing(target_cells)  # (n,)
    row_notes = _answer_missing_targets(is_kept, target_cells, roles, source.name)
    if row_notes:
        frame = frame[is_kept].reset_index(drop=True)
        target_cells = read_cells(frame[target], rules, source.declared)
    y, task = read_target(target_cells, roles.task)
    X, described = describe_columns(frame.drop(columns=target), named, rules, source)
    target_kind = NUMERIC if task == "regression" else NOMINAL
    described[target] = describe_cells(target_cells, Column(target, target_kind, f"target of {task}", role=TARGET))
    table = X.assign(**{target: y}) if task == "regression" else X
    described = suspect_rows(suspect_placeholders(described, rules), frame, table.select_dtypes("number"))
    left_out_notes = describe_left_out(list(described.values()))
    if X.shape[1] == 0:
        reasons = " ".join(left_out_notes)
        raise UserError(f"{source.name} has no column left to learn from besides {target!r}. {reasons}".strip())
    facts = read_row_facts({key: read_cells(frame[name], rules) for key, name in named.items()}, rules)
    if source.parts is not None:
        facts.setdefault("parts", source.parts[is_kept])
    return Dataset(
        name=source.name,
        X=X,
        y=y,
        task=task,
        target=target,
        positive=find_positive_class(roles.positive, y, task),
        source=source.origin,
        columns=tuple(described[name] for name in names),
        notes=(*source.notes, *row_notes, *left_out_notes),
        guessed=source.guessed,
        class_order=_find_class_order(y, task, source.declared.get(target, ())),
        **facts,
    )


def describe_columns(
    frame: pd.DataFrame, named: Mapping[str, str], rules: ColumnRules, source: Source
) -> tuple[pd.DataFrame, dict[str, Column]]:
    """Return the features, and a description of each column by its name.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
        The columns of the source without its target.
    named : mapping of str to str
        Role -> the column with that role.
    rules : ColumnRules
    source : Source
        The source, with the values that it declares.

    Raises
    ------
    UserError
        A column does not agree with its declared kind.
    """
    names_rows = {source.row_names} & {*frame.columns} - {*rules.lists["keep"], *rules.declared_kinds}
    role_of = dict.fromkeys(names_rows, LEFT_OUT) | dict.fromkeys(rules.lists["drop"], DROPPED)
    role_of |= dict(zip(named.values(), named, strict=True))
    features = [name for name in frame.columns if name not in role_of]
    converted = convert_columns(frame[features], rules, source.declared)
    described = {column.name: column for column in converted.columns}
    for name, role in role_of.items():
        cells = read_cells(frame[name], rules)
        kind = find_kind(cells)
        if role == LEFT_OUT and kind.name != DATE:
            kind = ROW_NAMES
        column = Column(name, kind.name, kind.reason, role, date_format=rules.get_date_format(name))
        described[name] = describe_cells(cells, column)
    return converted.frame, described


def describe_left_out(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return a sentence for each kind of column left out, with the key that includes such columns.

    Parameters
    ----------
    columns : sequence of Column
        The columns; those that are not left out are ignored.

    Examples
    --------
    >>> describe_left_out([Column("id", IDENTIFIER, "90 different in 90 cells", role=LEFT_OUT)])
    ('Left out as identifiers: id (90 different in 90 cells). dataset.keep=[id] includes it.',)
    """
    sentences = []
    for kind, (noun, key) in LEFT_OUT_KINDS.items():
        found = [column for column in columns if column.kind == kind and column.role == LEFT_OUT]
        if not found:
            continue
        listed = name_first([f"{column.name} ({column.reason})" for column in found], MAX_SHOWN_COLUMNS)
        pronoun = "it" if len(found) == 1 else "them"
        cure = format_list_key(key, [column.name for column in found[:MAX_SHOWN_COLUMNS]])
        sentences.append(f"Left out as {noun}: {listed}. {cure} includes {pronoun}.")
    return tuple(sentences)


def suspect_placeholders(columns: Mapping[str, Column], rules: ColumnRules) -> dict[str, Column]:
    """Return columns, the first with a suspicion about nominal values that would be missing cells among numbers.

    Parameters
    ----------
    columns : mapping of str to Column
        The columns by name.
    rules : ColumnRules
    """
    found: dict[str, list[str]] = {}
    for name, column in columns.items():
        if column.kind == NOMINAL and column.role in (FEATURE, TARGET):
            rule = make_missing_rule(rules.na_values, name)
            if words := [value for value in column.values if rule.covers_among_numbers(value)]:
                found[name] = words
    if not found:
        return {**columns}
    words = [*dict.fromkeys(chain(*found.values()))]
    shown = f"{name_first([*map(repr, words)])} in {name_first([*found], MAX_SHOWN_COLUMNS)}"
    sentence = f"Read as values: {shown}. {format_list_key('na_values', words)} treats such cells as missing."
    first = columns[next(iter(found))]
    return {**columns, first.name: replace(first, suspicions=(*first.suspicions, sentence))}


def explain_missing_targets(n_missing: int, target: str, source: str) -> str:
    """Return a sentence about rows without a target, with the key that leaves them out."""
    return (
        f"dataset.target={target!r} has {count_nouns(n_missing, 'missing cell')} in {source}; remove those "
        f"rows, or leave them out with dataset.drop_missing_target=true. If a spelling such as NA is a class, "
        f"{format_mapping_key('na_values', {target: '[]'})} keeps it."
    )


def _answer_missing_targets(is_kept: np.ndarray, target: Cells, roles: Roles, name: str) -> tuple[str, ...]:
    """Return a sentence about the rows without a target; raise UserError unless the user chose to leave them out."""
    n_missing = int(np.count_nonzero(~is_kept))
    if n_missing == 0:
        return ()
    if n_missing == len(is_kept):
        raise UserError(f"dataset.target={target.name!r}: all cells are missing in {name}.")
    if not roles.drop_missing_target:
        raise UserError(explain_missing_targets(n_missing, target.name, name))
    return (f"{n_missing} of {len(is_kept)} rows are left out, because their target is missing.",)


def _find_class_order(y: np.ndarray, task: str, declared: Sequence[str]) -> tuple[Any, ...] | None:
    """Return the classes in their declared order; None if nothing is declared, or the order is the sorted one."""
    if task == "regression":
        return None
    classes = np.unique(y).tolist()
    label_of = {str(label): label for label in classes}
    order = [label_of[value] for value in map(choose_spelling(declared), declared) if value in label_of]
    return tuple(order) if sorted(order) == classes != order else None
