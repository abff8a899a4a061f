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
from bakeoff.pipeline.stages.dataset.source import Source
from bakeoff.pipeline.stages.dataset.spelling import format_list_key, spell_cells
from bakeoff.pipeline.stages.dataset.suspicions import suspect_imbalance
from bakeoff.pipeline.stages.dataset.table import (
    CONSTANT,
    DATE,
    DROPPED,
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
    find_missing,
    looks_like_classes,
    read_row_facts,
    read_values,
    suspect_classes,
    to_labels,
    to_targets,
)
from bakeoff.pipeline.text.words import count_nouns

LEFT_OUT_KINDS = {
    IDENTIFIER: ("identifiers", "keep"),
    DATE: ("dates", "dates"),
    TEXT: ("free text", "text"),
    CONSTANT: ("constants", "keep"),
}
"""Kind of columns that are left out -> its noun, and the key that takes them in."""
MAX_SHOWN_COLUMNS = 8


def make_dataset(source: Source, roles: Roles, rules: ColumnRules) -> Dataset:
    """Make a dataset of the cells of a source.

    Parameters
    ----------
    source : Source
        Of n rows.
    roles : Roles
    rules : ColumnRules

    Raises
    ------
    UserError
        A column does not exist, has two roles, or does not agree with its declared kind; or a target is missing.
    """
    require_few_columns(source.frame.shape[1], rules.max_columns, source.name)
    names = [str(name) for name in source.frame.columns]
    target = find_target(names, roles.target)
    named = roles.named | {"target": target}
    _require_columns(names, named, rules)
    require_one_role(roles, target, rules.drop)
    frame = source.frame.set_axis(names, axis=1).reset_index(drop=True)
    target_cells = read_column(frame[target], rules, source.declared)
    is_kept = ~find_missing(target_cells)  # (n,)
    row_notes = _answer_missing_targets(is_kept, target_cells, frame[target], roles, source.name)
    if row_notes:
        frame = frame[is_kept].reset_index(drop=True)
        target_cells = read_column(frame[target], rules, source.declared)
    y, task = _read_target(target_cells, roles)
    features = [name for name in names if name not in named.values() and name not in rules.drop]
    converted = convert_columns(frame[features], rules, source.declared)
    left_out_notes = describe_left_out(converted.columns)
    if converted.frame.shape[1] == 0:
        reasons = " ".join(left_out_notes)
        raise UserError(f"{source.name} has no column left to learn from besides {target!r}. {reasons}".strip())
    cells_of = {key: read_column(frame[name], rules) for key, name in named.items() if key != TARGET}
    facts = read_row_facts(cells_of, rules)
    if source.parts is not None:
        facts.setdefault("parts", source.parts[is_kept])
    described = {column.name: column for column in converted.columns}
    described |= {cells.name: _describe_role(cells, key) for key, cells in cells_of.items()}
    described |= {name: _describe_role(read_column(frame[name], rules), DROPPED) for name in rules.drop}
    described[target] = _describe_target(target_cells, task)
    return Dataset(
        name=source.name,
        X=converted.frame,
        y=y,
        task=task,
        target=target,
        positive=find_positive_class(roles.positive, y, task),
        source=source.origin,
        columns=tuple(described[name] for name in names),
        notes=(*source.notes, *row_notes, *left_out_notes, *_note_untested_rows(facts.get("folds"))),
        guessed=source.guessed,
        class_order=_find_class_order(target_cells, y, task, source.declared.get(target, ())),
        **facts,
    )


