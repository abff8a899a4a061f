"""``bakeoff ship``, ``predict`` and ``serve``: a stored model in use."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from bakeoff.pipeline.config.requests import Bounds, RefitRequest, RowsRequest, RunRequest, Word
from bakeoff.pipeline.tables.document import Answer
from bakeoff.pipeline.text.wording import print_note, shorten_id, show_controls

MAX_PORT = 65535


@dataclass(frozen=True, kw_only=True)
class PredictRequest(RowsRequest):
    """Rows for which to predict.

    Attributes
    ----------
    file : Path
        The file of the rows, with the columns that the model needs.
    output : Path or None
        The file to which the predictions are written: .csv, .tsv, .parquet, .feather, .arrow, .jsonl or .xlsx;
        by default NAME.predictions.csv.
    ids : tuple of str or None
        Columns of the file to copy next to the predictions, or [] for none; by default those that training omitted as
        identifiers.
    keep : tuple of str
        Further columns of the file to copy.
    output__separator : str or None
        The separator of a .csv file of predictions; by default a comma, and a semicolon beside decimal commas.
    output__decimal : str or None
        The decimal sign of a .csv or .tsv file of predictions; by default a point.
    """

    file: Annotated[Path, Word(place="FILE")]
    output: Path | None = None
    ids: tuple[str, ...] | None = None
    keep: tuple[str, ...] = ()
    output__separator: Annotated[str | None, Word(allowed=("comma", "semicolon", "tab"))] = None
    output__decimal: Annotated[str | None, Word(allowed=("point", "comma"))] = None

    @property
    def layout_of_output(self) -> dict[str, str]:
        """The signs of a text file that are given."""
        given = {"separator": self.output__separator, "decimal": self.output__decimal}
        return {key: word for key, word in given.items() if word is not None}


@dataclass(frozen=True, kw_only=True)
class ServeRequest(RunRequest):
    """A model to serve.

    Attributes
    ----------
    port : int
        The port, or 0 for any free port.
    host : str
        The address of this machine; other machines cannot reach 127.0.0.1.
    """

    # MLflow's pages, served by `bakeoff ui`, use port 5000.
    port: Annotated[int, Word(allowed=Bounds(0, MAX_PORT))] = 5001
    host: str = "127.0.0.1"


@dataclass(frozen=True, kw_only=True)
class ShipRequest(RefitRequest):
    """A run whose procedure is to be fitted on all rows.

    Attributes
    ----------
    name : str
        The name under which to register the model, with an alias for its new version: NAME@ALIAS.
    """

    name: Annotated[str, Word(key="as")]


def predict_rows(request: PredictRequest) -> Answer:
    """Write the predictions of a model for each row of a file, with probabilities if the model supports them.

    The file is read in the same way as the training file. Its identifiers are copied in front of the predictions. For
    each column, values that did not occur in the training rows are reported.

    Raises
    ------
    UserError
        The model does not exist, the file lacks a column or has cells of another kind, or the output cannot be written.
    """
    from bakeoff.pipeline.commands.serve.predict import predict_file

    report = predict_file(request, request.file, request.output, request.ids, request.keep, request.layout_of_output)
    for note in report.notes:
        print_note(f"predict: {note}")
    print_note(report.summary)
    return Answer("prediction", report._asdict)


def serve_model(request: ServeRequest) -> int:
    """Load a model, print its address, and answer requests for predictions over HTTP until Ctrl-C.

    Only requests from this machine are answered, unless ``host`` is set.

    Raises
    ------
    UserError
        The model does not exist, or the port is not free.
    """
    from bakeoff.pipeline.commands.serve.server import is_loopback, name_address, open_model, run_server

    model, opened = open_model(request, request.host, request.port)
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

    shipped = ship_run(request, request.name, print_note)
    record = shipped.record
    version = f"version {shipped.version}"
    if shipped.previous_version is not None:
        version += f"; version {shipped.previous_version} was {shipped.name.alias} before"
    print(f"shipped {record.run_name} (run {shorten_id(record.run_id)}) as {shipped.word}, {version}")
    for fact in shipped.facts:
        print(f"  {show_controls(fact)}")
    trust = [f"trust=[{','.join(request.trust)}]"] if request.trust else []
    command = ["bakeoff", "predict", shipped.word, "FILE", *trust, *request.list_store_words()]
    print(f"  predict with it: {shlex.join(command)}", flush=True)
    for remark in shipped.remarks:
        print_note(f"ship: {remark}")
    return 0
