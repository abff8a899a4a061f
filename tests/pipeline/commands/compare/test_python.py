"""``bakeoff.compare``: the numbers of the command's comparison, as tables of pandas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import command_in

import bakeoff
from bakeoff import SweepResult

pytestmark = pytest.mark.filterwarnings("ignore::bakeoff.BakeoffWarning")
FOLDS = ("evaluation=repeated_kfold", "evaluation.folds=5", "evaluation.repeats=2", "tracking.models=false")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the current folder of all tests of this file."""
    folder = tmp_path_factory.mktemp("compared")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        yield folder


@pytest.fixture(scope="module")
def swept(folder: Path) -> SweepResult:
    """Return a sweep of three learners on two datasets."""
    return bakeoff.sweep("learner=majority,naive_bayes,knn", *FOLDS, dataset=["iris", "wine"])


@pytest.fixture(scope="module")
def compared(swept: SweepResult) -> bakeoff.ComparisonResult:
    """Return the comparison of the sweep."""
    return bakeoff.compare(swept, metrics=["accuracy", "f1"])


def test_the_numbers_are_those_of_the_command(compared: bakeoff.ComparisonResult, swept: SweepResult) -> None:
    with command_in(Path.cwd()) as command:
        words = (f"sweep={swept.name}", "metrics=accuracy,f1", "to=json", "keep=false")
        answer = command("compare", *words)
    document = json.loads(answer.out)
    own = json.loads(compared.render("json"))
    for key in ("verdict", "notes", "results", "configurations", "cells", "run_ids"):
        assert own[key] == document[key]
    assert compared.verdict.splitlines() == document["verdict"]
    pairs = [pair for result in document["results"] for dataset in result["datasets"] for pair in dataset["pairs"]]
    assert compared.pairs["p_holm"].tolist() == [np.nan if pair["p_holm"] is None else pair["p_holm"] for pair in pairs]
    assert len(compared.scores) == 12


def test_the_table_has_the_means_of_the_sweep(compared: bakeoff.ComparisonResult, swept: SweepResult) -> None:
    pd.testing.assert_frame_equal(
        compared.table.sort_index(), swept.table.sort_index(), check_names=False, check_exact=False, rtol=1e-12
    )
    assert compared.overall_pairs.empty or "p_nemenyi" in compared.overall_pairs


def test_results_of_runs_and_their_ids_are_the_same_selection(swept: SweepResult) -> None:
    first, second = (bakeoff.run(f"learner={name}", *FOLDS, dataset="wine") for name in ("knn", "naive_bayes"))
    by_result = bakeoff.compare(first, second, base=first)
    by_id = bakeoff.compare(first.run_id[:8], second.run_id, base=first.run_id)  # type: ignore[index,arg-type]
    pd.testing.assert_frame_equal(by_result.scores, by_id.scores)
    assert by_result.is_worse is False
    assert bakeoff.compare(first, second, base=second).is_worse is True


def test_predicted_and_true_targets_of_a_regression_on_one_dataset_are_those_of_its_runs(folder: Path) -> None:
    words = ("evaluation=kfold", "tracking.models=false")
    ran = {
        name: bakeoff.run(f"learner={name}", *words, dataset="diabetes")
        for name in ("linear_regression", "knn_regressor")
    }
    result = bakeoff.compare(*ran.values())
    assert [*result.comparison.predictions] == [row.name for row in result.comparison.configurations]
    for name, one in ran.items():
        expected = one.predictions[["truth", "predicted"]].to_numpy()
        np.testing.assert_array_equal(result.comparison.predictions[name], expected)
    assert result.render("html").count('against true targets"') == 2
    lost = folder / f"outputs/artifacts/bakeoff/{ran['knn_regressor'].run_id}/artifacts/predictions.csv"
    for damaged in (b"a,b\n1,2\n", b"truth,predicted\nx,y\n", b"\xff"):
        lost.write_bytes(damaged)
        page = bakeoff.compare(*ran.values()).render("html")
        assert page.count('against true targets"') == 1
        assert "Shown: 1 of 2 configurations." in page


def test_a_comparison_is_kept_only_if_it_is_asked_for(compared: bakeoff.ComparisonResult, swept: SweepResult) -> None:
    assert compared.run_id is None
    kept = bakeoff.compare(sweep="latest", keep=True)
    with command_in(Path.cwd()) as command:
        client = command.client()
        run = client.get_run(kept.run_id)
        stored = client.search_runs([client.get_experiment_by_name("bakeoff-comparisons").experiment_id])
    assert [each.info.run_id for each in stored] == [kept.run_id]
    assert run.data.tags["command"] == "bakeoff compare sweep=latest"


@pytest.mark.parametrize(
    ("runs", "keys", "said"),
    [
        ([3], {}, "int is neither a result of run or sweep"),
        ([], {}, "select the runs to compare"),
        ([], {"sweep": "latest", "pairs": "some"}, "pairs=some"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    runs: list[Any], keys: dict[str, Any], said: str, swept: SweepResult
) -> None:
    with pytest.raises(bakeoff.UserError, match=said):
        bakeoff.compare(*runs, **keys)
