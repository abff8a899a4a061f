"""Requests that use a stored model: predictions for a file, a server, or a model fitted on all rows."""

from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.pipeline.config.requests import RefitRequest, RowsRequest, RunRequest
from bakeoff.pipeline.errors import UserError

MAX_PORT = 65535


@dataclass(frozen=True, kw_only=True)
class PredictRequest(RowsRequest):
    """Rows for which to predict.

    Attributes
    ----------
    file : Path
        The file of the rows, with the columns that the model needs.
    output : Path or None
        The file to which the predictions are written: .csv, .tsv, .parquet, .feather, .arrow or .jsonl; by default
        NAME.predictions.csv.
    ids : tuple of str or None
        Columns of the file to copy next to the predictions, or [] for none; by default those that training omitted as
        identifiers.
    """

    file: Path = field(metadata={"word": "FILE"})
    output: Path | None = None
    ids: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class ServeRequest(RunRequest):
    """A model to serve.

    Attributes
    ----------
    port : int
        The port: a number up to 65535, such as 5001, or 0 for any free port.
    host : str
        The address of this machine; by default 127.0.0.1, which other machines cannot reach.
    """

    # MLflow's pages, served by `bakeoff ui`, use port 5000.
    port: int = 5001
    host: str = "127.0.0.1"

    def __post_init__(self) -> None:
        if not 0 <= self.port <= MAX_PORT:
            raise UserError(f"port={self.port} must be a number up to {MAX_PORT}, such as 5001, or 0 for a free one.")


@dataclass(frozen=True, kw_only=True)
class ShipRequest(RefitRequest):
    """A run whose procedure is to be fitted on all rows.

    Attributes
    ----------
    name : str
        The name under which to register the model, with an alias for its new version: NAME@ALIAS.
    """

    name: str = field(metadata={"key": "as"})
