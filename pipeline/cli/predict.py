"""``bakeoff predict``: apply the model of a run to the rows of a file."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.cli.arguments import parse_arguments
from bakeoff.pipeline.errors import UserError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from bakeoff.pipeline.stages.dataset import FileLayout

POSITIONS = ("RUN", "FILE")
KEYS = ("output", "dataset", "tracking.uri", "tracking.experiment", "separator", "header", "names", "strip")
BOOLEANS = {"true": True, "false": False}


def predict_file(words: Sequence[str]) -> int:
    """Write the predictions of a run's model for each row of a file, with probabilities if the model has them.

    Parameters
    ----------
    words : sequence of str
        ``RUN FILE [output=FILE] [dataset=NAME] [tracking.uri=URI] [tracking.experiment=NAME]``, and ``separator``,
        ``header``, ``names`` and ``strip`` as in ``conf/dataset/csv.yaml``; RUN is the id of a run, ``latest``, or
        ``best``, among the runs on ``dataset`` if it is given.

    Raises
    ------
    UserError
        There is no such run, it has no model, or the file lacks a column.
    """
    (run, path), values = parse_arguments("predict", words, POSITIONS, KEYS)
    from bakeoff.pipeline.stages.dataset import read_file, require_file
    from bakeoff.pipeline.tracking import load_model

    file = Path(path).expanduser()
    require_file(file)
    experiment = values.get("tracking.experiment", "bakeoff")
    model, column_types = load_model(run, values.get("tracking.uri"), experiment, values.get("dataset", ""))
    try:
        rows = read_file(file, _read_layout(values, file, list(column_types))).frame
    except UserError as error:
        # The keys of a dataset have the same names here, without the group.
        raise UserError(f"predict: {str(error).replace('dataset.', '')}") from None
    predictions = predict_table(model, column_types, rows)
    # The predictions are written at the end only, so that an error does not change the file of an earlier command.
    target = Path(values.get("output", f"{file.stem}.predictions.csv")).expanduser()
    try:
        predictions.to_csv(target, index=False)
    except OSError as error:
        raise UserError(f"predict: output={str(target)!r} cannot be written: {error}") from error
    print(f"{len(predictions)} predictions in {target}", file=sys.stderr)
    return 0


def predict_table(model: Any, column_types: dict[str, str], rows: pd.DataFrame) -> pd.DataFrame:
    """Predict for each row of a table.

    Parameters
    ----------
    model : estimator
        Fitted.
    column_types : dict of str to str
        The columns that the model requires, and their types: ``double`` or ``string``.
    rows : DataFrame of shape (m, at least d)
        Further columns are ignored.

    Returns
    -------
    DataFrame of shape (m, 1 or 1 + c)
        ``prediction``, and ``probability_<class>`` if the model has probabilities.

    Raises
    ------
    UserError
        A column is missing or of the wrong type, or the learner does not accept a value.
    """
    import pandas as pd

    from bakeoff.pipeline.stages.dataset import ColumnRules, convert_columns

    given = [str(column) for column in rows.columns]
    for name in column_types:
        if name not in given:
            raise UserError(
                f"predict: the file has no column {name!r}, which the model needs. {did_you_mean(name, given)}"
            )
    numeric = [name for name, column_type in column_types.items() if column_type == "double"]
    nominal = [name for name in column_types if name not in numeric]
    X = convert_columns(rows[list(column_types)], ColumnRules(numeric=numeric, nominal=nominal)).frame  # (m, d)
    try:
        table = pd.DataFrame({"prediction": model.predict(X)})
        if hasattr(model, "predict_proba"):
            probabilities = model.predict_proba(X)  # (m, c)
            for label, column in zip(model.classes_, probabilities.T, strict=True):
                table[f"probability_{label}"] = column
    except ValueError as error:
        raise UserError(f"predict: {error}") from error
    return table


def _read_layout(values: Mapping[str, str], file: Path, features: Sequence[str]) -> FileLayout:
    """Return how the file holds its table.

    Without names, a file of as many columns as the model requires has them in the model's order; any other file has
    the columns of the training file, named in the same way.
    """
    from bakeoff.pipeline.stages.dataset import FileLayout, count_columns

    names = [name.strip() for name in values.get("names", "").strip("[]").split(",") if name.strip()]
    header = _read_boolean("header", values["header"]) if "header" in values else None
    strip = _read_boolean("strip", values.get("strip", "false"))
    layout = FileLayout(values.get("separator"), header, names, strip)
    if layout.has_names or names or count_columns(file, layout) != len(features):
        return layout
    return replace(layout, names=features)


def _read_boolean(key: str, text: str) -> bool:
    if text.lower() not in BOOLEANS:
        raise UserError(f"predict: {key}={text!r} must be true or false.")
    return BOOLEANS[text.lower()]
