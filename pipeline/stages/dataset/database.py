"""Database queries with SQLAlchemy URLs."""

from __future__ import annotations

import os
import re
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bakeoff.pipeline.errors import UserError, write_install_command
from bakeoff.pipeline.stages.dataset.source import Source, make_source, require_different_names
from bakeoff.pipeline.text.secrets import is_secret_name
from bakeoff.pipeline.text.wording import expand_home

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.engine import URL

SQLITE = "sqlite"
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
    """

    url: str
    query: str


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
    engine = _create_engine(url, shown)
    statement = query.query
    try:
        names, rows = _fetch_rows(engine, statement)
    except SQLAlchemyError as error:
        raise UserError(f"dataset.url={shown!r} does not answer {statement!r}: {_explain(error, url)}") from None
    finally:
        engine.dispose()
    if not rows:
        raise UserError(f"dataset.query={statement!r} returns no rows.")
    require_different_names(names, f"dataset.query={statement!r} returns", "rename one with AS")
    cells = {name: pd.Series(column, dtype=object) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    return make_source(pd.DataFrame(cells), Path(str(url.database)).stem, f"{shown}: {statement}")


def _parse_url(given: str) -> URL:
    """Return a URL with its variables replaced by their values; raise UserError for a plain-text password."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    whole = VARIABLE.fullmatch(given)
    try:
        url = make_url(_read_variable(whole.group(1)) if whole else given)
    except (ArgumentError, ValueError):
        # The text is not shown, because it may contain a password.
        raise UserError(
            "dataset.url is not a database URL, such as sqlite:///my.db or postgresql://user@host/database."
        ) from None
    if whole:
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
    is_file = url.get_backend_name() == SQLITE and url.database
    return [expand_home(str(url.database))] if is_file else []


def _hide_secrets(url: URL) -> str:
    """Return a URL without its password and its options, which may also contain one."""
    return url.set(query={}).render_as_string(hide_password=True)


def _expand(text: Any) -> Any:
    """Return a part of a URL with the value of a variable instead of its name."""
    found = VARIABLE.fullmatch(text) if isinstance(text, str) else None
    return _read_variable(found.group(1)) if found else text


def _read_variable(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise UserError(f"dataset.url names the environment variable {name}, which is not set; export it first.")
    return value


def _create_engine(url: URL, shown: str) -> Engine:
    from sqlalchemy import create_engine
    from sqlalchemy.exc import NoSuchModuleError

    if url.get_backend_name() == SQLITE:
        return _open_sqlite(url, shown)
    try:
        return create_engine(url)
    except (ImportError, NoSuchModuleError) as error:
        raise UserError(
            f"dataset.url={shown!r} needs a database driver that is not installed; for PostgreSQL: "
            f"{write_install_command('postgres')}."
        ) from error


def _open_sqlite(url: URL, shown: str) -> Engine:
    """Return a read-only engine, because SQLite would create a missing file."""
    from sqlalchemy import create_engine

    file = expand_home(str(url.database))
    if not file.is_file():
        raise UserError(f"dataset.url={shown!r}: {str(file)!r} is not a file (looked in {Path.cwd()}).")
    address = f"{file.absolute().as_uri()}?mode=ro"
    return create_engine("sqlite://", creator=lambda: sqlite3.connect(address, uri=True))


def _fetch_rows(engine: Engine, statement: str) -> tuple[list[str], list[Any]]:
    """Return the column names and the rows, and discard anything that the statement writes."""
    with engine.connect() as connection:
        # Without parameters, drivers leave signs such as % and : as they are.
        result = connection.execution_options(no_parameters=True).exec_driver_sql(statement)
        if not result.returns_rows:
            return [], []
        return [str(name) for name in result.keys()], list(result.fetchall())  # noqa: SIM118


def _explain(error: Exception, url: URL) -> str:
    """Return the first line of a driver's error message, without the password."""
    message = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
    return message.replace(str(url.password), "***") if url.password else message
