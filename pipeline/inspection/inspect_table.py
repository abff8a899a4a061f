"""An inspection: the columns of a source, those that a run leaves out included, with histogram and association."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from bakeoff.pipeline.audit.columns import Finding, find_columns, find_row_numbers
from bakeoff.pipeline.audit.same_columns import find_same_columns
from bakeoff.pipeline.inspection.association import measure_association
from bakeoff.pipeline.inspection.histogram import count_cells
from bakeoff.pipeline.inspection.profile import ColumnProfile, TableProfile
from bakeoff.pipeline.inspection.rows import find_row_suspicions
from bakeoff.pipeline.stages.dataset import Column, ColumnRules, Dataset, RawTable, Roles, make_dataset
from bakeoff.pipeline.stages.dataset.assembly import describe_left_out
from bakeoff.pipeline.stages.dataset.cells import Cells
from bakeoff.pipeline.stages.dataset.convert import convert_cells, convert_columns, read_column
from bakeoff.pipeline.stages.dataset.keys import require_column
from bakeoff.pipeline.stages.dataset.kinds import find_date_format, find_kind
from bakeoff.pipeline.stages.dataset.table import DATE, DROPPED, IDENTIFIER, NOMINAL, NUMERIC, ORDERED, TARGET, TEXT

KINDS_WITHOUT_HISTOGRAM = (IDENTIFIER, TEXT)


def inspect_source(raw: RawTable, roles: Roles, rules: ColumnRules, target: str | None) -> TableProfile:
    """Inspect the cells of a source.

    Parameters
    ----------
    raw : RawTable
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
    columns = dataset.columns or _describe_features(dataset)
    profiles = [
        _profile(column, dataset.X[column.name], dataset) for column in columns if column.name in dataset.X.columns
    ]
    frame = dataset.X.assign(**{f"{dataset.target} (target)": dataset.y})
    return _make_profile(dataset, (*profiles, _profile_target(dataset)), frame)


def _make_profile(dataset: Dataset, columns: tuple[ColumnProfile, ...], frame: pd.DataFrame) -> TableProfile:
    """Return the profile of a dataset; `frame` holds all its columns, for the comparison of rows."""
    return TableProfile(
        name=dataset.name,
        source=dataset.source,
        n_rows=len(dataset.y),
        target=dataset.target,
        task=dataset.task,
        columns=columns,
        notes=dataset.notes,
        suspicions=(*_describe(find_columns(dataset)), *find_row_suspicions(frame, dataset)),
    )


def _inspect_without_target(raw: RawTable, roles: Roles, rules: ColumnRules) -> TableProfile:
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
        *(
            Finding((name,), clause, f"dataset.drop=[{name}] leaves it out")
            for name, clause in find_row_numbers(converted.frame)
        ),
        *(
            Finding(group, clause, f"dataset.drop=[{','.join(group[1:])}] leaves one of them")
            for group, clause in find_same_columns(converted.frame)
        ),
    ]
    return TableProfile(
        name=raw.name,
        source=raw.source,
        n_rows=len(frame),
        target=None,
        task=None,
        columns=tuple(_profile(column, _convert(cells[column.name], column), None) for column in columns),
        notes=(*raw.notes, *describe_left_out(converted.columns)),
        suspicions=(*_describe(findings), *find_row_suspicions(frame, None)),
    )


def _read_all(raw: RawTable, rules: ColumnRules) -> dict[str, Cells]:
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
    association = None
    if dataset is not None and column.role != TARGET:
        association = measure_association(cells.reset_index(drop=True), dataset.y)
    return ColumnProfile(column, histogram, association)


def _describe_features(dataset: Dataset) -> tuple[Column, ...]:
    """Return the features of a dataset whose columns were not inferred."""
    kinds = {name: kind for kind, names in dataset.names_by_kind.items() for name in names}
    columns = []
    for name, cells in dataset.X.items():
        is_nominal = isinstance(cells.dtype, pd.CategoricalDtype)
        values = cells.cat.categories.tolist() if is_nominal else []
        columns.append(
            Column(
                str(name),
                kinds[str(name)],
                "given by the dataset",
                n_missing=int(cells.isna().sum()),
                n_distinct=cells.nunique(),
                values=tuple(map(str, values)),
            )
        )
    return tuple(columns)


def _profile_target(dataset: Dataset) -> ColumnProfile:
    is_number = not dataset.is_classification
    cells = pd.Series(dataset.y, dtype=np.float64 if is_number else "category")
    kind = NUMERIC if is_number else NOMINAL
    values = () if is_number else tuple(map(str, dataset.classes))
    column = Column(
        dataset.target, kind, f"target of {dataset.task}", TARGET, n_distinct=cells.nunique(), values=values
    )
    return ColumnProfile(column, count_cells(cells))


def _describe(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield a sentence for each finding."""
    for finding in findings:
        names = ", ".join(map(repr, finding.columns))
        noun = "Column" if len(finding.columns) == 1 else "Columns"
        yield f"{noun} {names} {finding.clause}; {finding.remedy}."
