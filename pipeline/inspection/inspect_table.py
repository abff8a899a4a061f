"""The inferred kind of each column of a table, including those that a run leaves out, and suspicions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.audit.columns import Finding, find_columns, find_row_numbers, find_same_columns
from bakeoff.pipeline.config.build import build_object, find_target
from bakeoff.pipeline.config.compose_job import compose_parts
from bakeoff.pipeline.config.targets import require_names
from bakeoff.pipeline.config.trust import add_trust_of_environment
from bakeoff.pipeline.config.words import check_overrides
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.inspection.association import measure_association
from bakeoff.pipeline.inspection.profile import ColumnProfile, TableProfile, count_cells
from bakeoff.pipeline.inspection.report import render_page
from bakeoff.pipeline.inspection.request import NO_PAGE, InspectRequest
from bakeoff.pipeline.stages.dataset import Column, ColumnRules, Dataset, Roles, Source, make_dataset
from bakeoff.pipeline.stages.dataset.cells import Cells
from bakeoff.pipeline.stages.dataset.convert import convert_cells, convert_columns, read_column
from bakeoff.pipeline.stages.dataset.files import list_dataset_files
from bakeoff.pipeline.stages.dataset.keys import require_column
from bakeoff.pipeline.stages.dataset.kinds import find_date_format, find_kind
from bakeoff.pipeline.stages.dataset.loaders import COLLECTORS, describe_left_out
from bakeoff.pipeline.stages.dataset.table import (
    DATE,
    DROPPED,
    FEATURE,
    IDENTIFIER,
    NOMINAL,
    NUMERIC,
    ORDERED,
    TARGET,
    TEXT,
)
from bakeoff.pipeline.tables.output_file import name_file, replace_file, require_output
from bakeoff.pipeline.text.words import expand_home, quote_text
from bakeoff.pipeline.tracking.store import list_store_paths

OTHER_KEYS = ("trust", "experiment")
"""Keys that are not those of the dataset; all other keys without a dot are."""
MISSING_VALUE = "???"
KINDS_WITHOUT_HISTOGRAM = (IDENTIFIER, TEXT)


def inspect_named(request: InspectRequest) -> tuple[TableProfile, Path | None]:
    """Inspect files or a dataset, write the page, and return the findings and the file of the page.

    Parameters
    ----------
    request : InspectRequest

    Raises
    ------
    UserError
        There is no such file, option, key or column, or the page cannot be written.
    """
    overrides = _write_overrides(request)
    check_overrides(overrides)
    composed = compose_parts(add_trust_of_environment(overrides), ["dataset", "trust"])
    if request.output not in (None, NO_PAGE):
        require_output(str(request.output), list_dataset_files(composed["dataset"]), list_store_paths(None))
    profile = _inspect_node(composed["dataset"], composed["trust"])
    if request.output == NO_PAGE:
        return profile, None
    page = expand_home(request.output or f"{name_file(profile.name)}.inspection.html")
    with replace_file(page) as temporary:
        temporary.write_text(render_page(profile), encoding="utf-8")
    return profile, page


def _write_overrides(request: InspectRequest) -> list[str]:
    """Return the words that compose the configuration of the dataset."""
    overrides = [f"dataset={request.dataset or 'file'}"]
    if request.files:
        quoted = ",".join(quote_text(file) for file in request.files)
        overrides.append(f"dataset.path={quoted}" if len(request.files) == 1 else f"dataset.path=[{quoted}]")
    for key, value in request.keys.items():
        is_short = "." not in key and key not in OTHER_KEYS
        overrides.append(f"dataset.{key}={value}" if is_short else f"{key}={value}")
    return overrides


def _inspect_node(node: Mapping[str, Any], trust: Sequence[str]) -> TableProfile:
    """Inspect the dataset that a configuration describes, in which a mandatory value may be missing."""
    require_names(node, "dataset", trust)
    function = find_target(str(node.get("_target_")), "dataset._target_", trust)
    has_target = node.get("target") != MISSING_VALUE
    missing = [key for key, value in node.items() if value == MISSING_VALUE and key != "target"]
    if missing:
        raise UserError(f"dataset.{missing[0]} must be given: add {missing[0]}=VALUE.")
    if function not in COLLECTORS:
        return inspect_dataset(build_object(node, "dataset", list(trust)))
    keys = {key: value for key, value in node.items() if not key.startswith("_")}
    source, roles, rules = COLLECTORS[function](**keys)
    # OpenML names a target itself.
    return inspect_source(source, roles, rules, roles.target if has_target else None)


def inspect_source(raw: Source, roles: Roles, rules: ColumnRules, target: str | None) -> TableProfile:
    """Inspect the cells of a source.

    Parameters
    ----------
    raw : Source
    roles : Roles
        Its target is used only if `target` is not None.
    rules : ColumnRules
    target : str or None
        None if no target is named: then there are no associations, and nothing is compared with the target.

    Raises
    ------
    UserError
        A column does not exist, or does not agree with what is said of it.
    """
    if target is None:
        return _inspect_without_target(raw, roles, rules)
    dataset = make_dataset(raw, roles, rules)
    cells = _read_all(raw, rules)
    kept = cells[dataset.target].distinct.codes >= 0  # (n,)
    table = {column.name: _convert(cells[column.name], column)[kept] for column in dataset.columns}
    profiles = tuple(_profile(column, table[column.name], dataset) for column in dataset.columns)
    frame = raw.frame.loc[kept.tolist()] if not kept.all() else raw.frame
    return _make_profile(dataset, profiles, frame)


def inspect_dataset(dataset: Dataset) -> TableProfile:
    """Inspect a dataset whose source is not read by bakeoff, such as a bundled one: its features and its target.

    Parameters
    ----------
    dataset : Dataset
    """
    profiles = [
        _profile(column, dataset.X[column.name], dataset)
        for column in dataset.columns or _describe_features(dataset)
        if column.name in dataset.X.columns
    ]
    frame = dataset.X.assign(**{f"{dataset.target} (target)": dataset.y})
    return _make_profile(dataset, (*profiles, _profile_target(dataset)), frame)


def _make_profile(dataset: Dataset, columns: tuple[ColumnProfile, ...], frame: pd.DataFrame) -> TableProfile:
    """Return the profile of a dataset; `frame` contains all its columns, for the comparison of rows."""
    return TableProfile(
        name=dataset.name,
        source=dataset.source,
        n_rows=len(dataset.y),
        target=dataset.target,
        task=dataset.task,
        columns=columns,
        notes=dataset.notes,
        suspicions=(*_describe(find_columns(dataset)), *_find_row_suspicions(frame, dataset)),
    )


def _inspect_without_target(raw: Source, roles: Roles, rules: ColumnRules) -> TableProfile:
    names = [str(name) for name in raw.frame.columns]
    for key, listed in rules.lists.items():
        for name in listed:
            require_column(names, key, str(name))
    frame = raw.frame.set_axis(names, axis=1).reset_index(drop=True)
    named = {name: key for key, name in roles.named.items() if key != TARGET}
    for name, key in named.items():
        require_column(names, key, name)
    features = [name for name in names if name not in named and name not in rules.drop]
    converted = convert_columns(frame[features], rules, raw.declared)
    by_name = {column.name: column for column in converted.columns}
    cells = _read_all(raw, rules)
    columns = [by_name.get(name) or _describe_other(cells[name], named.get(name, DROPPED)) for name in names]
    findings = [
        Finding((name,), clause, f"dataset.drop=[{name}] leaves it out")
        for name, clause in find_row_numbers(converted.frame)
    ]
    findings += [
        Finding(group, clause, f"dataset.drop=[{','.join(group[1:])}] leaves one of them")
        for group, clause in find_same_columns(converted.frame)
    ]
    return TableProfile(
        name=raw.name,
        source=raw.origin,
        n_rows=len(frame),
        target=None,
        task=None,
        columns=tuple(_profile(column, _convert(cells[column.name], column), None) for column in columns),
        notes=(*raw.notes, *describe_left_out(converted.columns)),
        suspicions=(*_describe(findings), *_find_row_suspicions(frame, None)),
    )


def _read_all(raw: Source, rules: ColumnRules) -> dict[str, Cells]:
    frame = raw.frame.set_axis([str(name) for name in raw.frame.columns], axis=1)
    return {name: read_column(frame[name], rules, raw.declared) for name in frame.columns}


def _describe_other(cells: Cells, role: str) -> Column:
    """Return a column that is not examined as a feature, because of its role."""
    kind = find_kind(cells)
    distinct = cells.distinct
    n_missing = int((distinct.codes < 0).sum())
    return Column(cells.name, kind.name, kind.reason, role=role, n_missing=n_missing, n_distinct=len(distinct.values))


def _convert(cells: Cells, column: Column) -> pd.Series:
    """Return the cells of a column of any role as numbers, dates or categories."""
    if column.kind == DATE:
        date_format = column.date_format or find_date_format(cells)
        return pd.Series(convert_cells(cells, replace(column, date_format=date_format))).reset_index(drop=True)
    is_number = column.kind == NUMERIC or (column.kind == IDENTIFIER and cells.reading.is_complete)
    if is_number:
        return pd.Series(cells.reading.values)
    distinct = cells.distinct
    values = list(column.values) if column.kind == ORDERED else distinct.values
    plain = replace(column, kind=ORDERED if column.kind == ORDERED else NOMINAL, values=tuple(values))
    return pd.Series(convert_cells(cells, plain))


def _profile(column: Column, cells: pd.Series, dataset: Dataset | None) -> ColumnProfile:
    histogram = None if column.kind in KINDS_WITHOUT_HISTOGRAM else count_cells(cells)
    if dataset is None or column.role == TARGET:
        return ColumnProfile(column, histogram)
    association = measure_association(cells.reset_index(drop=True), dataset.y)
    return ColumnProfile(column, histogram, None if np.isnan(association) else association)


def _describe_features(dataset: Dataset) -> list[Column]:
    """Return the features of a dataset whose columns were not inferred."""
    kinds = {name: kind for kind, names in dataset.names_by_kind.items() for name in names}
    return [
        _describe_cells(str(name), kinds[str(name)], "given by the dataset", FEATURE, cells)
        for name, cells in dataset.X.items()
    ]


def _profile_target(dataset: Dataset) -> ColumnProfile:
    is_number = not dataset.is_classification
    cells = pd.Series(dataset.y, dtype=np.float64 if is_number else "category")
    kind = NUMERIC if is_number else NOMINAL
    column = _describe_cells(dataset.target, kind, f"target of {dataset.task}", TARGET, cells)
    return ColumnProfile(column, count_cells(cells))


def _describe_cells(name: str, kind: str, reason: str, role: str, cells: pd.Series) -> Column:
    """Return a column of a dataset whose cells have their types already."""
    values = cells.cat.categories if isinstance(cells.dtype, pd.CategoricalDtype) else ()
    n_missing = int(cells.isna().sum())
    return Column(name, kind, reason, role, n_missing, cells.nunique(), tuple(map(str, values)))


def _describe(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield a sentence for each finding."""
    for finding in findings:
        names = ", ".join(map(repr, finding.columns))
        noun = "Column" if len(finding.columns) == 1 else "Columns"
        yield f"{noun} {names} {finding.clause}; {finding.remedy}."


