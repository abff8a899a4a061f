"""References: a comparison with one equals that of running everything, and a changed one is found as often as said."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Bakeoff, command_in
from scipy.stats import binomtest

from bakeoff import compare
from bakeoff.pipeline.commands.paper.carried_runs import MANIFEST, RUNS, SCORES, read_parquet
from bakeoff.pipeline.commands.paper.verify import MAX_ERROR, bound_share
from bakeoff.pipeline.commands.reference.reference_file import open_reference
from bakeoff.pipeline.errors import UserError

DATASETS = "dataset=iris,wine,breast_cancer"
EVALUATION = ("evaluation=kfold", "evaluation.folds=4")
BASES = ("majority", "sklearn_lda")
HELD_OUT = ("knn", "naive_bayes", "decision_tree", "sklearn_knn", "sklearn_naive_bayes")
UNLIKE = ("created", "command", "selection", "notes", "run_ids", "store", "experiment", "improvability")
"""What a comparison with a reference says differently: where its scores come from."""
CHANGED = "changed.reference.zip"
FIRST_JOB = ("n=1", "seed=31")
"""Draws the first of 21 jobs, which tests change."""
OTHER_JOB = ("n=1", "seed=0")
Edit = Callable[[dict[str, bytes], dict[str, Any]], None]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a store of all learners, their reference, and for each held-out one that of the others."""
    folder = tmp_path_factory.mktemp("references")
    with command_in(folder) as bakeoff:
        learners = ",".join((*BASES, *HELD_OUT))
        ran = bakeoff("-m", f"learner={learners}", DATASETS, *EVALUATION, "hydra.sweep.dir=outputs/sweeps/all")
        assert ran.status == 0, ran.err
        written = bakeoff("reference", "make", "sweep=all", "as=all")
        assert written.status == 0, written.err
    for learner in HELD_OUT:
        rewrite(folder, folder / f"without_{learner}.reference.zip", leave_out(learner))
    return folder


