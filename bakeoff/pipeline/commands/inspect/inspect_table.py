"""The inferred kind of each column of a table, and warnings about suspicious columns.

Columns that a run omits are included.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.audit.columns import UNDEFINED, CopiedRows, RareClasses, UnusedOrder, find_in_table
from bakeoff.pipeline.commands.inspect.profile import (
    ColumnProfile,
    TableProfile,
    count_cells,
    find_pairs,
    list_quantiles,
    measure_association,
    render_page,
    write_dataset_file,
)
from bakeoff.pipeline.config import build, compose_job, targets, words
from bakeoff.pipeline.config.trust import add_trust_of_environment
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import Column, Dataset, convert, files, kinds, loaders
from bakeoff.pipeline.stages.dataset.cells import Cells, read_cells
from bakeoff.pipeline.stages.dataset.keys import ColumnRules, Roles, name_roles
from bakeoff.pipeline.stages.dataset.odd_rows import suspect_rows
from bakeoff.pipeline.stages.dataset.source import Source
from bakeoff.pipeline.stages.dataset.table import DATE, IDENTIFIER, NOMINAL, NUMERIC, ORDERED, TARGET, TEXT
from bakeoff.pipeline.tables.output_file import INSPECTION, NO_FILE, PAGE_FORMAT, name_file, require_output, write_whole
from bakeoff.pipeline.text.wording import MISSING_VALUE, count_nouns, name_first
from bakeoff.pipeline.tracking.store import list_store_paths

N_FOLDS = 5
"""The default of evaluation=kfold."""
KINDS_WITHOUT_HISTOGRAM = (IDENTIFIER, TEXT)


def inspect_named(overrides: Sequence[str], form: str, output: Path | None) -> tuple[TableProfile, Path | None, str]:
    """Inspect files or a dataset, and write the page or the file of the dataset.

    Parameters
    ----------
    overrides : sequence of str
        Overrides that choose the dataset.
    form : str
        The page, or the file of the dataset.
    output : Path or None
        The file to write, or `NO_FILE`; by default the page is named after the dataset.

    Returns
    -------
    profile : TableProfile
    path : Path or None
        The file that was written.
    text : str
        Its content, or that of a file that is not written.

    Raises
    ------
    UserError
        A file, option, key or column does not exist, or the file cannot be written.
    """
    words.check_overrides(overrides)
    composed = compose_job.compose_parts(add_trust_of_environment(overrides), ["dataset", "trust"])
    inputs = files.list_dataset_files(composed["dataset"])
    require_page = partial(require_output, kind=INSPECTION, inputs=inputs, store=list_store_paths(None))
    path = None if output in (None, NO_FILE) else require_page(output)
    profile = _inspect_node(composed["dataset"], composed["trust"])
    text = render_page(profile) if form == PAGE_FORMAT else write_dataset_file(profile, composed["dataset"])
    if output is None and form == PAGE_FORMAT:
        path = require_page(f"{name_file(profile.name)}.inspection.html")
    if path is not None:
        write_whole(path, text)
    return profile, path, text


def _inspect_node(node: Mapping[str, Any], trust: Sequence[str]) -> TableProfile:
    """Inspect the dataset described by a configuration, in which a mandatory value may be missing."""
    targets.require_names(node, "dataset", trust)
    function = build.find_target(str(node.get("_target_")), "dataset._target_", trust)
    has_target = node.get("target") != MISSING_VALUE
    missing = [key for key, value in node.items() if value == MISSING_VALUE and key != "target"]
    if missing:
        raise UserError(f"dataset.{missing[0]} must be given: add {missing[0]}=VALUE.")
    if function not in loaders.COLLECTORS:
        return inspect_dataset(build.build_object(node, "dataset", list(trust)))
    keys = {key: value for key, value in node.items() if not key.startswith("_")}
    source, roles, rules = loaders.COLLECTORS[function](**keys)
    # OpenML specifies the target itself.
    return inspect_source(source, roles, rules, roles.target if has_target else None)


def inspect_source(raw: Source, roles: Roles, rules: ColumnRules, target: str | None) -> TableProfile:
    """Inspect the cells of a source.

    Parameters
    ----------
    raw : Source
    roles : Roles
        The roles, whose target is used only if `target` is not None.
    rules : ColumnRules
    target : str or None
        The target. If it is None, there are no associations, and nothing is compared with a target.

    Raises
    ------
    UserError
        A column does not exist, or does not match its declared kind.
    """
    names = [str(name) for name in raw.frame.columns]
    raw, rules = kinds.settle_source(raw, rules)
    frame = raw.frame.set_axis(names, axis=1).reset_index(drop=True)
    cells = {name: read_cells(frame[name], rules, raw.declared) for name in names}
    if target is None:
        return _inspect_without_target(raw, roles, rules, cells, frame)
    dataset = loaders.make_dataset(raw, replace(roles, drop_missing_target=True), rules)
    kept = cells[dataset.target].distinct.codes >= 0  # (n,)
    profiles = [_profile(column, _convert(cells[column.name], column)[kept], dataset) for column in dataset.columns]
    profile = _make_profile(dataset, tuple(profiles), frame.loc[kept.tolist()])
    if kept.all() or roles.drop_missing_target:
        return profile
    missing = loaders.explain_missing_targets(int((~kept).sum()), dataset.target, raw.name)
    return replace(profile, suspicions=(missing, *profile.suspicions))


def _inspect_without_target(
    raw: Source, roles: Roles, rules: ColumnRules, cells: Mapping[str, Cells], frame: pd.DataFrame
) -> TableProfile:
    """Inspect the columns of a source of which none is known to be the target."""
    named = name_roles(list(cells), roles, rules, has_target=False)
    X, described = loaders.describe_columns(frame, named, rules, raw)
    described = suspect_rows(loaders.suspect_placeholders(described, rules), frame, X.select_dtypes("number"))
    columns = [described[name] for name in cells]
    profiles = tuple(_profile(column, _convert(cells[column.name], column), None) for column in columns)
    notes = (*raw.notes, *loaders.describe_left_out(columns))
    ordered = [column.name for column in columns if column.is_row_order][:1]
    suspicions = (*(str(UnusedOrder().report_order(raw.name, name)) for name in ordered), *_count_copies(frame))
    return TableProfile(raw.name, raw.origin, len(frame), None, None, profiles, notes, suspicions, find_pairs(X))


def inspect_dataset(dataset: Dataset) -> TableProfile:
    """Inspect the features and the target of a dataset whose source bakeoff does not read, such as a bundled one.

    Parameters
    ----------
    dataset : Dataset
    """
    profiles = [
        _profile(column, dataset.X[column.name], dataset)
        for column in dataset.described_columns
        if column.name in dataset.X.columns
    ]
    frame = dataset.X.assign(**{f"{dataset.target} (target)": dataset.y})
    return _make_profile(dataset, (*profiles, _profile_target(dataset)), frame)


def _make_profile(dataset: Dataset, columns: tuple[ColumnProfile, ...], frame: pd.DataFrame) -> TableProfile:
    """Return the profile of a dataset; `frame` contains all its columns, which are needed to compare rows."""
    return TableProfile(
        name=dataset.name,
        source=dataset.source,
        n_rows=len(dataset.y),
        target=dataset.target,
        task=dataset.task,
        columns=columns,
        notes=dataset.notes,
        suspicions=(
            *map(str, find_in_table(dataset)),
            *_find_rare_classes(dataset),
            *_count_copies(frame),
        ),
        pairs=find_pairs(dataset.X),
    )


def _convert(cells: Cells, column: Column) -> pd.Series:
    """Return the cells of a column of any role as numbers, dates or categories."""
    if column.kind == DATE:
        date_format = column.date_format or kinds.find_date_format(cells)
        return pd.Series(convert.convert_cells(cells, replace(column, date_format=date_format))).reset_index(drop=True)
    is_number = column.kind == NUMERIC or (column.kind == IDENTIFIER and cells.reading.is_complete)
    if is_number:
        return pd.Series(cells.reading.values)
    distinct = cells.distinct
    values = list(column.values) if column.kind == ORDERED else distinct.values
    plain = replace(column, kind=ORDERED if column.kind == ORDERED else NOMINAL, values=tuple(values))
    return pd.Series(convert.convert_cells(cells, plain))


def _profile(column: Column, cells: pd.Series, dataset: Dataset | None) -> ColumnProfile:
    has_histogram = column.kind not in KINDS_WITHOUT_HISTOGRAM
    found = ColumnProfile(column)
    if has_histogram:
        found = ColumnProfile(column, count_cells(cells), quantiles=list_quantiles(cells))
    if dataset is None or column.role == TARGET:
        return found
    association = measure_association(cells.reset_index(drop=True), dataset.y)
    return found if np.isnan(association) else replace(found, association=association)


def _profile_target(dataset: Dataset) -> ColumnProfile:
    is_number = not dataset.is_classification
    cells = pd.Series(dataset.y, dtype=np.float64 if is_number else "category")
    values = () if is_number else tuple(map(str, dataset.classes))
    kind = NUMERIC if is_number else NOMINAL
    column = Column(dataset.target, kind, f"target of {dataset.task}", TARGET, 0, cells.nunique(), values)
    return ColumnProfile(column, count_cells(cells), quantiles=list_quantiles(cells))


def _find_rare_classes(dataset: Dataset) -> Iterator[str]:
    """Yield a message about classes with fewer rows than folds, if there are any."""
    if not dataset.is_classification:
        return
    n_rows = pd.Series(dataset.y).value_counts()
    rare = [f"{label} ({count_nouns(n, 'row')})" for label, n in n_rows.items() if n < N_FOLDS]
    if rare:
        is_number = dataset.y.dtype.kind == "i"
        cure = "; if the whole numbers are amounts, give dataset.task=regression" if is_number else ""
        yield (
            f"{RareClasses.code} {dataset.target}: not every fold of evaluation=kfold can test classes with fewer than "
            f"{N_FOLDS} rows: {name_first(rare)}; {UNDEFINED}{cure}."
        )


def _count_copies(frame: pd.DataFrame) -> Iterator[str]:
    """Yield a message about duplicate rows, if there are any."""
    n_copies = int(pd.util.hash_pandas_object(frame, index=False).duplicated().sum())
    if n_copies:
        yield f"{CopiedRows.code} {n_copies} of {len(frame)} rows are equal to an earlier row in every column."
