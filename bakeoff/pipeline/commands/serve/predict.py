"""Predictions of a stored model for the rows of a file, written to another file."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from bakeoff.pipeline.commands.serve.answer import answer_rows
from bakeoff.pipeline.config.requests import RowsRequest
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.model.pyfunc import Model, hiding_groups, list_outputs, read_rows
from bakeoff.pipeline.stages.dataset.files import list_dataset_files, require_file
from bakeoff.pipeline.stages.dataset.guesses import leave_out_guesses
from bakeoff.pipeline.stages.dataset.table import DROPPED, IDENTIFIER, LEFT_OUT
from bakeoff.pipeline.tables.output_file import PREDICTIONS, describe_escapes, require_output, write_table
from bakeoff.pipeline.tracking.models import load_model
from bakeoff.pipeline.tracking.store import list_store_paths


def predict_file(
    request: RowsRequest, file: Path, output: Path | None, ids: Sequence[str] | None
) -> tuple[list[str], str]:
    """Write the prediction of a model for each row of a file, with probabilities if the model supports them.

    Parameters
    ----------
    request : RowsRequest
    file : Path
        The file of the rows.
    output : Path or None
        The file of the predictions; by default NAME.predictions.csv.
    ids : sequence of str or None
        The columns to copy; by default those that training omitted as identifiers.

    Returns
    -------
    notes : list of str
        Notes on the model, on how the file was read, and on content that did not occur in training.
    summary : str

    Raises
    ------
    UserError
        The model does not exist, the file lacks a column or has cells of another kind, or the output cannot be written.
    """
    given = output or Path(f"{file.stem}.predictions.csv")
    store_paths = list_store_paths(request.tracking__uri)
    target = require_output(given, PREDICTIONS, [file], store_paths)
    with hiding_groups():
        require_file(file)
        model = load_model(request)
        require_output(given, PREDICTIONS, list_dataset_files(model.record.dataset_config), store_paths)
        raw = read_rows(file, request.layout, model.record)
        copied = _choose_identifiers(raw.frame, model, ids)
        answer = answer_rows(model, raw.frame, request.layout)
    table = pd.concat([copied.reset_index(drop=True), answer.predictions], axis=1)
    notes = [
        model.describe(),
        *model.notes,
        *leave_out_guesses(raw.notes),
        *answer.notes,
        describe_escapes(table, target),
    ]
    # The predictions are written only at the end, so that an error does not change the file of an earlier command.
    write_table(table, target)
    beside = f", with {', '.join(map(str, copied))} copied from the file" if len(copied.columns) else ""
    return [note.replace("dataset.", "") for note in notes if note], f"{len(table)} predictions in {target}{beside}"


def _choose_identifiers(frame: pd.DataFrame, model: Model, given: Sequence[str] | None) -> pd.DataFrame:
    """Return the columns to copy, which default to the identifiers omitted in training."""
    columns = [str(name) for name in frame.columns]
    if given is None:
        identifiers = {
            column.name
            for column in model.record.columns
            if column.kind == IDENTIFIER and column.role in (LEFT_OUT, DROPPED)
        }
        names = [name for name in columns if name in identifiers]
    else:
        names = list(dict.fromkeys(given))
    outputs = list_outputs(model.estimator)
    for name in names:
        if name not in columns:
            raise UserError(f"ids names {name!r}, which is not a column of the file. {did_you_mean(name, columns)}")
        if name in outputs:
            raise UserError(
                f"{name!r} is a column of the predictions, so it cannot be copied from the file; rename it there, "
                "or choose others with ids=[…]."
            )
    return frame.set_axis(columns, axis=1)[names]
