"""From a raw table to a dataset: roles of columns, kinds of features, and the target of a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import column as roles_of
from bakeoff.pipeline.stages.dataset.column import Column
from bakeoff.pipeline.stages.dataset.columns import ColumnRules, convert_columns
from bakeoff.pipeline.stages.dataset.columns.kinds import looks_like_classes, read_target, to_labels, to_targets
from bakeoff.pipeline.stages.dataset.reading import RawTable
from bakeoff.pipeline.stages.dataset.roles import Roles, find_target, require_column, require_one_role
from bakeoff.pipeline.stages.dataset.table import Dataset, find_positive_class

PARTS = ("train", "validation", "test")


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
    names = [str(name) for name in raw.frame.columns]
    target = find_target(names, roles.target)
    for key, listed in rules.lists.items():
        for name in listed:
            require_column(names, key, name)
    named = roles.named | {"target": target}
    for key, name in named.items():
        require_column(names, key, name)
    require_one_role(roles, target, rules.drop)
    frame = raw.frame.reset_index(drop=True)
    targets = read_target(frame[target])
    frame, targets, notes = _leave_out_rows(frame, targets, roles, raw)
    features = [name for name in names if name not in named.values() and name not in rules.drop]
    if not features:
        raise UserError(f"dataset.path={raw.name} has no column left to learn from besides {target!r}.")
    converted = convert_columns(frame[features], rules)
    task = roles.task
    if task is None:
        task = "classification" if looks_like_classes(targets) else "regression"
    y = to_labels(targets) if task == "classification" else to_targets(targets, target)  # (n,)
    folds = None if roles.folds is None else _read_folds(frame, roles.folds)  # (n,)
    return Dataset(
        name=raw.name,
        X=converted.frame,
        y=y,
        task=task,
        target=target,
        positive=find_positive_class(roles.positive, y, task),
        groups=None if roles.groups is None else _encode_values(frame, "groups", roles.groups),
        source=raw.source,
        columns=_list_columns(names, converted.columns, named, rules.drop),
        notes=(*raw.notes, *notes, *_note_untested_rows(folds)),
        weights=None if roles.weights is None else _read_weights(frame, roles.weights),
        parts=_read_parts(frame, roles.split) if roles.split is not None else raw.parts,
        folds=folds,
        times=None if roles.time is None else _read_times(frame, roles.time),
    )


def _leave_out_rows(
    frame: pd.DataFrame, targets: pd.Series, roles: Roles, raw: RawTable
) -> tuple[pd.DataFrame, pd.Series, tuple[str, ...]]:
    """Return the rows with a target, and a sentence about the others; raises UserError if they were not asked for."""
    is_missing = targets.isna()
    n_missing = int(is_missing.sum())
    if n_missing == 0:
        return frame, targets, ()
    if not roles.drop_missing_target:
        raise UserError(
            f"dataset.target={targets.name!r} has {n_missing} missing cells in {raw.name}; remove those rows, or "
            "leave them out with dataset.drop_missing_target=true."
        )
    note = f"{n_missing} of {len(targets)} rows are left out, because their target is missing."
    kept_targets = targets[~is_missing].infer_objects().reset_index(drop=True)
    return frame[~is_missing].reset_index(drop=True), kept_targets, (note,)


def _list_columns(
    names: Sequence[str], features: Sequence[Column], named: dict[str, str], dropped: Sequence[str]
) -> tuple[Column, ...]:
    """Return all columns of the source, in its order, with their roles."""
    by_name = {column.name: column for column in features}
    role_of = {name: key for key, name in named.items()}
    columns = []
    for name in names:
        role = roles_of.DROPPED if name in dropped else role_of.get(name, roles_of.FEATURE)
        column = by_name.get(name, Column(name, roles_of.NOMINAL, ""))
        columns.append(column if role == roles_of.FEATURE else replace(column, role=role))
    return tuple(columns)


def _encode_values(frame: pd.DataFrame, key: str, name: str) -> np.ndarray:
    """Return the code of each row's value, shape (n,)."""
    column = _require_full(frame, key, name)
    return np.unique(column.astype(str), return_inverse=True)[1]


def _read_weights(frame: pd.DataFrame, name: str) -> np.ndarray:
    """Return the weights of the rows, shape (n,)."""
    column = _require_full(frame, "weights", name)
    weights = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)  # (n,)
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise UserError(f"dataset.weights={name!r} must hold numbers from 0, not all of them 0.")
    return weights


def _read_parts(frame: pd.DataFrame, name: str) -> np.ndarray:
    """Return the part of each row, shape (n,)."""
    column = _require_full(frame, "split", name)
    parts = column.astype(str).str.strip().str.lower()
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        raise UserError(f"dataset.split={name!r} holds {unknown[0]!r}; allowed are {', '.join(PARTS)}.")
    return parts.to_numpy(dtype=str)


def _read_folds(frame: pd.DataFrame, name: str) -> np.ndarray:
    """Return the fold of each row, shape (n,): whole numbers as they are, of which negative ones are never tested."""
    column = _require_full(frame, "folds", name)
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)  # (n,)
    if (numbers == np.round(numbers)).all():
        return numbers.astype(np.int64)
    return np.unique(column.astype(str), return_inverse=True)[1]


def _note_untested_rows(folds: np.ndarray | None) -> tuple[str, ...]:
    """Return a sentence about the rows that are never tested; nothing if there are none."""
    n_untested = 0 if folds is None else int((folds < 0).sum())
    if n_untested == 0:
        return ()
    return (f"dataset.folds: {n_untested} rows have a negative fold, so they are trained on and never tested.",)


def _read_times(frame: pd.DataFrame, name: str) -> np.ndarray:
    """Return the times of the rows, shape (n,), as float64 or datetime64[ns]."""
    column = _require_full(frame, "time", name)
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.notna().all():
        return numbers.to_numpy(dtype=np.float64)
    times = pd.to_datetime(column, errors="coerce")
    if times.isna().any():
        raise UserError(f"dataset.time={name!r} holds {column[times.isna()].iloc[0]!r}, which is no number or date.")
    return times.to_numpy(dtype="datetime64[ns]")


def _require_full(frame: pd.DataFrame, key: str, name: str) -> pd.Series:
    column = read_target(frame[name])
    n_missing = int(column.isna().sum())
    if n_missing:
        raise UserError(f"dataset.{key}={name!r} has {n_missing} missing cells; each row needs a value.")
    return column
