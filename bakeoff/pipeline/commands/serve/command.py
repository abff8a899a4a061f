"""``bakeoff ship``, ``predict`` and ``serve``: a stored model in use."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from bakeoff.pipeline.text.wording import print_note, show_controls

if TYPE_CHECKING:
    from bakeoff.pipeline.commands.serve.request import PredictRequest, ServeRequest, ShipRequest


RUN_ID_LETTERS = 8
"""The number of characters shown of a run id, which suffice to find the run."""


def predict_rows(request: PredictRequest) -> int:
    """Write the predictions of a model for each row of a file, with probabilities if the model supports them.

    The file is read in the same way as the training file. Its identifiers are copied in front of the predictions. For
    each column, values that did not occur in the training rows are reported.

    Raises
    ------
    UserError
        The model does not exist, the file lacks a column or has cells of another kind, or the output cannot be written.
    """
    from bakeoff.pipeline.commands.serve.predict import predict_file

    done = predict_file(request)
    for note in done.notes:
        print_note(f"predict: {note}")
    beside = f", beside {', '.join(done.ids)} of the file" if done.ids else ""
    print_note(f"{done.n_rows} predictions in {done.file}{beside}")
    return 0


def serve_model(request: ServeRequest) -> int:
    """Load a model, print its address, and answer requests for predictions over HTTP until Ctrl-C.

    Only requests from this machine are answered, unless ``host`` is set.

    Raises
    ------
    UserError
        The model does not exist, or the port is not free.
    """
    from bakeoff.pipeline.commands.serve.server import is_loopback, name_address, open_model, run_server

    model, opened = open_model(request)
    for line in [model.describe(), *model.notes]:
        print_note(f"serve: {line}")
    if not is_loopback(opened):
        print_note("serve: anyone who can reach this machine can send requests; there is no password.")
    print(f"POST rows to {name_address(opened)}/invocations\nPress Ctrl-C to stop the server", flush=True)
    run_server(model, opened)
    return 0


def ship_model(request: ShipRequest) -> int:
    """Fit the procedure of a run on all rows and register the model under a name.

    Raises
    ------
    UserError
        The run does not exist or did not finish, its rows have changed, or the name is invalid. Nothing is stored.
    """
    from bakeoff.pipeline.commands.serve.ship import ship_run

    shipped = ship_run(request, print_note)
    record = shipped.record
    version = f"version {shipped.version}"
    if shipped.previous_version is not None:
        version += f"; version {shipped.previous_version} was {shipped.name.alias} before"
    print(f"shipped {record.run_name} (run {record.run_id[:RUN_ID_LETTERS]}) as {shipped.word}, {version}")
    for fact in shipped.facts:
        print(f"  {show_controls(fact)}")
    trust = [f"trust=[{','.join(request.trust)}]"] if request.trust else []
    command = ["bakeoff", "predict", shipped.word, "FILE", *trust, *request.list_store_words()]
    print(f"  predict with it: {shlex.join(command)}", flush=True)
    for remark in shipped.remarks:
        print_note(f"ship: {remark}")
    return 0
