"""``bakeoff predict``: apply the model of a run to the rows of a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from bakeoff.pipeline.cli.arguments import parse_arguments, parse_trust, require_writable_output
from bakeoff.pipeline.cli.rows_of_file import LAYOUT_KEYS, NA_VALUES, make_rules, read_rows
from bakeoff.pipeline.errors import UserError

POSITIONS = ("MODEL", "FILE")
KEYS = ("output", "dataset", "trust", "tracking.uri", "tracking.experiment", *LAYOUT_KEYS, NA_VALUES)


def predict_file(words: Sequence[str]) -> int:
    """Write the predictions of a run's model for each row of a file, with probabilities if the model has them.

    The file is read as the training file was. Values that the model has not seen, and missing cells where training had
    none, are said in a line for each column.

    Parameters
    ----------
    words : sequence of str
        ``MODEL FILE [output=FILE] [dataset=NAME] [trust=[PACKAGE]] [tracking.uri=URI] [tracking.experiment=NAME]``, and
        keys of the file as in ``conf/dataset/file.yaml``; MODEL is the id of a run, ``latest``, or ``best``, among the
        runs on ``dataset`` if it is given, or the name of a registered model.

    Raises
    ------
    UserError
        There is no such run, it has no model, or the file lacks a column or holds cells of another kind.
    """
    (word, path), values = parse_arguments("predict", words, POSITIONS, KEYS)
    from bakeoff.pipeline.model.predictions import predict_table
    from bakeoff.pipeline.model.row_conversion import convert_rows
    from bakeoff.pipeline.model.row_report import report_rows
    from bakeoff.pipeline.stages.dataset import require_file
    from bakeoff.pipeline.tracking import load_model

    file = Path(path).expanduser()
    require_writable_output("predict", values)
    experiment = values.get("tracking.experiment", "bakeoff")
    trust = parse_trust(values.get("trust", ""))
    try:
        require_file(file)
        model = load_model(word, values.get("tracking.uri"), experiment, values.get("dataset", ""), trust)
        record = model.record
        raw = read_rows(file, values, record)
        rows = convert_rows(record, raw.frame, make_rules(values, record.dataset_config))
        notes = [*model.notes, *raw.notes, *report_rows(record, rows)]
        predictions = predict_table(model.estimator, rows.frame)
    except UserError as error:
        # The keys of a dataset have the same names here, without the group.
        message = str(error).removeprefix("predict: ").replace("dataset.", "")
        raise UserError(f"predict: {message}") from None
    for note in notes:
        print(f"predict: {note.replace('dataset.', '')}", file=sys.stderr)
    # The predictions are written at the end only, so that an error does not change the file of an earlier command.
    target = Path(values.get("output", f"{file.stem}.predictions.csv")).expanduser()
    try:
        predictions.to_csv(target, index=False)
    except OSError as error:
        raise UserError(f"predict: output={str(target)!r} cannot be written: {error}") from error
    print(f"{len(predictions)} predictions in {target}", file=sys.stderr)
    return 0
