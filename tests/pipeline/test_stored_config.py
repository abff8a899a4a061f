"""The configuration of a run, which other programs may have stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.store import open_store
from bakeoff.pipeline.tracking.stored_config import read_stored_config

OTHERS = {
    "- a list": "not a configuration of bakeoff",
    "a: [": "is not YAML",
    "a: &a [1]\nb: &b [*a, *a]\nlearner: [*b, *b]": r"config\.yaml of run \w+, line 2: \*a is inside an anchored part",
}


def test_a_run_of_other_code_is_refused(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/mlflow.db", "bakeoff")
    run_id = store.client.create_run(store.experiment_id).info.run_id
    with pytest.raises(UserError, match=r"no artifact config\.yaml"):
        read_stored_config(store, run_id)
    for text, message in OTHERS.items():
        store.client.log_text(run_id, text, "config.yaml")
        with pytest.raises(UserError, match=message):
            read_stored_config(store, run_id)
