"""Database queries with SQLAlchemy URLs."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from sys import getsizeof
from threading import Event
from typing import TYPE_CHECKING, Any

import pandas as pd

from bakeoff.pipeline.errors import UserError, write_install_command
from bakeoff.pipeline.stages.dataset.content import limit_sizes
from bakeoff.pipeline.stages.dataset.source import Source, make_source, require_different_names
from bakeoff.pipeline.text.secrets import is_secret_name
from bakeoff.pipeline.text.wording import expand_home

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

SQLITE = "sqlite"
READING_ACTIONS = (
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
    sqlite3.SQLITE_UPDATE,
)
"""What a statement may do. Functions that return tables, such as json_each, ask to update the schema of a file; the
file itself is opened read-only."""
STEPS_BETWEEN_LOOKS = 10_000
"""The number of instructions after which SQLite checks whether to stop, about 1 ms."""
ROWS_AT_A_TIME = 10_000
VARIABLE = re.compile(r"\$([A-Za-z_]\w*)")


@dataclass(frozen=True)
class Query:
    """A query for rows of a database.

    Parameters
    ----------
    url : str
        The SQLAlchemy URL of the database. ``$NAME`` in place of a user, a password, a host or the whole URL refers to
        the environment variable NAME. Plain-text passwords are refused, because configurations are stored.
    query : str
        A SELECT statement.
    parameters : mapping of str to object
        The values of the names such as ``:region`` in the query.
    """

    url: str
    query: str
    parameters: Mapping[str, Any] | None = None


def read_query(query: Query) -> Source:
    """Read the rows that a query returns.

    Parameters
    ----------
    query : Query

    Returns
    -------
    Source
        The cells, with the types of the database; NULL is a missing cell.

    Raises
    ------
    UserError
        The database cannot be reached or has no driver here, the query is wrong or returns no table, or the URL holds
        a password.
    """
    from sqlalchemy.exc import SQLAlchemyError

    url = _parse_url(query.url)
    shown = _hide_secrets(url)
    statement = query.query
    fetch = _fetch_from_file if url.get_backend_name() == SQLITE else _fetch_from_server
    try:
        names, rows = fetch(url, shown, query)
    except (SQLAlchemyError, sqlite3.Error, sqlite3.Warning) as error:
        raise UserError(f"dataset.url={shown!r} does not answer {statement!r}: {_explain(error, url)}") from None
    if not rows:
        raise UserError(f"dataset.query={statement!r} returns no rows.")
    require_different_names(names, f"dataset.query={statement!r} returns", "rename one with AS")
    cells = {name: pd.Series(column, dtype=object) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    return make_source(pd.DataFrame(cells), Path(str(url.database)).stem, f"{shown}: {statement}")


def _parse_url(given: str) -> URL:
    """Return a URL with its variables replaced by their values; raise UserError for a plain-text password."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(_expand(given))
    except (ArgumentError, ValueError):
        # The text is not shown, because it may contain a password.
        raise UserError(
            "dataset.url is not a database URL, such as sqlite:///my.db or postgresql://user@host/database."
        ) from None
    if VARIABLE.fullmatch(given):
        return url
    secrets = [str(value) for key, value in url.query.items() if is_secret_name(key)]
    secrets += [str(url.password)] if url.password else []
    # The configuration contains a reference instead of the value of a variable.
    if any(not VARIABLE.fullmatch(secret) and secret not in os.environ.values() for secret in secrets):
        raise UserError(
            f"dataset.url={_hide_secrets(url)!r} holds a password, which would be stored with the run; write the name "
            "of an environment variable in its place, postgresql://user:$PASSWORD@host/database, and export it."
        )
    parts = {part: _expand(getattr(url, part)) for part in ("username", "password", "host", "database")}
    return url.set(**parts)


def find_database(given: str) -> list[Path]:
    """Return a list with the file of a database; it is empty for a server or if there is no URL.

    Raises
    ------
    UserError
        The URL is not valid.
    """
    if not given:
        return []
    url = _parse_url(given)
    return [expand_home(url.database)] if url.get_backend_name() == SQLITE and url.database else []


def _hide_secrets(url: URL) -> str:
    """Return a URL without its password and its options, which may also contain one."""
    return url.set(query={}).render_as_string(hide_password=True)


def _expand(text: Any) -> Any:
    """Return a part of a URL with the value of a variable instead of its name."""
    found = VARIABLE.fullmatch(text) if isinstance(text, str) else None
    value = os.environ.get(found[1]) if found else text
    if found and not value:
        raise UserError(f"dataset.url names the environment variable {found[1]}, which is not set; export it first.")
    return value


def _fetch_from_server(url: URL, shown: str, query: Query) -> tuple[list[str], list[Any]]:
    """Return the column names and the rows, and discard anything that the statement writes."""
    from sqlalchemy import create_engine, text
    from sqlalchemy.exc import NoSuchModuleError
    from sqlalchemy.pool import NullPool

    try:
        engine = create_engine(url, poolclass=NullPool)
    except (ImportError, NoSuchModuleError) as error:
        raise UserError(
            f"dataset.url={shown!r} needs a database driver that is not installed; for PostgreSQL: "
            f"{write_install_command('postgres')}."
        ) from error
    with engine.connect() as connection:
        reading = connection.execution_options(yield_per=ROWS_AT_A_TIME, postgresql_readonly=True)
        if query.parameters:
            result = reading.execute(text(query.query), query.parameters)
        else:  # drivers leave signs such as % and : as they are
            result = reading.execution_options(no_parameters=True).exec_driver_sql(query.query)
        return (list(result.keys()), list(result)) if result.returns_rows else ([], [])


def _fetch_from_file(url: URL, shown: str, query: Query) -> tuple[list[str], list[Any]]:
    """Return the column names and the rows of a SQLite file, in a thread that stops when this one gets a signal."""
    file = expand_home(str(url.database))
    if not file.is_file():
        raise UserError(
            f"dataset.url={shown!r}: {str(file)!r} is not a file (looked in {Path.cwd()}); give the path of a database."
        )
    stopped = Event()
    with ThreadPoolExecutor(1) as pool:
        try:
            return pool.submit(_read_file, file, query, stopped).result()
        finally:
            stopped.set()


def _read_file(file: Path, query: Query, stopped: Event) -> tuple[list[str], list[Any]]:
    # SQLite would create a missing file, and a statement may attach and write others.
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        connection.set_authorizer(lambda action, *_: action not in READING_ACTIONS)
        connection.set_progress_handler(stopped.is_set, STEPS_BETWEEN_LOOKS)
        cursor = connection.execute(query.query, query.parameters or {})
        rows = list(limit_sizes(cursor, _measure_row, file, f"the result of dataset.query={query.query!r}"))
        return [name for name, *_ in cursor.description or ()], rows


def _measure_row(row: tuple[Any, ...]) -> int:
    return getsizeof(row) + sum(map(getsizeof, row))


def _explain(error: Exception, url: URL) -> str:
    """Return the first line of a driver's error message, without the password."""
    if isinstance(error, sqlite3.Error) and "authoriz" in str(error):
        return "a query must be a SELECT that changes nothing"
    message = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
    return message.replace(str(url.password), "***") if url.password else message
