"""Files as people have them: from the raw table to trustworthy scores, with the few hints that each test names."""

from __future__ import annotations

import pytest
from command import Bakeoff
from wheel_data import wheel_frame

FIVE_FOLDS = ("evaluation=kfold", "tracking.models=false")
MISSING_SPELLINGS = ("?", "-", "n.a.")


@pytest.mark.parametrize("spelling", MISSING_SPELLINGS)
def test_penguins_score_the_same_however_a_missing_cell_is_spelled(bakeoff: Bakeoff, spelling: str) -> None:
    frame = wheel_frame("penguins").replace("_", None)
    is_numeric = [name for name in frame.columns if name.endswith(("_mm", "_g"))]
    spelled = frame.copy()
    spelled[is_numeric] = spelled[is_numeric].fillna(spelling)
    for name, table in {"empty": frame, "spelled": spelled}.items():
        table.to_csv(bakeoff.folder / f"{name}.csv", index=False)
        words = ("dataset=file", f"dataset.path={name}.csv", "dataset.target=species")
        assert bakeoff(*words, "learner=decision_tree", *FIVE_FOLDS).status == 0
    metrics = [
        {name: value for name, value in run.data.metrics.items() if name.startswith("test_")} for run in bakeoff.runs()
    ]
    assert metrics[0] == metrics[1]
    assert metrics[0]["test_accuracy"] > 0.9
