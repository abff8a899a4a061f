"""Predictions of a stored model for the rows of a file, written to another file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from bakeoff.pipeline.commands.serve.answer import answer_rows
from bakeoff.pipeline.config.requests import RowsRequest
from bakeoff.pipeline.errors import UserError, did_you_mean, require_package
from bakeoff.pipeline.model.pyfunc import Model, hiding_groups, list_outputs, read_rows
from bakeoff.pipeline.stages.dataset.files import list_dataset_files, require_file
from bakeoff.pipeline.stages.dataset.guesses import leave_out_guesses
from bakeoff.pipeline.stages.dataset.keys import SEPARATOR_WORDS, SIGN_WORDS
from bakeoff.pipeline.stages.dataset.table import DROPPED, IDENTIFIER, LEFT_OUT
from bakeoff.pipeline.tables.output_file import (
    ESCAPED_FORMATS,
    PREDICTIONS,
    describe_escapes,
    require_output,
    write_table,
)
from bakeoff.pipeline.tracking.models import load_model
from bakeoff.pipeline.tracking.store import list_store_paths


class PredictionReport(NamedTuple):
    """What was predicted.

    Attributes
    ----------
    output : Path
        The file of the predictions.
    n_rows : int
    copied : tuple of str
        The columns that were copied from the file of the rows.
    notes : tuple of str
        Notes on the model, on how the file was read, and on content that did not occur in training.
    """

    output: Path
    n_rows: int
    copied: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def summary(self) -> str:
        """The report in a sentence."""
        beside = f", with {', '.join(self.copied)} copied from the file" if self.copied else ""
        return f"{self.n_rows} predictions in {self.output}{beside}"


def predict_file(
    request: RowsRequest,
    file: Path,
    output: Path | None,
    ids: Sequence[str] | None,
    keep: Sequence[str],
    layout: Mapping[str, str],
) -> PredictionReport:
    """Write the prediction of a model for each row of a file, with probabilities if the model supports them.

    Parameters
    ----------
    request : RowsRequest
    file : Path
        The file of the rows.
    output : Path or None
        The file of the predictions; by default NAME.predictions.csv.
    ids, keep : sequence of str
        The columns to copy: `ids`, by default those that training omitted as identifiers, and `keep`.
    layout : mapping of str to str
        The names of the separator and the decimal sign of a text file, if they are not the usual ones.

    Raises
    ------
    UserError
        The model does not exist, the file lacks a column or has cells of another kind, or the output cannot be written.
    """
    given = output or Path(f"{file.stem}.predictions.csv")
    store_paths = list_store_paths(request.tracking__uri)
    target = require_output(given, PREDICTIONS, [file], store_paths)
    signs = _choose_signs(layout, target)
    with hiding_groups():
        require_file(file)
        model = load_model(request)
        require_output(given, PREDICTIONS, list_dataset_files(model.record.dataset_config), store_paths)
        raw = read_rows(file, request.layout, model.record)
        copied = _choose_copied(raw.frame, model, ids, keep)
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
    write_table(table, target, **signs)
    shown = tuple(note.replace("dataset.", "") for note in notes if note)
    return PredictionReport(target, len(table), tuple(map(str, copied)), shown)


def _choose_signs(layout: Mapping[str, str], target: Path) -> dict[str, str]:
    """Return the separator and the decimal sign of a text file; raise UserError if the format has none."""
    extension = target.suffix.lower()
    if extension == ".xlsx":
        require_package("openpyxl", f"output={str(target)!r}", "excel")
    if layout and extension not in ESCAPED_FORMATS:
        raise UserError(f"output.{next(iter(layout))} does not apply to output={str(target)!r}; write a .csv file.")
    # A spreadsheet that reads decimal commas reads semicolons between cells.
    usual = {} if extension == ".tsv" or layout.get("decimal") != "comma" else {"separator": "semicolon"}
    return {key: {**SIGN_WORDS, **SEPARATOR_WORDS}[word] for key, word in {**usual, **layout}.items()}


def _choose_copied(frame: pd.DataFrame, model: Model, ids: Sequence[str] | None, keep: Sequence[str]) -> pd.DataFrame:
    """Return the columns to copy: the identifiers omitted in training, unless others are named, and those to keep."""
    columns = [str(name) for name in frame.columns]
    if ids is None:
        identifiers = {
            column.name
            for column in model.record.columns
            if column.kind == IDENTIFIER and column.role in (LEFT_OUT, DROPPED)
        }
        names = [name for name in columns if name in identifiers]
    else:
        names = [*ids]
    names = list(dict.fromkeys([*names, *keep]))
    outputs = list_outputs(model.estimator)
    for name in names:
        if name not in columns:
            key = "keep" if name in keep else "ids"
            raise UserError(f"{key} names {name!r}, which is not a column of the file. {did_you_mean(name, columns)}")
        if name in outputs:
            raise UserError(
                f"{name!r} is a column of the predictions, so it cannot be copied from the file; rename it there, "
                "or choose others with ids=[…]."
            )
    return frame.set_axis(columns, axis=1)[names]
