"""A server is asked one question before it is used: MLflow's client would repeat its requests for minutes in silence.

Later calls are limited by `bakeoff.pipeline.tracking.limited_calls`, which asks the same question for the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import parent_process
from threading import Thread

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.secrets import hide_secrets

MAX_ANSWER_SECONDS = 5
"""The time in which a server must answer one question."""
HEALTH = "/health"
"""The path of the question."""
FIRST_SERVER_ERROR = 500
"""The least status of HTTP that means a fault of the server."""
DATABASES_WITH_TIMEOUT = ("postgresql", "mysql")
"""Databases whose drivers take ``connect_timeout``, in seconds."""
CURE = "Start it, correct the address, or keep no runs with tracking=none."

Question = Callable[[], str]


def is_server(uri: str) -> bool:
    """Whether the store at a URI from `store_uri` is an MLflow server."""
    return uri.startswith(("http://", "https://"))


def require_answer(uri: str) -> None:
    """Reject a server, or a database on one, that does not answer a single question.

    Parameters
    ----------
    uri : str
        Of MLflow's server, or of a database that is not a file.

    Raises
    ------
    UserError
        There is no answer within `MAX_ANSWER_SECONDS`, the answer is that the server cannot work, or the driver of the
        database is not installed.
    """
    # The process that started this one has asked, and its many workers would keep a small server busy.
    if parent_process() is not None:
        return
    reason = ask_once(uri)
    if reason is None:
        reason = f"there is no answer within {MAX_ANSWER_SECONDS} seconds"
    if reason:
        raise UserError(f"tracking.uri={hide_secrets(uri)!r}: the server cannot be used: {reason}. {CURE}")


def ask_once(uri: str) -> str | None:
    """Return why a server, or a database on one, cannot be used: empty if it can, None if it does not answer in time.

    Parameters
    ----------
    uri : str
    """
    ask = _prepare_request(uri) if is_server(uri) else _prepare_connection(uri)
    reasons: list[str] = []
    # In a thread of its own, because the search for the address of a host knows no limit of time.
    thread = Thread(target=lambda: reasons.append(ask()), daemon=True)
    thread.start()
    thread.join(MAX_ANSWER_SECONDS)
    return reasons[0] if reasons else None


def _prepare_request(uri: str) -> Question:
    """Return a function that asks a server, and returns why it cannot be used; empty if it can."""
    # Imported before the time is taken.
    from mlflow.exceptions import MlflowException
    from mlflow.utils.credentials import get_default_host_creds
    from mlflow.utils.rest_utils import http_request
    from requests import RequestException

    credentials = get_default_host_creds(uri)

    def ask() -> str:
        try:
            answer = http_request(
                credentials, HEALTH, "GET", max_retries=0, timeout=MAX_ANSWER_SECONDS, raise_on_status=False
            )
        except (MlflowException, RequestException, OSError) as error:
            return find_cause(error)
        # Any other status is that of a server that works: earlier versions of MLflow do not know the question.
        is_broken = answer.status_code >= FIRST_SERVER_ERROR
        return f"it answers with status {answer.status_code} ({answer.reason})" if is_broken else ""

    return ask


def _prepare_connection(uri: str) -> Question:
    """Return a function that connects to a database, and returns why that fails; empty if it succeeds.

    Raises
    ------
    UserError
        The driver of the database is not installed.
    """
    from sqlalchemy import create_engine
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError

    try:
        url = make_url(uri)
        has_timeout = url.get_backend_name() in DATABASES_WITH_TIMEOUT
        options = {"connect_timeout": MAX_ANSWER_SECONDS} if has_timeout else {}
        engine = create_engine(url, connect_args=options)
    except ImportError as error:
        raise UserError(
            f"tracking.uri={hide_secrets(uri)!r} needs a database driver that is not installed: {error.name}; "
            'for PostgreSQL: pip install "psycopg[binary]".'
        ) from error
    except (ArgumentError, NoSuchModuleError):  # MLflow says what is wrong with it
        return lambda: ""

    def ask() -> str:
        try:
            engine.connect().close()
        except OperationalError as error:
            return find_cause(error)
        finally:
            engine.dispose()
        return ""

    return ask


def find_cause(error: BaseException) -> str:
    """Return the first line of the innermost error: the outer ones repeat the address and name classes."""
    while error.__cause__ is not None or error.__context__ is not None:
        error = error.__cause__ or error.__context__ or error
    reason = getattr(error, "strerror", None) or str(error).strip()
    return (reason.splitlines() or [type(error).__name__])[0].rstrip(".")
