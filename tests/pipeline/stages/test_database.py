"""Queries of databases: a SQLite file, and a PostgreSQL server."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlflow_server
import numpy as np
import pandas as pd
import pytest
import sqlalchemy
from written_tables import titanic, write_database

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import content, load_frame, load_query
from bakeoff.pipeline.stages.dataset.database import Query, read_query
from bakeoff.pipeline.stages.dataset.source import Source

PEOPLE = pd.DataFrame({"age": [30, None, 29], "job": ["cook", "?", None], "size": [1.7, 1.8, None]})


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Return the URL of a SQLite file with the table people."""
    return write_database(tmp_path / "shop.db", PEOPLE, "people")


def read(url: str, **keys: Any) -> Source:
    return read_query(Query(url, **keys))


def test_a_query_is_read_with_its_types(url: str, tmp_path: Path) -> None:
    raw = read(url, query="SELECT * FROM people")
    assert [str(dtype) for dtype in raw.frame.dtypes] == ["float64", "string", "float64"]
    with sqlite3.connect(tmp_path / "shop.db") as database:
        as_pandas_reads = pd.read_sql_query("SELECT * FROM people", database)
    database.close()
    for name in ("age", "size"):
        assert np.array_equal(raw.frame[name], as_pandas_reads[name], equal_nan=True)
    assert raw.frame["job"].tolist() == ["cook", "?", pd.NA]
    assert (raw.name, raw.notes, raw.origin) == ("shop", (), f"{url}: SELECT * FROM people")
    fewer = read(url, query="SELECT job, '50% :x' AS share FROM people WHERE age > 29")
    assert fewer.frame.to_dict("list") == {"job": ["cook"], "share": ["50% :x"]}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT age FROM people WHERE age > 99", "returns no rows"),
        ("SELECT age, age FROM people", "returns 2 columns named 'age' \\(columns 1, 2\\); rename one with AS"),
        ("SELEC age", "does not answer 'SELEC age': near \"SELEC\": syntax error"),
        ("SELECT x FROM nobody", "no such table: nobody"),
        ("DELETE FROM people", "a query must be a SELECT that changes nothing"),
        ("VACUUM INTO 'copy.db'", "a query must be a SELECT that changes nothing"),
        ("ATTACH 'copy.db' AS copy", "a query must be a SELECT that changes nothing"),
        ("CREATE TEMP TABLE copy AS SELECT * FROM people", "a query must be a SELECT that changes nothing"),
        ("PRAGMA user_version", "a query must be a SELECT that changes nothing"),
        ("UPDATE sqlite_master SET name = 'copy'", "may not be modified"),
        ("SELECT age FROM people; DELETE FROM people", "one statement at a time"),
        ("SELECT age FROM people WHERE job = :job", "did not supply a value for binding parameter :job"),
    ],
)
def test_wrong_queries_are_refused_and_change_nothing(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=message):
        read(url, query=query)
    assert len(read(url, query="SELECT * FROM people").frame) == 3
    assert [file.name for file in tmp_path.iterdir()] == ["shop.db"]


def test_parameters_are_values_of_a_query(url: str) -> None:
    query = "SELECT age FROM people WHERE job = :job"
    assert read(url, query=query, parameters={"job": "cook"}).frame["age"].tolist() == [30]
    assert read(url, query="SELECT value AS x FROM json_each('[1, 2]')").frame["x"].tolist() == [1, 2]
    with pytest.raises(UserError, match="parameters are of unsupported type"):
        read(url, query=query, parameters=3)


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"


@pytest.mark.parametrize("selected", ["i", "count(*)"])
def test_a_signal_ends_an_endless_query(url: str, selected: str) -> None:
    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            read(url, query=f"{ENDLESS} SELECT {selected} AS y FROM n")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def test_more_rows_than_a_file_can_hold_are_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "MIN_EXPANDED_BYTES", 1000)
    with pytest.raises(UserError, match=r"dataset\.query='WITH .*' holds more than .* 100 times the size of the file"):
        read(url, query=f"{ENDLESS} SELECT i AS y FROM n")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("people.csv", "is not a database URL, such as sqlite:///my.db"),
        ("nosuch://host/people", "needs a database driver that is not installed"),
        pytest.param(
            "postgresql://me@127.0.0.1:1/people",
            "does not answer .*onnection refused",
            marks=pytest.mark.extra("postgres"),
        ),
    ],
)
def test_wrong_urls_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=message):
        read(url, query="SELECT * FROM people")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "url", ["postgresql://me:hush@host/people", "mysql://host/people?password=hush", "postgresql://me:hush@host/$NAME"]
)
def test_a_password_in_clear_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(UserError, match="holds a password, which would be stored with the run") as refused:
        read(url, query="SELECT * FROM people")
    assert "hush" not in str(refused.value)


