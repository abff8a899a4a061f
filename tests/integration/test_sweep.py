"""Sweeps: all jobs are checked before the first one runs, each runs once, and a failure costs only its own job."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import pytest
from command import Answer, Bakeoff

from bakeoff.pipeline.sweep.display import SweepDisplay
from bakeoff.pipeline.sweep.done_jobs import Claims
from bakeoff.pipeline.sweep.jobs import FAILED, KILLED, SKIPPED, JobOutcome, Work
from bakeoff.pipeline.tracking import history
from bakeoff.pipeline.tracking.heartbeat import identify_process
from bakeoff.pipeline.tracking.history import find_runs_of_sweep, find_sweep_runs, read_latest_sweep
from bakeoff.pipeline.tracking.store import open_store

IRIS = ("-m", "dataset=iris", "learner=majority", "tracking.models=false")
TRUST = ("learner=majority", "dataset=iris", "trust=[failing]", "tracking.models=false")
RAISING = ("-m", *TRUST, "learner._target_=failing.Raising")


def states(bakeoff: Bakeoff) -> dict[str, int]:
    """Return the number of runs of each status."""
    return dict(Counter(run.info.status for run in bakeoff.runs()))


# Identity and resume


def test_the_same_command_runs_only_what_is_not_finished(bakeoff: Bakeoff) -> None:
    assert bakeoff(*IRIS, "seed=range(3)").status == 0
    answer = bakeoff(*IRIS, "seed=range(4)")
    assert (answer.status, states(bakeoff)) == (0, {"FINISHED": 4}), answer.err
    assert "4 jobs: 1 to run, 3 already done" in answer.out
    assert bakeoff(*IRIS, "seed=0,1", "resume=false").status == 0
    assert states(bakeoff) == {"FINISHED": 6}


def test_a_sweep_includes_the_jobs_that_were_done_before_it(bakeoff: Bakeoff) -> None:
    command = ("-m", *TRUST, "learner._target_=failing.FailingUntilRepaired,bakeoff.learners.MajorityClassifier")
    assert bakeoff(*command).status == 1
    Path("repaired").touch()
    assert bakeoff(*command).status == 0
    store = open_store(None, "bakeoff")
    latest = read_latest_sweep(store)
    assert latest is not None
    assert (len(latest.jobs), latest.name) == (2, bakeoff.runs()[0].data.tags["sweep"])
    assert len(find_runs_of_sweep(store, "latest")) == 2
    assert len(find_sweep_runs(store, "latest")) == 1


def test_a_job_that_is_given_twice_runs_once(bakeoff: Bakeoff) -> None:
    answer = bakeoff(*IRIS, "seed=1,1,2", "n_jobs=1,2")
    assert "2 of 6 combinations repeat others, which run once" in answer.err
    assert "4 jobs: 4 to run" in answer.out
    assert states(bakeoff) == {"FINISHED": 2}


def test_a_run_ends_killed_if_its_process_is_gone_or_its_machine_is_silent(bakeoff: Bakeoff) -> None:
    bakeoff(*IRIS, "seed=range(4)")
    gone, silent, *alive = (run.info.run_id for run in bakeoff.runs())
    tags: list[dict[str, object]] = [
        {"pid": 2**22 + 1, "process": identify_process(2**22 + 1)},
        {"host": "elsewhere", "heartbeat": 1000},
        {"pid": os.getppid(), "process": identify_process(os.getppid())},
        {"host": "elsewhere", "heartbeat": 99999999999},
    ]
    client = bakeoff.client()
    for run_id, own in zip((gone, silent, *alive), tags, strict=True):
        client.update_run(run_id, "RUNNING")
        for tag, value in own.items():
            client.set_tag(run_id, tag, str(value))
    ended = history.end_orphans(open_store(f"{bakeoff.folder}/outputs/mlflow.db", "bakeoff"))
    assert sorted(ended) == sorted([gone, silent])
    assert {client.get_run(run_id).info.status for run_id in ended} == {"KILLED"}
    assert {client.get_run(run_id).info.status for run_id in alive} == {"RUNNING"}


def test_a_claim_changes_its_count_when_it_is_taken_and_given_back(tmp_path: Path) -> None:
    claims = Claims.open_for_store(f"sqlite:///{tmp_path}/mlflow.db")
    assert claims.read_count("ab" * 8) == 0
    with claims.hold("ab" * 8) as found:
        assert (found, claims.read_count("ab" * 8)) == (0, 1)
    assert claims.read_count("ab" * 8) == 2
    with pytest.raises(RuntimeError), claims.hold("ab" * 8):
        raise RuntimeError
    assert claims.read_count("ab" * 8) == 3  # odd: the job did not end


# Checked before the first one runs


def test_a_sweep_with_an_invalid_job_starts_nothing(bakeoff: Bakeoff) -> None:
    answer = bakeoff("-m", "dataset=iris,cars", "learner=majority,mean")
    assert answer.status == 2
    assert "2 of 4 jobs cannot run, so none was started" in answer.err
    assert "MajorityClassifier is not a regressor" in answer.err
    assert not (bakeoff.folder / "outputs").exists()


@pytest.mark.parametrize("prefix", [(), ("-m",)], ids=["run", "sweep"])
def test_a_name_that_is_too_long_for_the_folder_of_an_experiment_is_refused_before_anything_is_made(
    bakeoff: Bakeoff, prefix: tuple[str, ...]
) -> None:
    command = (*prefix, "dataset=iris", "learner=majority")
    answer = bakeoff(*command, f"tracking.experiment={'ü' * 128}")
    assert answer.status == 2
    assert f"tracking.experiment='{'ü' * 39}…' has 128 letters, and names a folder" in answer.err
    assert "shorten it to at most 255 bytes" in answer.err
    assert not (bakeoff.folder / "outputs" / "mlflow.db").exists()
    assert bakeoff(*command, f"tracking.experiment={'ü' * 127}").status == 0


def test_the_others_run_where_invalid_ones_are_to_be_skipped(bakeoff: Bakeoff) -> None:
    command = ("-m", "dataset=iris,cars", "learner=majority", "on_invalid=skip")
    for _ in range(2):
        answer = bakeoff(*command)
        assert (answer.status, states(bakeoff)) == (0, {"FINISHED": 1}), answer.err
        assert "1 of 2 jobs did not finish:\n  1 refused: " in answer.err
    assert bakeoff("-m", "dataset=cars,diabetes", "learner=majority", "on_invalid=skip").status == 2


@pytest.mark.parametrize("what", ["RuntimeError", "SystemExit", "RecursionError"])
def test_an_error_while_one_job_is_checked_concerns_this_job_alone(bakeoff: Bakeoff, what: str) -> None:
    learners = "learner._target_=bakeoff.learners.MajorityClassifier,failing.Unprepared"
    command = ("-m", *TRUST, learners)
    Path("what").write_text(what)
    answer = bakeoff(*command, "on_invalid=skip")
    assert (answer.status, states(bakeoff)) == (0, {"FINISHED": 1}), answer.err
    assert "1 of 2 jobs did not finish:\n  1 refused: " in answer.err
    assert f"{what}: it cannot be prepared" in answer.err
    answer = bakeoff(*command)
    assert (answer.status, "refused: 1 of 2 jobs cannot run" in answer.err) == (2, True)
    assert "failing.Unprepared" in answer.err


# The plan


@pytest.mark.parametrize("words", [("plan", *IRIS), (*IRIS, "dry_run=true")], ids=["plan", "dry_run"])
def test_a_plan_shows_all_jobs_and_runs_none(bakeoff: Bakeoff, words: tuple[str, ...]) -> None:
    answer = bakeoff(*words, "seed=1,2,1")
    assert answer.status == 0
    assert "2 jobs: 2 to run" in answer.out
    assert not (bakeoff.folder / "outputs").exists()


def test_a_plan_shows_what_is_done_and_estimates_the_rest_by_runs_of_the_same_learner_and_size(
    bakeoff: Bakeoff,
) -> None:
    bakeoff(*IRIS, "seed=1,2")
    out = bakeoff("plan", *IRIS, "seed=1,2,3", "learner=majority,knn").out
    assert "6 jobs: 4 to run, 2 already done" in out
    assert re.search(r"\nabout .*, and 3 jobs of unknown duration\n", out)
    assert "about" not in bakeoff("plan", *IRIS, "seed=3", "evaluation=repeated_kfold").out
    assert states(bakeoff) == {"FINISHED": 2}


def test_a_plan_says_who_ran_the_jobs_of_a_shared_store(bakeoff: Bakeoff) -> None:
    bakeoff(*IRIS, "seed=1,2,3")
    assert " by " not in bakeoff("plan", *IRIS, "seed=1,2,3,4").out
    runs = [run.info.run_id for run in bakeoff.runs()]
    for users, sentence in (
        (("ann", "ann"), "3 of 4 jobs are done: 2 by ann, 1 by you"),
        (("ann", "ann", "a\nb"), "3 of 4 jobs are done: 2 by ann, 1 by a b"),
        (("ann",) * 3, "3 of 4 jobs are done: 3 by ann"),
    ):
        for run_id, user in zip(runs, users, strict=False):
            bakeoff.client().set_tag(run_id, "mlflow.user", user)
        assert f"\n{sentence}\n" in bakeoff("plan", *IRIS, "seed=1,2,3,4").out


@pytest.mark.parametrize("workers", [1, 2])
def test_a_sweep_shows_the_fits_and_folds_of_its_jobs(bakeoff: Bakeoff, workers: int) -> None:
    shown: list[tuple[int, Work]] = []
    bakeoff.patch.setattr(SweepDisplay, "show_work", lambda display, number, work: shown.append((number, work)))
    assert bakeoff(*IRIS, "seed=1,2", "evaluation=kfold", f"workers={workers}").status == 0
    assert {(0, Work(0, 6, 0, 5)), (1, Work(0, 6, 0, 5))} <= set(shown)


# The table at the end


def test_a_sweep_ends_with_a_table_that_holds_what_was_done_before(bakeoff: Bakeoff) -> None:
    command = ("-m", "learner=majority,sklearn_majority,naive_bayes", "tracking.models=false", "evaluation=kfold")
    assert bakeoff(*command, "dataset=iris").status == 0
    answer = bakeoff(*command, "dataset=iris,wine")
    assert answer.status == 0, answer.out + answer.err
    out = answer.out
    assert "6 jobs: 3 to run, 3 already done" in out
    table = out.partition("\n\ntest_accuracy\n")[2]
    scores = {}
    for run in bakeoff.runs():
        metrics = run.data.metrics
        score = f"{metrics['test_accuracy']:.4f} ± {metrics['test_accuracy_std']:.4f}"
        scores[run.data.params["learner"], run.data.params["dataset"]] = score
    for learner in ("majority", "sklearn_majority", "naive_bayes"):
        (line,) = [line for line in table.splitlines() if line.startswith(f"{learner} ")]
        sign = "• " if learner == "naive_bayes" else ""
        _, iris, wine = re.split(r"\s{2,}", line)
        assert (iris, wine) == (sign + scores[learner, "iris"], sign + scores[learner, "wine"])
    sweep = bakeoff.runs()[0].data.tags["sweep"]
    assert f"compare  bakeoff compare sweep={sweep}\n" in table
    assert table.endswith("open     bakeoff ui\n")


def test_a_failed_job_is_a_cell_and_commands_name_another_store(bakeoff: Bakeoff) -> None:
    store = ("tracking.uri=other store/a.db", "tracking.experiment=mine")
    answer = bakeoff(*RAISING, "+learner.what=MemoryError,nothing", *store)
    assert answer.status == 1
    table = answer.out.partition("test_accuracy")[2]
    assert re.search(r"^what=MemoryError majority +failed$", table, re.M)
    words = "'tracking.uri=other store/a.db' tracking.experiment=mine"
    assert re.search(rf"^compare  bakeoff compare sweep=\S+ {words}$", table, re.M)
    assert table.endswith(f"open     bakeoff ui {words}\n")


def test_the_jobs_of_a_sweep_share_one_store(bakeoff: Bakeoff) -> None:
    answer = bakeoff(*IRIS, "tracking.experiment=one,two")
    assert (answer.status, "the jobs of a sweep share one store" in answer.err) == (2, True)
    assert bakeoff("plan", "-m", *IRIS[1:-1], "tracking.models=true,false").status == 0


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("seed=range(1e3)",), "seed: '0.0' must be a whole number (the source of all randomness)."),
        (("seed=range(30)", "audit=off"), "audit=off is not an option. Allowed: none, strict, warn."),
        (("seed=range(30)", "learner.weight=3"), "learner.weight is not a key"),
    ],
)
def test_a_reason_that_jobs_share_is_said_once_before_the_first_of_them(
    bakeoff: Bakeoff, words: tuple[str, ...], reason: str
) -> None:
    answer = bakeoff("-m", "learner=majority", "dataset=iris", *words)
    lines = answer.err.splitlines()
    n_jobs = 1000 if "1e3" in words[0] else 30
    assert (answer.status, len(lines)) == (2, 3), answer.err
    assert lines[0].startswith(f"refused: {n_jobs} of {n_jobs} jobs cannot run")
    assert lines[1].startswith(f"  {n_jobs} refused: {reason}")
    assert lines[2].startswith("    #0 learner=majority")
    assert lines[2].endswith(f" and {n_jobs - 5} more")


def test_jobs_that_one_cause_ends_are_said_once_and_then_counted(capsys: pytest.CaptureFixture[str]) -> None:
    display = SweepDisplay(30)
    outcomes = [JobOutcome(i, f"job {i}", KILLED, f"its process {4711 + i} ended") for i in range(29)]
    outcomes.append(JobOutcome(29, "job 29", FAILED, "its process 1 ended"))
    for outcome in outcomes:
        display.show_outcome(outcome)
    display.show_unfinished(outcomes, 40)
    printed = capsys.readouterr()
    assert [line.split()[0] for line in printed.out.splitlines()] == ["#0", "#29"]
    assert [line.strip() for line in printed.err.splitlines()] == [
        "30 of 40 jobs did not finish:",
        "29 killed: its process 4711 ended",
        "#0 job 0, #1 job 1, #2 job 2, #3 job 3, #4 job 4 and 24 more",
        "1 failed: its process 1 ended",
        "#29 job 29",
    ]


def test_jobs_that_are_done_are_shown_although_they_have_one_reason(capsys: pytest.CaptureFixture[str]) -> None:
    display = SweepDisplay(2)
    for number in range(2):
        display.show_outcome(JobOutcome(number, "job", SKIPPED, "it had already finished"))
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["#0", "#1"]


def test_a_sweep_whose_experiment_was_renamed_says_which_key_does_not_repeat_it(bakeoff: Bakeoff) -> None:
    command = ("-m", "dataset=iris", "learner=majority", "seed=1,2")
    bakeoff(*command)
    client = bakeoff.client()
    client.rename_experiment(client.get_experiment_by_name("bakeoff").experiment_id, "study 1")
    again = bakeoff(*command)
    assert "2 to run" in again.out
    assert "they are not repeated with tracking.experiment='study 1'." in again.err
    for words in (command, (*command, "tracking.experiment=study 1")):
        answer = bakeoff(*words)
        assert ("0 to run" in answer.out, "another experiment" in answer.err) == (True, False), answer.err


# One failing job


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_whatever_is_raised_is_recorded_and_the_others_run(bakeoff: Bakeoff, workers: int) -> None:
    answer = bakeoff(*RAISING, "+learner.what=SystemExit,MemoryError,RecursionError,nothing", f"workers={workers}")
    assert (answer.status, states(bakeoff)) == (1, {"FAILED": 3, "FINISHED": 1}), answer.err
    told = {run.data.tags["error_type"] for run in bakeoff.runs() if run.info.status == "FAILED"}
    assert told == {"SystemExit", "MemoryError", "RecursionError"}
    assert "3 of 4 jobs did not finish" in answer.err


@pytest.mark.parametrize(("on_error", "failed"), [("stop", 1), ("continue", 3)])
def test_a_sweep_ends_after_as_many_failures_as_allowed(bakeoff: Bakeoff, on_error: str, failed: int) -> None:
    answer = bakeoff(*RAISING, "+learner.what=SystemExit,MemoryError,RecursionError", f"on_error={on_error}")
    assert (answer.status, states(bakeoff)) == (1, {"FAILED": failed}), answer.err


@pytest.mark.slow
def test_a_job_that_takes_too_long_fails_and_is_killed_if_it_ignores_signals(
    bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bakeoff.pipeline.sweep.workers.GRACE_SECONDS", 1.0)
    targets = "learner._target_=failing.Sleeping,failing.IgnoringSignals,bakeoff.learners.MajorityClassifier"
    answer = bakeoff("-m", *TRUST, targets, "timeout=8", "workers=2")
    assert (answer.status, states(bakeoff)) == (1, {"FAILED": 1, "KILLED": 1, "FINISHED": 1}), answer.err
    assert answer.err.count("took longer than timeout=8") == 2


def test_a_single_run_that_takes_too_long_fails(bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> None:
    alarms: list[tuple[int, float]] = []
    monkeypatch.setattr("signal.setitimer", lambda *alarm: alarms.append(alarm))
    answer = bakeoff(*TRUST, "learner._target_=failing.Overdue", "timeout=1.5s")
    assert alarms == [(signal.ITIMER_REAL, 1.5), (signal.ITIMER_REAL, 0)]
    assert (answer.status, states(bakeoff)) == (1, {"FAILED": 1}), answer.err
    assert "the job took longer than timeout=1.5 seconds" in answer.err


def test_rerun_runs_just_what_failed(bakeoff: Bakeoff) -> None:
    targets = "learner._target_=failing.FailingUntilRepaired,bakeoff.learners.MajorityClassifier"
    assert bakeoff("-m", *TRUST, targets).status == 1
    untrusted = bakeoff("rerun", "--failed")
    assert (untrusted.status, "add trust=[failing]" in untrusted.err) == (2, True)
    assert bakeoff("rerun", "--failed", TRUST[2]).status == 1
    Path("repaired").touch()
    assert bakeoff("rerun", "--failed", TRUST[2]).status == 0
    assert states(bakeoff) == {"FAILED": 2, "FINISHED": 2}
    assert "no failed job remains" in bakeoff("rerun", "--failed").out
    assert "no failed job remains" in bakeoff("rerun", "--failed", "sweep=latest").out
    assert bakeoff("rerun").status == 2


# Workers


def scores(bakeoff: Bakeoff, but: Collection[str] = ()) -> dict[str, dict[str, float]]:
    """Return all scores by hash, times and the runs of the given ids left out."""
    return {
        run.data.tags["config_hash"]: {k: v for k, v in run.data.metrics.items() if "time/" not in k}
        for run in bakeoff.runs()
        if run.info.run_id not in but
    }


@pytest.mark.slow
def test_workers_give_the_same_bits(bakeoff: Bakeoff) -> None:
    command = ("-m", "dataset=iris,wine", "learner=knn,decision_tree,logistic_regression", "evaluation=kfold")
    assert bakeoff(*command, "tracking.models=false").status == 0
    serial = scores(bakeoff)
    before = {run.info.run_id for run in bakeoff.runs()}
    assert bakeoff(*command, "tracking.models=false", "workers=2", "resume=false").status == 0
    assert len(serial) == 6
    assert scores(bakeoff, but=before) == serial


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_its_one_job(bakeoff: Bakeoff) -> None:
    answer = bakeoff(*RAISING, "+learner.what=nothing,SIGKILL", "seed=0,1", "workers=2")
    assert (answer.status, states(bakeoff)) == (1, {"KILLED": 2, "FINISHED": 2}), answer.err
    assert "its process ended by signal SIGKILL" in answer.err
    killed = next(run for run in bakeoff.runs() if run.info.status == "KILLED")
    assert "SIGKILL" in killed.data.tags["error"]


# Spaces


def names(answer: Answer) -> list[str]:
    """Return the names of jobs, in order, as the plan shows them."""
    return re.findall(r"^#\d+ +(.*?)  ", answer.out, flags=re.MULTILINE)


def test_each_learner_has_its_own_grid(bakeoff: Bakeoff) -> None:
    answer = bakeoff("plan", "-m", "learner=knn,logistic_regression,majority", "search=grid", "dataset=iris")
    shown = Counter(name.split()[0] for name in names(answer))
    assert shown["knn"] == 48
    assert shown["logistic_regression"] > 1
    assert shown["majority"] == 1


def test_random_points_are_seeded_and_the_same_for_every_dataset(bakeoff: Bakeoff) -> None:
    command = ("plan", "-m", "learner=knn", "dataset=iris,wine", "search=random", "search.n=5")
    once = names(bakeoff(*command))
    assert once == names(bakeoff(*command))
    assert once != names(bakeoff(*command, "search.seed=1"))
    assert [name.removesuffix(" iris") for name in once[:5]] == [name.removesuffix(" wine") for name in once[5:]]


@pytest.mark.parametrize(
    ("words", "planned"),
    [
        (
            "dataset=iris learner=knn search=grid space.n_neighbors=[1,3]",
            ["n_neighbors=1 knn iris", "n_neighbors=3 knn iris"],
        ),
        # A parameter that conf/space does not list is searched as well, and needs no plus sign.
        (
            "dataset=iris learner=knn search=grid space.leaf_size=[2,30]",
            ["leaf_size=2 knn iris", "leaf_size=30 knn iris"],
        ),
        # Neither is a key that the command sets.
        ("dataset=iris learner=knn search=grid space.n_neighbors=[1,3] learner.n_neighbors=2", ["knn iris"]),
        (
            "dataset=iris learner=sklearn_adaboost search=grid space.estimator__max_depth=[1,2] space.n_estimators=[5]",
            ["max_depth=1 sklearn_adaboost iris", "max_depth=2 sklearn_adaboost iris"],
        ),
        ("dataset=iris,wine learner=majority seed=1,2 search=zip", ["seed=1 majority iris", "seed=2 majority wine"]),
    ],
)
def test_a_grid_searches_what_is_written_under_space_and_zip_pairs_values(
    bakeoff: Bakeoff, words: str, planned: list[str]
) -> None:
    assert names(bakeoff("plan", "-m", *words.split())) == planned


def test_zip_refuses_lists_of_different_lengths(bakeoff: Bakeoff) -> None:
    assert "has 3" in bakeoff("plan", "-m", "dataset=iris,wine", "seed=1,2,3", "search=zip").err


def test_another_launcher_runs_the_jobs_and_returns_their_outcomes(bakeoff: Bakeoff) -> None:
    import launching

    launching.register()
    launcher = "hydra/launcher=pickling"
    answer = bakeoff(*RAISING, "+learner.what=SystemExit,nothing", "seed=0,1", launcher)
    assert (answer.status, states(bakeoff)) == (1, {"FAILED": 2, "FINISHED": 2}), answer.err
    assert "2 of 4 jobs did not finish" in answer.err


def test_an_interrupted_sweep_ends_its_run_killed(bakeoff: Bakeoff) -> None:
    targets = "learner._target_=bakeoff.learners.MajorityClassifier,failing.Interrupting"
    answer = bakeoff("-m", *TRUST, targets)
    assert (answer.status, states(bakeoff)) == (130, {"FINISHED": 1, "KILLED": 1}), answer.err
    assert "interrupted by Ctrl-C\n" in answer.err


# Learners that a pattern names


def test_of_a_pattern_the_learners_that_cannot_be_fitted_are_skipped(bakeoff: Bakeoff) -> None:
    words = ("-m", "learner=glob([majority,mean])", "dataset=iris,diabetes", "tracking.models=false")
    assert bakeoff(*words, "on_invalid=skip").status == 0
    ran = {(run.data.params["learner"], run.data.params["dataset"]) for run in bakeoff.runs()}
    assert ran == {("majority", "iris"), ("mean", "diabetes")}
    assert "learner=glob(zz*) has no values" in bakeoff("plan", "-m", "learner=glob(zz*)").err
