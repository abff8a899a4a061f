"""The same table gives the same scores, whatever it is read from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from command import Bakeoff
from openml_server import serve_openml
from wheel_data import OPENML_IDS
from written_tables import titanic, write_database, write_titanic

SHARED = ("dataset.target=survived", "dataset.drop=[boat,body]", "learner=decision_tree")
FROM_PYTHON = """
from written_tables import titanic

from bakeoff.pipeline.stages.dataset import load_frame


def load(target, drop):
    return load_frame(titanic(), target, name="titanic", drop=drop)
"""
OPTION = """
# Titanic, handed over by a function.
_target_: mine.load
target: survived
drop: []
"""


def stored_scores(bakeoff: Bakeoff) -> list[Mapping[str, Any]]:
    """Return every metric of each run that is no time."""
    metrics = [run.data.metrics for run in bakeoff.runs()]
    return [{name: value for name, value in of_run.items() if "time/" not in name} for of_run in metrics]


@pytest.mark.slow
def test_titanic_has_the_same_scores_to_the_last_digit_in_every_format(
    bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = write_database(tmp_path / "titanic.db", titanic())
    (tmp_path / "mine.py").write_text(FROM_PYTHON)
    (tmp_path / "my_conf" / "dataset").mkdir(parents=True)
    (tmp_path / "my_conf" / "dataset" / "from_python.yaml").write_text(OPTION)
    serve_openml(monkeypatch, OPENML_IDS["titanic"])
    sources = [["dataset=file", f"dataset.path={file}"] for file in write_titanic(tmp_path / "files").values()]
    sources += [
        ["dataset=sql", f"dataset.url={url}", "dataset.table=titanic"],
        ["dataset=openml", f"dataset.id={OPENML_IDS['titanic']}", f"dataset.data_home={tmp_path / 'openml'}"],
        ["--config-dir=my_conf", "dataset=from_python", "trust=[mine]"],
    ]
    for words in sources:
        answer = bakeoff(*words, *SHARED)
        assert answer.status == 0, answer.out + answer.err
    scores = stored_scores(bakeoff)
    assert len(scores) == len(sources)
    assert 0.75 < scores[0]["test_accuracy"] < 0.85
    assert [of_source == scores[0] for of_source in scores] == [True] * len(scores)
