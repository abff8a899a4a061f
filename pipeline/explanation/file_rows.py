"""The rows of a file that a model is explained on, with their targets if the file has them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bakeoff.pipeline.model import Model
from bakeoff.pipeline.model.row_conversion import convert_rows
from bakeoff.pipeline.stages.dataset import ColumnRules, convert_like


@dataclass(frozen=True)
class FileRows:
    """The rows of a file, in the form that a model requires.

    Attributes
    ----------
    name : str
        Of the file.
    X : DataFrame of shape (m, d)
    target : str
        The name of the target.
    truth : ndarray of shape (m,) or None
        The target in the labels of the model, with None or NaN where it is missing or no class of the model; None if
        the file has no such column.
    """

    name: str
    X: pd.DataFrame
    target: str
    truth: np.ndarray | None = None


def convert_file_rows(model: Model, name: str, frame: pd.DataFrame, rules: ColumnRules, target: str) -> FileRows:
    """Return the rows of a file in the form that a model requires.

    Parameters
    ----------
    model : Model
    name : str
        Of the file.
    frame : DataFrame of shape (m, at least d)
        The cells as the file spells them.
    rules : ColumnRules
        Which spellings count as missing cells.
    target : str
        The name of the target.

    Raises
    ------
    UserError
        A column is missing, or holds a cell of another kind.
    """
    X = convert_rows(model.record, frame, rules).frame
    return FileRows(name, X, target, _read_truth(model, frame, rules, target))


def _read_truth(model: Model, frame: pd.DataFrame, rules: ColumnRules, target: str) -> np.ndarray | None:
    """Return the targets of the rows; None if the file has no such column."""
    if target not in frame.columns:
        return None
    cells = frame[target]
    known = [column for column in model.record.columns if column.name == target]
    if known:
        cells = convert_like(frame, known, rules).frame[target]
    if not hasattr(model.estimator, "classes_"):
        return pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64)
    labels = {str(label): label for label in model.estimator.classes_}
    truth = np.empty(len(cells), dtype=object)
    truth[:] = [labels.get(str(cell).strip()) for cell in cells]
    return truth
