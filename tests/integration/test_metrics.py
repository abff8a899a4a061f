"""Metrics of the user and costs through whole commands: runs, sweeps, comparisons, tuning and studies."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import Bakeoff, command_in, enter
from joblib.externals.loky import get_reusable_executor

from bakeoff.pipeline.tracking.names import find_headline, find_run_id, is_greater_better
from bakeoff.pipeline.tracking.store import open_store

MODULE = """
import numpy as np
from sklearn.metrics import fbeta_score, make_scorer

def mistakes(y_true, y_pred, price=1.0):
    return price * float(np.mean(y_true != y_pred))

f2 = make_scorer(fbeta_score, beta=2, average="macro", pos_label=None)
"""
MISTAKES = "{_target_: priced.scores.mistakes, greater_is_better: false, price: 10}"
METRICS = f"evaluation.metrics=[{MISTAKES},accuracy,priced.scores.f2]"
TRUST = "trust=[priced]"


def write_package(folder: Path) -> None:
    """Write the user's package."""
    package = folder / "priced"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "scores.py").write_text(MODULE)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a folder with a sweep by a metric of the user, of which less is better, and what the sweep printed."""
    folder = tmp_path_factory.mktemp("priced")
    write_package(folder)
    with command_in(folder) as command:
        answer = command(
            "-m", "learner=majority,naive_bayes", "dataset=iris,wine", "evaluation=kfold", METRICS, TRUST,
            "tracking.models=false",
        )  # fmt: skip
        assert answer.status == 0, answer.err
    return folder, answer.out


@pytest.fixture
def swept(prepared: tuple[Path, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Bakeoff:
    """Return the command in that folder, for tests that leave its runs alone."""
    folder, _ = prepared
    enter(folder, monkeypatch)
    return Bakeoff(folder, capsys, monkeypatch)


def test_a_metric_of_the_user_is_the_headline_of_a_sweep(prepared: tuple[Path, str], swept: Bakeoff) -> None:
    _, out = prepared
    assert "test_mistakes" in out
    table = out[out.index("\nconfiguration ") :]
    assert table.index("naive_bayes") < table.index("majority")  # the best configuration is the first row
    for run in swept.runs():
        scores = run.data.metrics
        assert find_headline(run.data.params, scores) == "test_mistakes"
        assert scores["test_mistakes"] == pytest.approx(10 * (1 - scores["test_accuracy"]))
        assert 0 <= scores["test_f2"] <= 1
        assert not is_greater_better("test_mistakes", run.data.params)
        assert is_greater_better("test_f2", run.data.params)


def test_the_best_run_by_a_metric_of_the_user_has_the_lowest_value(swept: Bakeoff) -> None:
    store = open_store(f"sqlite:///{swept.folder}/outputs/mlflow.db", "bakeoff")
    best = store.client.get_run(find_run_id(store, "best", "iris"))
    assert best.data.params["learner"] == "naive_bayes"


def test_a_comparison_by_a_metric_of_the_user_ranks_by_its_sign(swept: Bakeoff) -> None:
    verdict = swept("compare", "sweep=latest", "keep=false")
    assert verdict.out.count("naive_bayes has the best mean rank by mistakes") == 1, verdict.err
    by_f2 = swept("compare", "sweep=latest", "metrics=f2", "keep=false")
    assert by_f2.out.count("naive_bayes has the best mean rank by f2") == 1, by_f2.err


def test_folds_in_other_processes_have_the_same_scores(swept: Bakeoff) -> None:
    words = ("learner=naive_bayes", "dataset=iris", "evaluation=kfold", METRICS, TRUST, "tracking=none")
    alone = swept(*words)
    # Processes that an earlier test has left do not know the folder of the package.
    get_reusable_executor().shutdown()
    shared = swept(*words, "n_jobs=2")
    assert shared.status == 0, shared.err
    assert shared.out == alone.out
