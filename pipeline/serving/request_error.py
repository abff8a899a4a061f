"""A request that cannot be answered: a status of HTTP and a sentence."""

from __future__ import annotations

from typing import final

BAD_REQUEST = 400
TOO_LARGE = 413
UNSUPPORTED_TYPE = 415
UNPROCESSABLE = 422
INTERNAL_ERROR = 500
UNAVAILABLE = 503
CODE_OF_STATUS = {
    BAD_REQUEST: "BAD_REQUEST",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    TOO_LARGE: "REQUEST_TOO_LARGE",
    UNSUPPORTED_TYPE: "UNSUPPORTED_MEDIA_TYPE",
    UNPROCESSABLE: "INVALID_PARAMETER_VALUE",
    INTERNAL_ERROR: "INTERNAL_ERROR",
    UNAVAILABLE: "TEMPORARILY_UNAVAILABLE",
}
"""As in the errors of MLflow, whose clients read them."""


@final
class RequestError(Exception):
    """A request that cannot be answered, by an error of the client or because the server ends.

    Parameters
    ----------
    status : int
        400 for a body that cannot be read, 422 for rows that the model does not take, 413, 415 and 503 as HTTP defines
        them.
    message : str
        A sentence.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
