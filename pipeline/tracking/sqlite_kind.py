"""What a SQLite file holds: runs of this version of MLflow, of another one, or the tables of another program.

MLflow makes its tables in whatever file it is given, migrates those of an earlier version when it opens them, and sends
the token of the user to each server that a row names. So the file is looked at before.
"""

from __future__ import annotations

import re
import shlex
import sqlite3
from collections.abc import Collection
from contextlib import closing
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.secrets import strip_secrets
from bakeoff.pipeline.text.terminal import show_in_line
from bakeoff.pipeline.tracking.addresses import COLUMNS

STORE_TABLES = frozenset({"experiments", "runs", "metrics", "params", "tags"})
"""Tables that each version of MLflow has had."""
VERSION_TABLE = "alembic_version"
MAX_SHOWN_TABLES = 3
LOCAL_SCHEMES = ("", "file", "models", "runs", "mlflow-artifacts")
"""Of addresses that lead to a folder of this machine, or name what the store itself has; none of them needs a host."""
TABLE_WITH_TRIGGERS = "secrets"
"""The one table of MLflow with triggers; bakeoff does not write it."""
REVISION = re.compile(r"^(down_)?revision(?:\s*:[^=]*)?\s*=\s*[\"'](\w+)[\"']", re.MULTILINE)
"""The line in which a migration of MLflow names its schema, or the schema before it."""


def require_store(path: Path) -> None:
    """Reject a file that does not hold the tables of the MLflow that is installed, or that names a server.

    The file is read through SQLite. Opening and closing it directly would release the locks that this process holds on
    it through SQLite (a rule of POSIX), and the next process to end would then remove the log that is still in use.

    Parameters
    ----------
    path : Path

    Raises
    ------
    UserError
    """
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        _require_store(database, path)
        _require_local_addresses(database, path)


def _require_store(database: sqlite3.Connection, path: Path) -> None:
    shown = f"tracking.uri: {str(path)!r}"
    try:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        tables = [name for (name,) in database.execute(query)]
        revisions = _read_revisions(database) if VERSION_TABLE in tables else []
    except sqlite3.OperationalError:  # it is locked, and so it is a database
        return
    except sqlite3.DatabaseError:
        raise UserError(f"{shown} is not a SQLite database; name another file.") from None
    if not tables:
        raise UserError(f"{shown} is a SQLite file without tables; delete it, or name another file.")
    if not STORE_TABLES.issubset(tables):
        raise UserError(
            f"{shown} belongs to another program: it has the tables {_list_some(tables)}, and none of MLflow's; name "
            "another file, so that MLflow's tables are not made in this one."
        )
    _require_revision(revisions, path, shown)


def _require_revision(revisions: list[str], path: Path, shown: str) -> None:
    """Reject the tables of another version of MLflow."""
    newest, known = _read_schemas()
    # A version that names its schemas in another way decides by itself.
    if not newest or revisions == [newest]:
        return
    is_earlier = all(revision in known for revision in revisions)
    if is_earlier:
        command = shlex.join(["mlflow", "db", "upgrade", f"sqlite:///{path}"])
        raise UserError(
            f"{shown} was written by an earlier version of MLflow, and using it would change its tables; copy the "
            f"file, and then run: {command}"
        )
    raise UserError(
        f"{shown} was written by a later version of MLflow than the one that is installed ({_mlflow_version()}); "
        "install that version, or name another file."
    )


def _require_local_addresses(database: sqlite3.Connection, path: Path) -> None:
    """Reject a store whose artifacts are on a server: MLflow would send the token of the user there."""
    # A view or a trigger could show MLflow another address than the one that is read here.
    query = "SELECT type, name FROM sqlite_master WHERE type IN ('view', 'trigger') AND tbl_name != ?"
    for kind, name in database.execute(query, (TABLE_WITH_TRIGGERS,)):
        raise UserError(
            f"tracking.uri: {str(path)!r} has the {kind} {show_in_line(name)!r}, which MLflow's tables do not have; "
            "name another file."
        )
    for table, column in COLUMNS:
        for (address,) in database.execute(f"SELECT {column} FROM {table} WHERE {column} NOT LIKE 'file:///%'"):
            if not _is_local(str(address)):
                raise UserError(
                    f"tracking.uri: {str(path)!r} keeps artifacts at {show_in_line(strip_secrets(str(address)))} "
                    f"({table}.{column}), and opening it could send your credentials there; a SQLite store holds "
                    "addresses on this machine alone. Name that server as tracking.uri=URI, or another file."
                )


def _is_local(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    has_host = parts.netloc not in (("", "localhost") if parts.scheme == "file" else ("",))
    return parts.scheme in LOCAL_SCHEMES and not has_host


@cache
def _read_schemas() -> tuple[str, Collection[str]]:
    """Return the schema of the installed MLflow, and all of its earlier ones; nothing if they cannot be told."""
    spec = find_spec("mlflow")
    assert spec is not None
    folder = Path(str(spec.origin)).parent / "store" / "db_migrations" / "versions"
    revisions: set[str] = set()
    earlier: set[str] = set()
    for file in folder.glob("*.py"):
        for is_earlier, revision in REVISION.findall(file.read_text(encoding="utf-8")):
            (earlier if is_earlier else revisions).add(revision)
    newest = revisions - earlier
    return (newest.pop(), revisions) if len(newest) == 1 else ("", revisions)


def _read_revisions(database: sqlite3.Connection) -> list[str]:
    return [str(revision) for (revision,) in database.execute(f"SELECT version_num FROM {VERSION_TABLE}")]


def _list_some(tables: list[str]) -> str:
    shown = ", ".join(tables[:MAX_SHOWN_TABLES])
    n_more = len(tables) - MAX_SHOWN_TABLES
    return f"{shown} and {n_more} more" if n_more > 0 else shown


def _mlflow_version() -> str:
    from importlib.metadata import version

    return version("mlflow")
