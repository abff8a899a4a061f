"""``bakeoff predict``: apply the model of a run, or a registered one, to the rows of a file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bakeoff.pipeline.cli.arguments import parse_arguments
from bakeoff.pipeline.cli.identifiers import IDS, choose_identifiers
from bakeoff.pipeline.cli.output_file import (
    describe_escaped_text,
    list_dataset_files,
    require_table_output,
    write_table,
)
from bakeoff.pipeline.cli.rows_of_file import LAYOUT_KEYS, NA_VALUES, make_rules, read_rows
from bakeoff.pipeline.config.trust.trusted_packages import read_trust
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.paths import expand_home
from bakeoff.pipeline.text.terminal import show_controls

if TYPE_CHECKING:
    import pandas as pd

    from bakeoff.pipeline.model import Model

POSITIONS = ("MODEL", "FILE")
KEYS = ("output", IDS, "dataset", "trust", "tracking.uri", "tracking.experiment", *LAYOUT_KEYS, NA_VALUES)


def predict_file(words: Sequence[str]) -> int:
    """Write the predictions of a model for each row of a file, with probabilities if the model has them.

    The file is read as the training file was. Its identifiers are copied in front of the predictions. What its columns
    hold that the training rows did not is said in a line or more for each column.

    Parameters
    ----------
    words : sequence of str
        ``MODEL FILE [output=FILE] [ids=[COLUMN]] [dataset=NAME] [trust=[PACKAGE]] [tracking.uri=URI]
        [tracking.experiment=NAME]``, and keys of the file as in ``conf/dataset/file.yaml``; MODEL is the id of a run,
        ``latest``, or ``best``, among the runs on ``dataset`` if it is given, or the name of a registered model. The
        extension of ``output`` is that of a format in `output_file.WRITERS`.

    Raises
    ------
    UserError
        There is no such model, the file lacks a column or holds cells of another kind, or the output cannot be written.
    """
    (word, path), values = parse_arguments("predict", words, POSITIONS, KEYS)
    file = expand_home(path)
    given = values.get("output", f"{file.stem}.predictions.csv")
    store = values.get("tracking.uri")
    target = require_table_output("predict", given, [file], store)
    from bakeoff.pipeline.stages.dataset import require_file
    from bakeoff.pipeline.tracking import load_model

    experiment = values.get("tracking.experiment", "bakeoff")
    trust = read_trust(values.get("trust", ""))
    try:
        require_file(file)
        model = load_model(word, store, experiment, values.get("dataset", ""), trust)
        require_table_output("predict", given, list_dataset_files(model.record.dataset_config), store)
        _say([model.describe(), *model.notes])
        raw = read_rows(file, values, model.record)
        ids = choose_identifiers(raw.frame, model, values.get(IDS))
        predictions, notes = predict_rows(model, raw.frame, values)
    except UserError as error:
        # The keys of a dataset have the same names here, without the group.
        message = str(error).removeprefix("predict: ").replace("dataset.", "")
        raise UserError(f"predict: {message}") from None
    table = _join_columns(ids, predictions)
    _say([*raw.notes, *notes, describe_escaped_text(table, target)])
    # The predictions are written at the end only, so that an error does not change the file of an earlier command.
    write_table("predict", table, target)
    beside = f", beside {', '.join(map(str, ids))} of the file" if len(ids.columns) else ""
    print(f"{len(predictions)} predictions in {target}{beside}", file=sys.stderr)
    return 0


def predict_rows(model: Model, frame: pd.DataFrame, values: dict[str, str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the predictions for the rows of a file, and sentences about what training did not have.

    Parameters
    ----------
    model : Model
    frame : DataFrame of shape (m, at least d)
        As the file spells it.
    values : dict of str to str
        Keys of the command line.
    """
    from bakeoff.pipeline.model.predictions import predict_table
    from bakeoff.pipeline.model.row_conversion import convert_rows
    from bakeoff.pipeline.model.row_report import (
        describe_findings,
        describe_test,
        describe_unknown_columns,
        find_differences,
    )

    record = model.record
    rows = convert_rows(record, frame, make_rules(values, record.dataset_config))
    predictions = predict_table(model.estimator, rows.frame)
    findings = find_differences(record, rows)
    unknown = describe_unknown_columns(record, [str(name) for name in frame.columns])
    sentences = [unknown, *describe_findings(findings), describe_test(findings)]
    return predictions, [sentence for sentence in sentences if sentence]


def _join_columns(ids: pd.DataFrame, predictions: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    return pd.concat([ids.reset_index(drop=True), predictions.reset_index(drop=True)], axis=1)


def _say(notes: Iterable[str]) -> None:
    for note in filter(None, notes):
        print(f"predict: {show_controls(note.replace('dataset.', ''))}", file=sys.stderr)
