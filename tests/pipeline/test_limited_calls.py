"""A store that does not answer is refused, and files give a call more time."""

from __future__ import annotations

import mlflow_server
import pytest
from command import Bakeoff

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.store import open_store


@pytest.mark.parametrize("words", [["-m", "learner=majority,knn"], ["compare", "sweep=latest"]], ids=" ".join)
def test_a_server_that_is_not_there_is_refused(bakeoff: Bakeoff, words: list[str]) -> None:
    answer = bakeoff(*words, f"tracking.uri=http://127.0.0.1:{mlflow_server.free_port()}")
    assert answer.status == 2
    assert "the store cannot be used: Connection refused" in answer.err
    assert "tracking=none" in answer.err
    assert not (bakeoff.folder / "outputs").exists() or not any((bakeoff.folder / "outputs").rglob("*.yaml"))


@pytest.mark.extra("postgres")
def test_a_database_that_is_not_there_is_refused_without_its_password() -> None:
    with pytest.raises(UserError, match=r"the store cannot be used.*refused") as refusal:
        open_store(f"postgresql://me:secret@127.0.0.1:{mlflow_server.free_port()}/runs", "bakeoff")
    assert "secret" not in str(refusal.value)