def _find_row_suspicions(frame: pd.DataFrame, dataset: Dataset | None) -> Iterator[str]:
    """Yield sentences about copied rows, and with a target about equal rows of different targets and sorted rows."""
    hashes = pd.util.hash_pandas_object(frame, index=False)
    n_copies = int(hashes.duplicated().sum())
    if n_copies:
        verb = "is" if n_copies == 1 else "are"
        yield f"{n_copies} of {len(frame)} rows {verb} equal to an earlier row in every column."
    if dataset is None:
        return
    n_contradicting = _count_contradictions(dataset)
    if n_contradicting:
        yield (
            f"{n_contradicting} of {len(dataset.y)} rows have the same features as another row with another target, so "
            "that no learner can predict all of them."
        )
    if _is_sorted(dataset.y):
        yield (
            f"The rows are sorted by {dataset.target}: a column that counts rows would give it away, and folds must "
            "be shuffled, which they are by default."
        )


def _count_contradictions(dataset: Dataset) -> int:
    """Return the number of rows whose features occur with several targets; for numbers this is usual, and 0."""
    if not dataset.is_classification:
        return 0
    hashes = pd.util.hash_pandas_object(dataset.X, index=False)
    n_targets = pd.Series(dataset.y).groupby(hashes.to_numpy()).transform("nunique")
    return int((n_targets > 1).sum())


def _is_sorted(y: np.ndarray) -> bool:
    """Return whether equal classes follow one another, or numbers increase or decrease."""
    if y.dtype.kind == "f":
        differences = np.diff(y)
        return len(np.unique(y)) > 2 and bool((differences >= 0).all() or (differences <= 0).all())
    n_changes = int((y[1:] != y[:-1]).sum())
    n_classes = len(np.unique(y))
    return 1 < n_classes < len(y) / 2 and n_changes == n_classes - 1
