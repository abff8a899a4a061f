"""``bakeoff predict``: apply the model of a run to the rows of a file."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.pipeline.cli.arguments import parse_arguments, require_writable_output
from bakeoff.pipeline.cli.rows_of_file import LAYOUT_KEYS, NA_VALUES, make_rules, read_rows
from bakeoff.pipeline.errors import UserError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from bakeoff.pipeline.stages.dataset.columns import ColumnRules, FurtherRows
    from bakeoff.pipeline.tracking import StoredModel

POSITIONS = ("RUN", "FILE")
KEYS = ("output", "dataset", "tracking.uri", "tracking.experiment", *LAYOUT_KEYS, NA_VALUES)
MAX_SHOWN_VALUES = 5


def predict_file(words: Sequence[str]) -> int:
    """Write the predictions of a run's model for each row of a file, with probabilities if the model has them.

    The file is read as the training file was. Values that the model has not seen, and missing cells where training had
    none, are said in a line for each column.

    Parameters
    ----------
    words : sequence of str
        ``RUN FILE [output=FILE] [dataset=NAME] [tracking.uri=URI] [tracking.experiment=NAME]``, and keys of the file as
        in ``conf/dataset/file.yaml``; RUN is the id of a run, ``latest``, or ``best``, among the runs on ``dataset`` if
        it is given.

    Raises
    ------
    UserError
        There is no such run, it has no model, or the file lacks a column or holds cells of another kind.
    """
    (run, path), values = parse_arguments("predict", words, POSITIONS, KEYS)
    from bakeoff.pipeline.stages.dataset import require_file
    from bakeoff.pipeline.tracking import load_model

    file = Path(path).expanduser()
    require_writable_output("predict", values)
    experiment = values.get("tracking.experiment", "bakeoff")
    try:
        require_file(file)
        stored = load_model(run, values.get("tracking.uri"), experiment, values.get("dataset", ""))
        raw = read_rows(file, values, stored)
        rows = convert_rows(stored, raw.frame, make_rules(values, stored.dataset))
    except UserError as error:
        # The keys of a dataset have the same names here, without the group.
        message = str(error).removeprefix("predict: ").replace("dataset.", "")
        raise UserError(f"predict: {message}") from None
    notes = [note.replace("dataset.", "") for note in raw.notes]
    for line in [*notes, *describe_rows(stored, rows)]:
        print(f"predict: {line}", file=sys.stderr)
    predictions = predict_table(stored, rows.frame)
    # The predictions are written at the end only, so that an error does not change the file of an earlier command.
    target = Path(values.get("output", f"{file.stem}.predictions.csv")).expanduser()
    try:
        predictions.to_csv(target, index=False)
    except OSError as error:
        raise UserError(f"predict: output={str(target)!r} cannot be written: {error}") from error
    print(f"{len(predictions)} predictions in {target}", file=sys.stderr)
    return 0


def convert_rows(stored: StoredModel, rows: pd.DataFrame, rules: ColumnRules) -> FurtherRows:
    """Convert the columns that a model requires to the kinds that they had in training.

    Parameters
    ----------
    stored : StoredModel
    rows : DataFrame of shape (m, at least d)
        Further columns are ignored.
    rules : ColumnRules
        Which spellings count as missing cells.

    Raises
    ------
    UserError
        A column is missing, or holds a cell of another kind.
    """
    from bakeoff.pipeline.stages.dataset import convert_like

    given = [str(column) for column in rows.columns]
    for column in stored.columns:
        if column.name not in given:
            raise UserError(
                f"the file has no column {column.name!r}, which the model needs. {did_you_mean(column.name, given)}"
            )
    return convert_like(rows.set_axis(given, axis=1), stored.columns, rules)


def describe_rows(stored: StoredModel, rows: FurtherRows) -> list[str]:
    """Return a sentence for each column with values or missing cells that training did not have.

    Parameters
    ----------
    stored : StoredModel
    rows : FurtherRows
    """
    lines = []
    m = len(rows.frame)
    for trained, found in zip(stored.columns, rows.columns, strict=True):
        # The cure of a training file, which follows the key, is none for the rows of a model.
        lines += [sentence.partition(" dataset.")[0] for sentence in found.suspicions if trained.kind == "numeric"]
        unseen = rows.unseen.get(trained.name)
        if unseen:
            lines.append(f"{trained.name}: {_list_unseen(unseen, m)}")
        if stored.source_columns and found.n_missing and not trained.n_missing:
            lines.append(f"{trained.name}: {found.n_missing} of {m} cells are missing; none was missing in training.")
    return lines


def predict_table(stored: StoredModel, X: pd.DataFrame) -> pd.DataFrame:
    """Predict for each row of a table.

    Parameters
    ----------
    stored : StoredModel
    X : DataFrame of shape (m, d)
        Of `convert_rows`.

    Returns
    -------
    DataFrame of shape (m, 1 or 1 + c)
        ``prediction``, and ``probability_<class>`` if the model has probabilities.

    Raises
    ------
    UserError
        The learner does not accept a value.
    """
    import pandas as pd

    model = stored.model
    try:
        table = pd.DataFrame({"prediction": model.predict(X)})
        if hasattr(model, "predict_proba"):
            probabilities = model.predict_proba(X)  # (m, c)
            for label, column in zip(model.classes_, probabilities.T, strict=True):
                table[f"probability_{label}"] = column
    except ValueError as error:
        raise UserError(f"predict: {error}") from error
    return table


def _list_unseen(unseen: Mapping[str, int], m: int) -> str:
    """Return which values were not seen in training, the most frequent first."""
    ranked = sorted(unseen, key=lambda value: -unseen[value])
    # A value with spaces around it cannot be told from one without them unless it is quoted.
    shown = ", ".join(repr(value) if value != value.strip() else value for value in ranked[:MAX_SHOWN_VALUES])
    n_more = len(ranked) - MAX_SHOWN_VALUES
    more = f" and {n_more} more" if n_more > 0 else ""
    return f"{sum(unseen.values())} of {m} rows hold values not seen in training: {shown}{more}"
