"""From a source to a dataset: roles of columns, kinds of features, and the target of a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.cells import Cells
from bakeoff.pipeline.stages.dataset.convert import convert_columns, describe_cells, read_column
from bakeoff.pipeline.stages.dataset.keys import ColumnRules, Roles, find_target, require_column, require_one_role
from bakeoff.pipeline.stages.dataset.kinds import find_kind
from bakeoff.pipeline.stages.dataset.size_limits import require_few_columns
from bakeoff.pipeline.stages.dataset.source import RawTable
from bakeoff.pipeline.stages.dataset.spelling import format_list_key, spell_cells
from bakeoff.pipeline.stages.dataset.suspicions import suspect_imbalance
from bakeoff.pipeline.stages.dataset.table import (
    CONSTANT,
    DATE,
    DROPPED,
    FEATURE,
    IDENTIFIER,
    LEFT_OUT,
    NOMINAL,
    NUMERIC,
    TARGET,
    TEXT,
    Column,
    Dataset,
    find_positive_class,
)
from bakeoff.pipeline.stages.dataset.target import (
    check_classes,
    encode_groups,
    find_missing,
    looks_like_classes,
    note_untested_rows,
    read_folds,
    read_parts,
    read_times,
    read_values,
    read_weights,
    suspect_classes,
    to_labels,
    to_targets,
)
from bakeoff.pipeline.text.words import count_nouns

KEYS = {IDENTIFIER: "keep", DATE: "dates", TEXT: "text", CONSTANT: "keep"}
NOUNS = {
    IDENTIFIER: "identifiers",
    DATE: "dates",
    TEXT: "free text",
    CONSTANT: "constants",
}
MAX_SHOWN_COLUMNS = 8


def describe_left_out(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return a sentence for each kind of which columns are left out.

    Parameters
    ----------
    columns : sequence of Column
        Those with another role than left out are ignored.

    Examples
    --------
    >>> describe_left_out([Column("id", IDENTIFIER, "90 different in 90 cells", role=LEFT_OUT)])
    ('Left out as identifiers: id (90 different in 90 cells). dataset.keep=[id] takes it in.',)
    """
    sentences = []
    for kind, noun in NOUNS.items():
        found = [column for column in columns if column.kind == kind and column.role == LEFT_OUT]
        if not found:
            continue
        shown = [f"{column.name} ({column.reason})" for column in found[:MAX_SHOWN_COLUMNS]]
        n_further = len(found) - len(shown)
        further = f" and {n_further} more" if n_further else ""
        key = format_list_key(KEYS[kind], [column.name for column in found[:MAX_SHOWN_COLUMNS]])
        pronoun = "it" if len(found) == 1 else "them"
        sentences.append(f"Left out as {noun}: {', '.join(shown)}{further}. {key} takes {pronoun} in.")
    return tuple(sentences)


def make_dataset(raw: RawTable, roles: Roles, rules: ColumnRules) -> Dataset:
    """Make a dataset of the cells of a source.

    Parameters
    ----------
    raw : RawTable
        Of n rows.
    roles : Roles
    rules : ColumnRules

    Raises
    ------
    UserError
        A column does not exist, has two roles, or does not agree with its declared kind; or a target is missing.
    """
    require_few_columns(raw.frame.shape[1], rules.max_columns, raw.name)
    names = [str(name) for name in raw.frame.columns]
    target = find_target(names, roles.target)
    named = roles.named | {"target": target}
    _require_columns(names, named, rules)
    require_one_role(roles, target, rules.drop)
    frame = raw.frame.set_axis(names, axis=1).reset_index(drop=True)
    target_cells = read_column(frame[target], rules, raw.declared)
    frame, kept_rows, row_notes = _leave_out_rows(frame, target_cells, roles, raw)
    if not kept_rows.all():
        target_cells = read_column(frame[target], rules, raw.declared)
    y, task = _read_target(target_cells, roles)
    features = [name for name in names if name not in named.values() and name not in rules.drop]
    converted = convert_columns(frame[features], rules, raw.declared)
    left_out_notes = describe_left_out(converted.columns)
    if converted.frame.shape[1] == 0:
        reasons = " ".join(left_out_notes)
        raise UserError(f"{raw.name} has no column left to learn from besides {target!r}. {reasons}".strip())
    roles_of_columns = {name: key for key, name in named.items()} | dict.fromkeys(rules.drop, DROPPED)
    columns = _list_columns(frame, converted.columns, roles_of_columns, rules, target_cells, task)
    row_facts = _read_row_facts(frame, roles, rules)
    if row_facts["parts"] is None and raw.parts is not None:
        row_facts["parts"] = raw.parts[kept_rows]
    return Dataset(
        name=raw.name,
        X=converted.frame,
        y=y,
        task=task,
        target=target,
        positive=find_positive_class(roles.positive, y, task),
        source=raw.source,
        columns=columns,
        notes=(*raw.notes, *row_notes, *left_out_notes, *note_untested_rows(row_facts["folds"])),
        guessed=raw.guessed,
        class_order=_find_class_order(target_cells, y, task, raw.declared.get(target, ())),
        **row_facts,
    )