def describe_left_out(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return a sentence for each kind of which columns are left out, with the key that takes them in.

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
    for kind, (noun, key) in LEFT_OUT_KINDS.items():
        found = [column for column in columns if column.kind == kind and column.role == LEFT_OUT]
        if not found:
            continue
        shown = found[:MAX_SHOWN_COLUMNS]
        listed = ", ".join(f"{column.name} ({column.reason})" for column in shown)
        further = f" and {len(found) - len(shown)} more" if len(found) > len(shown) else ""
        pronoun = "it" if len(found) == 1 else "them"
        cure = format_list_key(key, [column.name for column in shown])
        sentences.append(f"Left out as {noun}: {listed}{further}. {cure} takes {pronoun} in.")
    return tuple(sentences)


def _require_columns(names: Sequence[str], named: Mapping[str, str], rules: ColumnRules) -> None:
    """Reject names of columns that the source does not have."""
    listed = [(key, name) for key, of_key in rules.lists.items() for name in of_key]
    spelled = rules.na_values if isinstance(rules.na_values, Mapping) else ()
    for key, name in [*listed, *named.items(), *(("na_values", str(name)) for name in spelled)]:
        require_column(names, key, name)


def _answer_missing_targets(
    is_kept: np.ndarray, target: Cells, spelled: pd.Series, roles: Roles, name: str
) -> tuple[str, ...]:
    """Return a sentence about the rows without a target; raises UserError if they were not asked to be left out."""
    n_missing = int(np.count_nonzero(~is_kept))
    if n_missing == 0:
        return ()
    if n_missing == len(is_kept):
        raise UserError(f"dataset.target={target.name!r}: all cells are missing in {name}.")
    if not roles.drop_missing_target:
        classes = [spelling for spelling in ("NA", "NaN", "nan") if (spelled.astype("string") == spelling).any()]
        hint = f" If {classes[0]!r} is a class, dataset.na_values={{{target.name}: []}} keeps it." if classes else ""
        raise UserError(
            f"dataset.target={target.name!r} has {count_nouns(n_missing, 'missing cell')} in {name}; remove those "
            f"rows, or leave them out with dataset.drop_missing_target=true.{hint}"
        )
    verb = "row is" if n_missing == 1 else "rows are"
    return (f"{n_missing} of {len(is_kept)} {verb} left out, because their target is missing.",)


def _read_target(cells: Cells, roles: Roles) -> tuple[np.ndarray, str]:
    """Return the targets of shape (n,), and the task."""
    values = read_values(cells)
    task = roles.task
    if task is None:
        check_classes(cells)
        task = "classification" if looks_like_classes(values) else "regression"
    return (to_labels(values) if task == "classification" else to_targets(cells)), task


def _find_class_order(cells: Cells, y: np.ndarray, task: str, declared: Sequence[str]) -> tuple[Any, ...] | None:
    """Return the classes in their declared order; None if nothing is declared, or the order is the sorted one."""
    if task != "classification" or not declared or cells.text is None:
        return None
    labels = dict(zip(cells.text.to_pylist(), y.tolist(), strict=True))  # text -> label
    order = [labels[value] for value in spell_cells(declared) if value in labels]
    classes = np.unique(y).tolist()
    is_complete = sorted(order, key=classes.index) == classes
    return tuple(order) if is_complete and order != classes else None


def _describe_role(cells: Cells, role: str) -> Column:
    """Return a column that is no feature because of its role."""
    kind = find_kind(cells)
    return describe_cells(cells, Column(cells.name, kind.name, kind.reason, role=role))


def _describe_target(cells: Cells, task: str) -> Column:
    is_regression = task == "regression"
    kind = NUMERIC if is_regression else NOMINAL
    column = describe_cells(cells, Column(cells.name, kind, f"target of {task}", role=TARGET))
    return column if is_regression else replace(column, suspicions=(*suspect_classes(cells), *suspect_imbalance(cells)))


def _note_untested_rows(folds: np.ndarray | None) -> tuple[str, ...]:
    """Return a sentence about the rows that are never tested; nothing if there are none."""
    n_untested = 0 if folds is None else int((folds < 0).sum())
    if n_untested == 0:
        return ()
    return (f"dataset.folds: {n_untested} rows have a negative fold, so they are trained on and never tested.",)
