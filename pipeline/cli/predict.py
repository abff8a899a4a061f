"""``bakeoff predict``: apply the model of a run, or a registered one, to the rows of a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bakeoff.pipeline.config.requests import read_request
from bakeoff.pipeline.serving.request import PredictRequest
from bakeoff.pipeline.text.terminal import print_note


def predict_rows(words: Sequence[str]) -> int:
    """Write the predictions of a model for each row of a file, with probabilities if the model has them.

    The file is read as the training file was. Its identifiers are copied in front of the predictions. What its columns
    hold that the training rows did not is said in a line or more for each column.

    Raises
    ------
    UserError
        There is no such model, the file lacks a column or holds cells of another kind, or the output cannot be written.
    """
    request = read_request("predict", PredictRequest, words)

    from bakeoff.pipeline.serving.predict import predict_file

    done = predict_file(request)
    for note in done.notes:
        print_note(f"predict: {note}")
    beside = f", beside {', '.join(done.ids)} of the file" if done.ids else ""
    print(f"{done.n_rows} predictions in {done.file}{beside}", file=sys.stderr)
    return 0