def _find_class_order(cells: Cells, y: np.ndarray, task: str, declared: Sequence[str]) -> tuple[Any, ...] | None:
    """Return the classes in their declared order; None if nothing is declared, or the order is the sorted one."""
    if task != "classification" or not declared or cells.text is None:
        return None
    labels = dict(zip(cells.text.to_pylist(), y.tolist(), strict=True))  # text -> label
    order = tuple(labels[value] for value in spell_cells(declared) if value in labels)
    classes = np.unique(y).tolist()
    is_complete = sorted(order, key=classes.index) == classes
    return order if is_complete and list(order) != classes else None


def _read_row_facts(frame: pd.DataFrame, roles: Roles, rules: ColumnRules) -> dict[str, Any]:
    """Return what columns say about the rows, each of shape (n,), or None where no column is named."""
    cells = {key: read_column(frame[name], rules) for key, name in roles.named.items() if key != TARGET}
    facts: dict[str, Any] = dict.fromkeys(("groups", "weights", "parts", "folds", "times"))
    if "groups" in cells:
        facts["groups"] = encode_groups(cells["groups"])
    if "weights" in cells:
        facts["weights"] = read_weights(cells["weights"])
    if "split" in cells:
        facts["parts"] = read_parts(cells["split"])
    if "folds" in cells:
        facts["folds"] = read_folds(cells["folds"])
    if "time" in cells:
        date_format = rules.get_date_format(cells["time"].name)
        facts["times"] = read_times(cells["time"], date_format)
    return facts


def _require_columns(names: Sequence[str], named: dict[str, str], rules: ColumnRules) -> None:
    """Reject names of columns that the source does not have."""
    for key, listed in rules.lists.items():
        for name in listed:
            require_column(names, key, str(name))
    for key, name in named.items():
        require_column(names, key, name)
    if isinstance(rules.na_values, Mapping):
        for name in rules.na_values:
            require_column(names, "na_values", str(name))


def _leave_out_rows(
    frame: pd.DataFrame, target: Cells, roles: Roles, raw: RawTable
) -> tuple[pd.DataFrame, np.ndarray, tuple[str, ...]]:
    """Return the rows with a target, which rows they are, and a sentence about the others.

    Raises
    ------
    UserError
        Rows have no target, and were not asked to be left out.
    """
    is_kept = ~find_missing(target)  # (n,)
    n_missing = int(np.count_nonzero(~is_kept))
    if n_missing == 0:
        return frame, is_kept, ()
    if n_missing == len(is_kept):
        raise UserError(f"dataset.target={target.name!r}: all cells are missing in {raw.name}.")
    if not roles.drop_missing_target:
        raise UserError(
            f"dataset.target={target.name!r} has {count_nouns(n_missing, 'missing cell')} in {raw.name}; remove those "
            f"rows, or "
            f"leave them out with dataset.drop_missing_target=true.{_explain_spelling(frame[target.name])}"
        )
    verb = "row is" if n_missing == 1 else "rows are"
    note = f"{n_missing} of {len(is_kept)} {verb} left out, because their target is missing."
    return frame[is_kept].reset_index(drop=True), is_kept, (note,)


def _explain_spelling(target: pd.Series) -> str:
    """Return a sentence about classes that are spelled like missing cells; empty if there are none."""
    spelled = [spelling for spelling in ("NA", "NaN", "nan") if (target.astype("string") == spelling).any()]
    if not spelled:
        return ""
    return f" If {spelled[0]!r} is a class, dataset.na_values={{{target.name}: []}} keeps it."


def _read_target(cells: Cells, roles: Roles) -> tuple[np.ndarray, str]:
    """Return the targets of shape (n,), and the task."""
    values = read_values(cells)
    task = roles.task
    if task is None:
        check_classes(cells)
        task = "classification" if looks_like_classes(values) else "regression"
    return (to_labels(values) if task == "classification" else to_targets(cells)), task


def _list_columns(
    frame: pd.DataFrame,
    features: Sequence[Column],
    role_of: dict[str, str],
    rules: ColumnRules,
    target_cells: Cells,
    task: str,
) -> tuple[Column, ...]:
    """Return all columns of the source, in its order, with their roles."""
    by_name = {column.name: column for column in features}
    columns = []
    for name in frame.columns:
        role = role_of.get(name, FEATURE)
        if role == TARGET:
            columns.append(_describe_target(target_cells, task))
        elif role == FEATURE:
            columns.append(by_name[name])
        else:
            cells = read_column(frame[name], rules)
            kind = find_kind(cells)
            columns.append(describe_cells(cells, Column(name, kind.name, kind.reason, role=role)))
    return tuple(columns)


def _describe_target(cells: Cells, task: str) -> Column:
    is_regression = task == "regression"
    kind = NUMERIC if is_regression else NOMINAL
    column = describe_cells(cells, Column(cells.name, kind, f"target of {task}", role=TARGET))
    return column if is_regression else replace(column, suspicions=(*suspect_classes(cells), *suspect_imbalance(cells)))
