"""The same table gives the same scores, whatever it is read from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import mlflow_server
import pytest
from command import Bakeoff
from sqlalchemy import create_engine
from sqlalchemy.engine import URL, make_url
from written_tables import titanic, write_titanic

from bakeoff.pipeline.stages.dataset import load_frame, read_table

TARGET = "survived"
DROPPED = ["boat", "body"]
SHARED = (f"dataset.target={TARGET}", f"dataset.drop=[{','.join(DROPPED)}]", "learner=decision_tree")


def test_every_format_of_files_gives_the_same_dataset(tmp_path: Path) -> None:
    given = load_frame(titanic(), TARGET, drop=DROPPED)
    files = write_titanic(tmp_path)
    digests = {name: read_table(str(file), TARGET, drop=DROPPED).digest() for name, file in files.items()}
    assert digests == dict.fromkeys(files, given.digest())


@pytest.fixture
def shop(open_folder: Path) -> Iterator[URL]:
    """Start a PostgreSQL server with Titanic, and return the URL of its database, password included."""
    if reason := mlflow_server.missing():
        pytest.skip(reason)
    with mlflow_server.running_postgres(open_folder / "titanic") as uri:
        engine = create_engine(uri)
        with engine.begin() as connection:
            titanic().to_sql("titanic", connection, index=False)
        engine.dispose()
        yield make_url(uri)


@pytest.mark.external
def test_no_password_of_a_database_is_stored_or_printed(bakeoff: Bakeoff, shop: URL) -> None:
    secret = str(shop.password)
    bakeoff.patch.setenv("SHOP_PASSWORD", secret)
    in_clear = shop.render_as_string(hide_password=False)
    words = ["dataset=sql", "dataset.query='SELECT * FROM titanic'", *SHARED, "learner=majority"]
    by_variable = bakeoff(*words, f"dataset.url={in_clear.replace(secret, '$SHOP_PASSWORD')}")
    assert by_variable.status == 0, by_variable.err
    (run,) = bakeoff.runs()
    assert "$SHOP_PASSWORD@" in run.data.params["dataset.url"]
    concealed = [bakeoff(*verb, *words, f"dataset.url={in_clear}") for verb in ([], ["-m"], ["plan", "-m"])]
    assert [answer.status for answer in concealed] == [0, 0, 0]
    assert "BAKEOFF_SECRET" in concealed[0].err
    printed = [answer.out + answer.err for answer in (by_variable, *concealed)]
    assert not [text for text in printed if secret in text]
    written = [file for file in bakeoff.folder.rglob("*") if file.is_file()]
    assert len(written) > 5
    assert not [file for file in written if secret.encode() in file.read_bytes()]
