"""A reserve: rows that no fold of a run uses, by the record of its rows, and one door through which they are scored."""

from __future__ import annotations

from io import StringIO
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import Bakeoff
from doubles import experiment, numbered
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from bakeoff.pipeline.audit import Audit
from bakeoff.pipeline.audit.columns import find_shared_rows
from bakeoff.pipeline.commands.repetition.refit import LoadedRun, load_run, score_reserve
from bakeoff.pipeline.config.requests import RefitRequest
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import evaluate_split, fit_final_model, fitting, loop
from bakeoff.pipeline.experiment.stage_log import RESERVE, RowSet, find_leaks
from bakeoff.pipeline.stages.splitting import KFold, Split, Splits

WORDS = ("dataset=iris", "learner=sklearn_lda", "evaluation.reserve=0.2")


def load(bakeoff: Bakeoff, **keys: Any) -> LoadedRun:
    """Return the latest run, which has not been fitted again."""
    return load_run(RefitRequest(run="latest", tracking__uri=f"sqlite:///{bakeoff.folder}/outputs/mlflow.db", **keys))[
        1
    ]


def run(bakeoff: Bakeoff, *words: str) -> LoadedRun:
    answer = bakeoff(*words)
    assert answer.status == 0, answer.err
    return load(bakeoff)


def test_the_record_of_the_rows_shows_that_no_stage_has_seen_the_reserve() -> None:
    built = experiment(numbered(), splitter=KFold(folds=3, validation=0.2, reserve=0.25))
    splits = built.make_splits()
    folds = [evaluate_split(built, number, split) for number, split in enumerate(splits.folds)]
    seen = [fold.seen for fold in folds] + [fit_final_model(built, splits, folds[-1]).seen]
    assert splits.final is not None
    for stages in map(dict, seen):
        assert stages.pop(RESERVE).to_rows().tolist() == splits.final.test.tolist()
        assert not {row for rows in stages.values() for row in rows.to_rows()} & {*splits.final.test}


@pytest.mark.parametrize("stage", ["learner.fit", "tuning", "scoring.train", "scoring.test"])
def test_a_reserved_row_is_found_in_any_stage_of_the_record(stage: str) -> None:
    seen = {RESERVE: RowSet.of(np.array([1, 2]), 9), stage: RowSet.of(np.array([2, 3]), 9)}
    assert find_leaks(seen) == {stage: 1}


@pytest.mark.parametrize("part", ["train", "validation", "test"])
def test_a_splitter_that_uses_the_reserve_is_refused_before_the_first_fit(part: str) -> None:
    parts = {name: np.array([number]) for number, name in enumerate(("train", "validation", "test"))}
    honest = Splits((Split(**parts, reserve=np.array([9])),), None)
    assert find_shared_rows(honest) == ""
    parts[part] = np.append(parts[part], 9)
    leaking = Splits((Split(**parts, reserve=np.array([9])),), None)
    assert "fold 0 would use 1 of its 1 reserved rows" in find_shared_rows(leaking)


def test_the_audit_ends_a_fold_that_has_used_the_reserve(monkeypatch: pytest.MonkeyPatch) -> None:
    def fit_on_all(built: Any, pipeline: Any, rows: Any, log: Any) -> Any:
        return fit(built, pipeline, np.arange(len(built.dataset.y))[-len(rows) :], log)

    built = experiment(numbered(), splitter=KFold(folds=3, reserve=0.25))
    splits = built.make_splits()
    fit = fitting.fit_pipeline
    monkeypatch.setattr(loop, "fit_pipeline", fit_on_all)
    with pytest.raises(RuntimeError, match=r"preprocessing.fit has used .* 10 reserved rows"):
        Audit().check_fold(evaluate_split(built, 0, splits.folds[0]))


@pytest.mark.parametrize("evaluation", ["holdout", "kfold", "bootstrap"])
def test_the_reserve_is_scored_by_a_model_of_all_other_rows(bakeoff: Bakeoff, evaluation: str) -> None:
    loaded = run(bakeoff, *WORDS, f"evaluation={evaluation}", "pruning=none", "evaluation.validation=0")
    X, y = load_iris(return_X_y=True)
    fold = score_reserve(loaded)
    reserve = fold.split.test
    others = np.setdiff1d(np.arange(150), reserve)
    expected = LinearDiscriminantAnalysis().fit(X[others], y[others]).score(X[reserve], y[reserve])
    assert len(reserve) == 30
    assert fold.scores["test_accuracy"] == expected
    # The same rows for a run with another seed, whose folds differ.
    other = run(bakeoff, *WORDS, f"evaluation={evaluation}", "pruning=none", "evaluation.validation=0", "seed=1")
    assert score_reserve(other).split.test.tolist() == reserve.tolist()


def test_a_run_says_what_it_reserves_and_stores_it_in_its_record_and_its_identity(bakeoff: Bakeoff) -> None:
    answer = bakeoff(*WORDS, "evaluation=kfold")
    assert "model: fitted on 120 of 150 rows (30 in the reserve)" in answer.out
    assert bakeoff("dataset=iris", "learner=sklearn_lda", "evaluation=kfold").status == 0
    plain, reserving = bakeoff.runs()
    table = pd.read_csv(StringIO(bakeoff.artifact(reserving, "audit.csv")))
    reserve = RowSet.of(load_reserve(bakeoff, reserving.info.run_id), 150)
    assert set(table.loc[table["stage"] == RESERVE, "digest"]) == {reserve.digest()}
    assert set(table.loc[table["stage"] == RESERVE, "fold"]) == {*"01234", "all rows"}
    for tag in ("splits_digest", "config_hash"):
        assert plain.data.tags[tag] != reserving.data.tags[tag]
    assert reserving.data.params["evaluation.reserve"] == "0.2"
    # A run without a reserve has the configuration that it had when there was none.
    assert "evaluation.reserve" not in plain.data.params
    assert bakeoff("replay", reserving.info.run_id).status == 0


def load_reserve(bakeoff: Bakeoff, run_id: str) -> np.ndarray:
    uri = f"sqlite:///{bakeoff.folder}/outputs/mlflow.db"
    _, loaded = load_run(RefitRequest(run=run_id, tracking__uri=uri))
    return loaded.splits.folds[0].reserve


def test_a_run_without_a_reserve_has_none_to_score(bakeoff: Bakeoff) -> None:
    loaded = run(bakeoff, "dataset=iris", "learner=majority")
    with pytest.raises(UserError, match=r"has no reserve.*evaluation\.reserve=0\.2"):
        score_reserve(loaded)