def test_a_missing_driver_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UserError, match=r"needs a database driver .* pip install 'psycopg"):
        read("postgresql://me@host/people", query="SELECT * FROM people")


def test_the_url_may_be_an_environment_variable(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP", url)
    assert read("$SHOP", query="SELECT * FROM people").frame.equals(read(url, query="SELECT * FROM people").frame)


@pytest.fixture(scope="module")
def postgres(open_folder: Path) -> Iterator[str]:
    """Start a server with Titanic, and return its URL; the password is in the environment variable SHOP_PASSWORD."""
    if reason := mlflow_server.missing():
        pytest.skip(reason)
    with mlflow_server.running_postgres(open_folder / "shop") as uri:
        url = sqlalchemy.make_url(uri)
        engine = sqlalchemy.create_engine(url)
        with engine.begin() as connection:
            titanic().to_sql("titanic", connection, index_label="passenger")
            connection.exec_driver_sql("CREATE SEQUENCE numbers")
            connection.exec_driver_sql(
                "CREATE TABLE kinds (a integer, b numeric(6,2), c boolean, d date, e timestamptz, f char(3), g real, "
                "h uuid, i jsonb, j int[])"
            )
            connection.exec_driver_sql(
                "INSERT INTO kinds VALUES (1, 1.10, true, '2024-01-02', '2024-01-02 00:00+02', 'x%%', 0.1, "
                "'00000000-0000-0000-0000-000000000007', '{}', '{1,2}'), "
                "(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
            )
        engine.dispose()
        os.environ["SHOP_PASSWORD"] = str(url.password)
        yield url.set(password="$SHOP_PASSWORD").render_as_string(hide_password=False).replace("%24", "$")
        del os.environ["SHOP_PASSWORD"]


@pytest.mark.external
def test_postgresql_gives_the_same_dataset_as_python(postgres: str) -> None:
    drop = ["boat", "body"]
    names = ", ".join(f'"{name}"' for name in titanic().columns)
    query = f"SELECT {names} FROM titanic ORDER BY passenger"
    by_query = load_query("survived", url=postgres, query=query, drop=drop)
    assert by_query.digest() == load_frame(titanic(), "survived", drop=drop).digest()
    assert os.environ["SHOP_PASSWORD"] not in by_query.source


@pytest.mark.external
def test_types_of_postgresql_are_those_of_other_sources(postgres: str) -> None:
    raw = read(postgres, query="SELECT * FROM kinds WHERE a = 1 OR f LIKE '%' OR a IS NULL")
    kinds = {str(name): str(dtype) for name, dtype in raw.frame.dtypes.items()}
    assert kinds == {
        "a": "Int64", "b": "float64", "c": "boolean", "d": "datetime64[ms]", "e": "datetime64[us]", "f": "string",
        "g": "float64", "h": "string",
    }  # fmt: skip
    first = raw.frame.iloc[0].tolist()
    moments = [pd.Timestamp("2024-01-02"), pd.Timestamp("2024-01-01 22:00")]
    assert first == [1, 1.1, True, *moments, "x% ", 0.1, "00000000-0000-0000-0000-000000000007"]
    assert raw.frame.iloc[1].isna().all()
    said = ["'e': times of other zones", "'i': cells of type dict", "'j': cells of type list"]
    assert [part in note for part, note in zip(said, raw.notes, strict=True)] == [True] * 3


WRITING = (
    "DELETE FROM kinds",
    "WITH gone AS (DELETE FROM kinds RETURNING a) SELECT a FROM gone",
    "SELECT a FROM kinds; DELETE FROM kinds",
    "COMMIT; DELETE FROM kinds",
    "COPY kinds TO PROGRAM 'cat > /dev/null'",
    "SELECT set_config('transaction_read_only', 'off', true)",
    "SELECT nextval('numbers')",
)


@pytest.mark.external
def test_nothing_that_a_query_writes_is_kept(postgres: str) -> None:
    for query in WRITING:
        with pytest.raises(UserError, match="does not answer"):
            read(postgres, query=query)
    assert len(read(postgres, query="SELECT * FROM public.kinds").frame) == 2


@pytest.mark.external
def test_parameters_are_values_of_a_query_of_postgresql(postgres: str) -> None:
    raw = read(postgres, query="SELECT a, f FROM kinds WHERE a = :a AND f LIKE 'x%%'", parameters={"a": 1})
    assert raw.frame["a"].tolist() == [1]


@pytest.mark.external
def test_a_wrong_password_is_not_repeated(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "hush")
    with pytest.raises(UserError, match="password authentication failed") as refused:
        read(postgres, query="SELECT * FROM titanic")
    assert "hush" not in str(refused.value)