@pytest.fixture
def bakeoff(made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Bakeoff:
    """Return the command in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return Bakeoff(tmp_path, capsys, monkeypatch)


def strip_times(comparison: Any) -> dict[str, Any]:
    """Return all numbers of a comparison except times, which differ each time the same jobs are run."""
    values = {key: value for key, value in asdict(comparison).items() if key not in UNLIKE}
    for cell in values["cells"]:
        for key in ("fit_seconds", "predict_seconds", "run_ids"):
            del cell[key]
    for dataset in values["datasets"]:
        del dataset["n_looks"]
    for result in values["results"]:
        del result["pareto"]
    return json.loads(json.dumps(values))


@pytest.mark.parametrize("learner", HELD_OUT)
def test_a_comparison_with_a_reference_has_the_numbers_of_running_everything(
    learner: str, made: Path, bakeoff: Bakeoff
) -> None:
    everything = compare(sweep="all", tracking__uri=str(made / "outputs" / "mlflow.db")).comparison
    with_reference = compare(
        filter=f"params.learner = '{learner}'",
        reference=str(made / f"without_{learner}.reference.zip"),
        tracking__uri=str(made / "outputs" / "mlflow.db"),
    ).comparison
    # NaN is not equal to itself, so the texts are compared, which have every digit.
    assert json.dumps(strip_times(with_reference)) == json.dumps(strip_times(everything))
    assert len(with_reference.run_ids) == 3


def test_the_notes_name_the_reference_its_verification_and_the_distance_from_the_best(made: Path) -> None:
    with command_in(made) as bakeoff:
        verified = bakeoff("reference", "verify", "all", "n=3", "seed=1")
        answer = bakeoff("compare", "filter=params.learner = 'knn'", "reference=all", "base=majority")
        listed = bakeoff("reference", "list")
    assert (verified.status, answer.status) == (0, 0), verified.err + answer.err
    assert "kept as run" in answer.err
    assert "with 95% confidence, at most 64 % of all 21 jobs differ" in verified.out
    digest = hashlib.sha256((made / "all.reference.zip").read_bytes()).hexdigest()
    assert f"Reference all {digest[:8]}: 21 jobs, none is run; 3 of 21 verified on" in answer.out
    assert f"all {digest[:8]}: 21 jobs" in listed.out


def test_the_distance_from_the_best_is_a_mean_over_datasets_with_student_s_interval(made: Path) -> None:
    result = compare(sweep="all", tracking__uri=str(made / "outputs" / "mlflow.db"))
    answer = compare(
        filter="params.learner = 'knn'",
        reference=str(made / "without_knn.reference.zip"),
        tracking__uri=str(made / "outputs" / "mlflow.db"),
    )
    means = result.table
    gaps = (means.max() - means.loc["knn"]).to_numpy()
    shares = gaps / (means.max() - means.loc["majority"]).to_numpy()
    margin = 4.302653 * gaps.std(ddof=1) / np.sqrt(3)  # Student's t with 2 degrees of freedom at 97.5 %
    (note,) = (each for each in answer.notes if "from the best" in each)
    assert f"knn is {gaps.mean():.4f} (95% interval {max(gaps.mean() - margin, 0):.4f} to" in note
    assert f"{100 * shares.mean():.0f} % (95% interval" in note
    errors = 1 - means
    for name, improvability in answer.comparison.improvability.items():
        assert improvability == pytest.approx((1 - errors.min() / errors.loc[name]).mean()), name
    assert f"{100 * answer.comparison.improvability['knn']:.0f} %" in answer.render("markdown")


def rewrite(made: Path, path: Path, edit: Edit) -> Path:
    """Write a changed copy of the reference whose digests are those of its files."""
    with zipfile.ZipFile(made / "all.reference.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(files.pop(MANIFEST))
    edit(files, manifest)
    manifest["files"] = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**files, MANIFEST: json.dumps(manifest).encode()}.items():
            archive.writestr(name, content)
    return path


def leave_out(learner: str) -> Edit:
    """Return a change that leaves out the jobs of a learner."""

    def edit(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
        runs, scores = (read_parquet(files[name], name) for name in (RUNS, SCORES))
        is_other = np.array([json.loads(params)["learner"] != learner for params in runs["params"]])
        numbers = np.cumsum(is_other) - 1
        own = scores[is_other[scores["job"]]]
        files[RUNS] = runs[is_other].to_parquet(index=False)
        files[SCORES] = own.assign(job=numbers[own["job"]]).to_parquet(index=False)

    return edit


def change_score(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
    """Raise one accuracy of the first job."""
    scores = read_parquet(files[SCORES], SCORES)
    row = scores.index[(scores["job"] == 0) & (scores["metric"] == "test_accuracy")][0]
    scores.loc[row, "score"] += 0.001
    files[SCORES] = scores.to_parquet(index=False)


def change_facts(key: str, value: str) -> Edit:
    """Return a change of a tag of the first job."""

    def edit(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
        runs = read_parquet(files[RUNS], RUNS)
        texts = runs["tags"].tolist()
        runs["tags"] = [json.dumps({**json.loads(texts[0]), key: value}), *texts[1:]]
        files[RUNS] = runs.to_parquet(index=False)

    return edit


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (change_score, "(by 0.001)"),
        (change_facts("rows_per_fold", '{"train": 1000.0, "validation": 0.0, "test": 1.0}'), "rows_per_fold"),
        (change_facts("splits_digest", "0" * 16), "splits_digest"),
    ],
    ids=["score", "rows", "splits"],
)
def test_a_changed_job_is_found_if_it_is_drawn(edit: Edit, message: str, made: Path, bakeoff: Bakeoff) -> None:
    path = rewrite(made, bakeoff.folder / CHANGED, edit)
    answer = bakeoff("reference", "verify", path.name, *FIRST_JOB)
    assert answer.status == 1
    assert message in answer.out
    assert "1 differ" in bakeoff("reference", "list").out


def test_a_job_that_differs_is_remembered_when_another_draw_misses_it(made: Path, bakeoff: Bakeoff) -> None:
    path = rewrite(made, bakeoff.folder / CHANGED, change_score)
    assert bakeoff("reference", "verify", path.name, *FIRST_JOB).status == 1
    assert bakeoff("reference", "verify", path.name, *OTHER_JOB, "tolerance=0.0001").status == 0
    listed = bakeoff("reference", "list").out
    assert "0 differ by more than 0.0001; earlier, 1 of 21 verified on" in listed
    assert "1 differ." in listed


@pytest.mark.parametrize(("n_different", "n"), [(0, 20), (1, 20), (5, 40)])
def test_the_bound_is_the_exact_one_of_the_binomial_distribution(n_different: int, n: int) -> None:
    interval = binomtest(n_different, n, alternative="less").proportion_ci(1 - MAX_ERROR, method="exact")
    assert bound_share(n_different, n) == pytest.approx(interval.high)


def test_cells_with_other_rows_say_so_and_the_others_are_compared(made: Path) -> None:
    with command_in(made) as bakeoff:
        file = {"dataset.path": "iris.csv", "dataset.target": "y"}
        rows = "x,z,y\n" + "".join(f"{row % 7},{row % 5},{'ab'[row % 2]}\n" for row in range(40))
        (made / "iris.csv").write_text(rows)
        own = ("tracking.uri=mixed.db",)
        words = [f"{key}={value}" for key, value in file.items()]
        assert bakeoff("learner=knn", "dataset=file", *words, *EVALUATION, *own).status == 0
        assert bakeoff("learner=knn", "dataset=wine", *EVALUATION, *own).status == 0
        answer = bakeoff("compare", "filter=params.learner = 'knn'", "reference=without_knn", "keep=false", *own)
    assert answer.status == 0, answer.err
    assert "Empty: majority on iris: the reference has other rows (digest" in " ".join(answer.out.split())
    assert "Left out: 1 dataset of the reference" in answer.out


def raise_format(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
    manifest["format"] = 2


def drop_runs(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
    del files[RUNS]


def drop_a_job(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
    files[RUNS] = read_parquet(files[RUNS], RUNS).iloc[:-1].to_parquet(index=False)


def break_tag(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
    change_facts("rows_per_fold", "[" * 9)(files, manifest)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (raise_format, "format 2, and this version of bakeoff reads format 1"),
        (drop_runs, RUNS),
        (drop_a_job, f"{RUNS} has other jobs than {SCORES}"),
        (break_tag, "its tag rows_per_fold"),
    ],
)
def test_a_file_of_another_form_is_refused(edit: Edit, message: str, made: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read") as refused:
        open_reference(str(rewrite(made, tmp_path / CHANGED, edit)))
    assert message in str(refused.value)
