"""Requests to a stored model: predictions for a file, or a server."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.pipeline.config.requests import RefitRequest, RowsRequest, RunRequest
from bakeoff.pipeline.errors import UserError

MAX_PORT = 65535


@dataclass(frozen=True, kw_only=True)
class PredictRequest(RowsRequest):
    """Rows to predict.

    Attributes
    ----------
    file : Path
        The rows, with the columns that the model needs.
    output : Path or None
        The file of the predictions: .csv, .tsv, .parquet, .feather, .arrow or .jsonl; by default
        NAME.predictions.csv.
    ids : tuple of str or None
        Columns of the file that are copied beside the predictions, or [] for none; by default those that training left
        out as identifiers.
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
        The port: a number up to 65535, such as 5001, or 0 for a free one.
    host : str
        The address of this machine, by default 127.0.0.1, which other machines do not reach.
    """

    # MLflow's pages, which `bakeoff ui` serves, have port 5000.
    port: int = 5001
    host: str = "127.0.0.1"

    def __post_init__(self) -> None:
        if not 0 <= self.port <= MAX_PORT:
            raise UserError(f"port={self.port} must be a number up to {MAX_PORT}, such as 5001, or 0 for a free one.")


@dataclass(frozen=True, kw_only=True)
class ShipRequest(RefitRequest):
    """A run whose procedure is fitted on all rows.

    Attributes
    ----------
    name : str
        The name under which the model is registered, with the alias of its new version: NAME@ALIAS.
    """

    name: str = field(metadata={"key": "as"})
