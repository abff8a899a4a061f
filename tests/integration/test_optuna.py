"""Studies, run from the command line, on real SQLite files and a real PostgreSQL server."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
import signal
import socket
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import extras
import mlflow_server
import pytest
from command import Answer, Bakeoff
from hydra.core.override_parser.overrides_parser import OverridesParser
from sqlalchemy.pool import NullPool
from warm_process import OUTPUT, Start

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.compose import override_text
from bakeoff.pipeline.sweep.jobs import JobProgress
from bakeoff.pipeline.tracking.heartbeat import MAX_SILENT_SECONDS

optuna: Any = extras.load("optuna")
space_module = import_module("bakeoff.pipeline.commands.search.space")
study_key = import_module("bakeoff.pipeline.commands.search.storage")
pytestmark = pytest.mark.extra("optuna")

DOCS = Path(__file__).parents[2] / "docs" / "optuna.md"
STUDY = ("-m", "hydra/sweeper=optuna", "dataset=iris", "tracking=none")
KEPT = ("-m", "hydra/sweeper=optuna", "dataset=iris", "tracking.models=false")
FOLDS = ("evaluation=kfold", "evaluation.validation=0.2")
NEIGHBOURS = ("learner=knn", "learner.n_neighbors=range(1,30)")
THRESHOLD = "hydra.sweeper.pruner._target_=optuna.pruners.ThresholdPruner"
EACH = ("hydra/sweeper/sampler=random", "hydra.sweeper.sampler._target_=optuna.samplers.BruteForceSampler")
"""The words of a sampler that tries each combination once."""
SECONDS_PER_DAY = 86_400
DEAD = 2**22 + 1
"""No process has this number."""


def study(bakeoff: Bakeoff, name: str | None = None, url: str | None = None) -> Any:
    """Load the folder's study, or the named one, without keeping connections open."""
    url = url or f"sqlite:///{bakeoff.folder}/outputs/optuna.db"
    storage = optuna.storages.RDBStorage(url, engine_kwargs={"poolclass": NullPool})
    return optuna.load_study(study_name=name, storage=storage)  # of no name: the only study


def either(other: str) -> tuple[str, ...]:
    """Return the words of a study that takes another class and the majority once each."""
    return (
        *EACH,
        "learner=majority",
        "trust=[failing]",
        f"learner._target_=choice({other},bakeoff.learners.MajorityClassifier)",
    )


def states(bakeoff: Bakeoff) -> list[str]:
    return [trial.state.name for trial in study(bakeoff).trials]


def params_of(trial: Any) -> Any:
    """Return the values of a trial by key."""
    return trial.user_attrs["job"]["params"]


def search(bakeoff: Bakeoff, *words: str, n_trials: int = 2) -> Answer:
    return bakeoff(*STUDY, f"hydra.sweeper.n_trials={n_trials}", *words)


# Results


def test_the_better_of_two_learners_is_found_and_printed(bakeoff: Bakeoff) -> None:
    answer = search(bakeoff, "learner=majority,knn", *EACH)
    assert (answer.status, answer.err) == (0, "")
    best = study(bakeoff).best_trial
    assert params_of(best) == {"learner": "knn"}
    assert best.value > 0.8
    assert f"Best value: validation_accuracy {best.value:.4f}" in answer.out
    assert "maximize validation_accuracy" in answer.out
    assert "Best parameters: learner=knn" in answer.out
    assert "bakeoff dataset=iris tracking=none learner=knn" in answer.out


def test_the_choice_is_made_by_validation_rows_and_the_test_score_is_recorded(bakeoff: Bakeoff) -> None:
    bakeoff(*KEPT, "learner=majority,knn", *EACH, "hydra.sweeper.n_trials=2")
    best = study(bakeoff).best_trial
    run = bakeoff.client().get_run(best.user_attrs["run"]["run_id"])
    assert run.data.metrics["validation_accuracy"] == best.value
    assert best.user_attrs["run"]["recorded"] == {"test_accuracy": run.data.metrics["test_accuracy"]}
    assert run.info.run_name == "knn iris"


def test_the_same_seed_makes_the_same_study(bakeoff: Bakeoff) -> None:
    for name in ("a", "b"):
        search(bakeoff, *NEIGHBOURS, f"hydra.sweeper.storage={name}.db", n_trials=3)
    first, second = (study(bakeoff, url=f"sqlite:///{bakeoff.folder}/{name}.db").trials for name in ("a", "b"))
    assert [trial.params for trial in first] == [trial.params for trial in second]


def test_two_objectives_give_the_pareto_front(bakeoff: Bakeoff) -> None:
    answer = search(
        bakeoff, "learner=majority,knn", *EACH, "hydra.sweeper.objectives=[validation_accuracy,time/predict]"
    )
    assert answer.status == 0
    front = study(bakeoff).best_trials
    assert {"learner": "knn"} in [params_of(trial) for trial in front]
    assert len(re.findall(r"^  #\d+  validation_accuracy .*, time/predict ", answer.out, re.M)) == len(front)
    assert [direction.name for direction in study(bakeoff).directions] == ["MAXIMIZE", "MINIMIZE"]


def test_each_learner_is_searched_in_its_own_space(bakeoff: Bakeoff) -> None:
    words = ["learner=knn,perceptron,majority", "search=grid", "hydra/sweeper/sampler=random"]
    assert search(bakeoff, *words, "preprocessing=standardize", n_trials=9).status == 0
    names = {trial.params["learner"]: {*trial.params} - {"learner"} for trial in study(bakeoff).trials}
    assert names["majority"] == set()
    assert names["knn"] == {"knn.n_neighbors", "knn.weights", "knn.metric"}
    assert all(name.startswith("perceptron.") for name in names["perceptron"])
    assert all(key.startswith("learner") for key in params_of(study(bakeoff).best_trial))


def test_a_given_key_is_no_longer_part_of_the_learners_own_space(bakeoff: Bakeoff) -> None:
    words = ["learner=knn", "search=grid", "learner.metric=euclidean", "learner.n_neighbors=range(1,3)"]
    assert search(bakeoff, *words, n_trials=1).status == 0
    assert set(study(bakeoff).trials[0].params) == {"learner.n_neighbors", "knn.weights"}


def test_params_of_the_configuration_are_searched_and_the_command_line_overrules_them(bakeoff: Bakeoff) -> None:
    params = "+hydra.sweeper.params={learner:knn,learner.n_neighbors:'range(1,9)',learner.weights:'choice(uniform)'}"
    assert search(bakeoff, params, "learner.n_neighbors=int(interval(20,21))", n_trials=1).status == 0
    (trial,) = study(bakeoff).trials
    assert trial.params["learner.n_neighbors"] in (20, 21)
    assert trial.params["learner.weights"] == "uniform"


# Continuing and sharing


def test_the_same_command_continues_up_to_n_trials(bakeoff: Bakeoff) -> None:
    search(bakeoff, *NEIGHBOURS, n_trials=2)
    assert "2 of 5 trials are finished" in search(bakeoff, *NEIGHBOURS, n_trials=5).out
    assert states(bakeoff) == ["COMPLETE"] * 5
    assert len({str(trial.params) for trial in study(bakeoff).trials}) > 2
    assert search(bakeoff, *NEIGHBOURS, n_trials=5).status == 0
    assert len(states(bakeoff)) == 5


def test_another_space_or_other_data_are_another_study(bakeoff: Bakeoff) -> None:
    for dataset, k in (("iris", "1,2"), ("iris", "1,3"), ("wine", "1,2")):
        search(bakeoff, "learner=knn", f"dataset={dataset}", f"learner.n_neighbors={k}", n_trials=1)
    with closing(sqlite3.connect(bakeoff.folder / "outputs" / "optuna.db")) as database:
        assert database.execute("SELECT count(*) FROM studies").fetchone() == (3,)


def leave_trial(bakeoff: Bakeoff, host: str, beat: float, **job: Any) -> None:
    """Start a trial as a process of that host would, and leave it running."""
    trial = study(bakeoff).ask()
    trial.set_user_attr("process", {"host": host, "pid": DEAD, "beat": beat, "identity": ""})
    trial.set_user_attr("job", job)


def test_trials_of_a_process_that_died_fail_and_are_replaced(bakeoff: Bakeoff) -> None:
    words = (*KEPT, *NEIGHBOURS)
    bakeoff(*words, "hydra.sweeper.n_trials=1")
    now = time.time()
    leave_trial(bakeoff, socket.gethostname(), now)
    leave_trial(bakeoff, "elsewhere", now)
    leave_trial(bakeoff, "elsewhere", now - 2 * SECONDS_PER_DAY)
    bakeoff(*words, "hydra.sweeper.n_trials=3")
    assert states(bakeoff) == ["COMPLETE", "FAIL", "RUNNING", "FAIL", "COMPLETE"]
    pass_time(bakeoff, MAX_SILENT_SECONDS)
    bakeoff(*words, "hydra.sweeper.n_trials=3")
    assert Counter(states(bakeoff)) == {"COMPLETE": 3, "FAIL": 3}


def test_a_trial_of_another_machine_lives_as_long_as_its_run_has_a_recent_heartbeat(bakeoff: Bakeoff) -> None:
    words = (*KEPT, *NEIGHBOURS)
    bakeoff(*words, "hydra.sweeper.n_trials=1")
    (told,) = study(bakeoff).trials
    client = bakeoff.client()
    run = client.create_run(bakeoff.runs()[0].info.experiment_id, tags={"config_hash": "of the job"}).info.run_id
    leave_trial(bakeoff, "elsewhere", time.time() - 2 * SECONDS_PER_DAY, config_hash="of the job")
    for _ in range(3):
        client.set_tag(run, "heartbeat", f"{time.time():.0f}")
        bakeoff(*words, "hydra.sweeper.n_trials=2")
        assert states(bakeoff) == [told.state.name, "RUNNING"]
        pass_time(bakeoff, 600)
    pass_time(bakeoff, MAX_SILENT_SECONDS)
    bakeoff(*words, "hydra.sweeper.n_trials=2")
    assert states(bakeoff) == [told.state.name, "FAIL", "COMPLETE"]


def test_a_trial_whose_process_was_killed_before_it_named_itself_is_replaced(bakeoff: Bakeoff) -> None:
    bakeoff.patch.setattr("bakeoff.pipeline.commands.search.trials.SIGNING_SECONDS", 0.1)
    search(bakeoff, *NEIGHBOURS, n_trials=1)
    study(bakeoff).ask()
    search(bakeoff, *NEIGHBOURS, n_trials=2)
    assert states(bakeoff) == ["COMPLETE", "FAIL", "COMPLETE"]


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_wilcoxon_stops_a_trial_that_four_folds_show_to_be_worse_than_the_best() -> None:
    shared = optuna.create_study(direction="maximize", pruner=optuna.pruners.WilcoxonPruner(p_threshold=0.1))
    key = study_key.StudyKey("study", (study_key.Objective("validation_accuracy", "maximize"),), {})
    jobs = import_module("bakeoff.pipeline.commands.search.trials").TrialSearch(
        shared, None, key, 1, None, None, batch_size=1
    )
    decisions = []
    for scores in ([0.9, 0.8, 0.95, 0.85, 0.9], [0.6, 0.45, 0.75, 0.3, 0.5]):
        trial = shared.ask()
        jobs.running[trial.number] = trial
        steps = enumerate(scores, start=1)
        told = [JobProgress(trial.number, step, {"validation_accuracy": score}) for step, score in steps]
        decisions.append([jobs.should_continue(progress) for progress in told])
        shared.tell(trial, sum(scores) / len(scores))
    # The signed-rank test of n folds that are all worse has p = 1 / 2^n.
    assert decisions == [[True] * 5, [True, True, True, False, False]]


def pass_time(bakeoff: Bakeoff, seconds: float) -> None:
    """Let the clock of this machine be later by that time."""
    earlier = time.time
    bakeoff.patch.setattr(time, "time", lambda: earlier() + seconds)


def test_an_interrupted_trial_fails_and_finished_ones_are_kept(bakeoff: Bakeoff) -> None:
    assert search(bakeoff, *either("failing.Interrupting")).status == 130
    assert states(bakeoff) in (["COMPLETE", "FAIL"], ["FAIL"])
    assert study(bakeoff).trials[-1].user_attrs["error"] == "interrupted"


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_study_continues(bakeoff: Bakeoff, start: Start, workers: int) -> None:
    slow = ("learner=majority", "trust=[failing]", "learner._target_=failing.Slow", "seed=range(0,999)")
    words = [*KEPT, *slow, "hydra.sweeper.n_trials=14", f"workers={workers}"]
    killed = start(bakeoff.folder, words)
    while killed.poll() is None and finished_runs(bakeoff) < 3:
        time.sleep(0.02)
    os.killpg(killed.pid, signal.SIGKILL)
    assert killed.wait(60) == -signal.SIGKILL
    assert 2 <= states(bakeoff).count("COMPLETE") < 14
    assert bakeoff(*words).status == 0
    after = Counter(states(bakeoff))
    assert (after["COMPLETE"], after["RUNNING"]) == (14, 0)
    hashes = [run.data.tags["config_hash"] for run in bakeoff.runs() if run.info.status == "FINISHED"]
    assert len(hashes) == len(set(hashes))
    assert {run.info.status for run in bakeoff.runs()} <= {"FINISHED", "KILLED"}


def finished_runs(bakeoff: Bakeoff) -> int:
    """Return how many runs of the folder's store are finished, without opening it as MLflow does."""
    if not (bakeoff.folder / "outputs" / "mlflow.db").exists():
        return 0
    with closing(sqlite3.connect(bakeoff.folder / "outputs" / "mlflow.db")) as database:
        return int(database.execute("SELECT count(*) FROM runs WHERE status = 'FINISHED'").fetchone()[0])


def test_what_a_sweep_has_finished_is_not_run_again(bakeoff: Bakeoff) -> None:
    bakeoff("-m", "dataset=iris", "tracking.models=false", "learner=knn", "learner.n_neighbors=1,2,3")
    words = (*KEPT, *EACH, "learner=knn", "learner.n_neighbors=1,2,3,4", "hydra.sweeper.n_trials=4")
    answer = bakeoff(*words)
    assert (answer.status, len(bakeoff.runs())) == (0, 4)
    assert answer.out.count("already done: validation_accuracy") == 3
    stored = {run.info.run_id: run.data.metrics["validation_accuracy"] for run in bakeoff.runs()}
    assert {trial.user_attrs["run"]["run_id"]: trial.value for trial in study(bakeoff).trials} == stored
    assert {run.data.tags.get("study") for run in bakeoff.runs()} == {None, study(bakeoff).study_name}


@pytest.mark.slow
def test_two_processes_share_the_trials_of_a_study(bakeoff: Bakeoff, start: Start) -> None:
    in_two_processes(bakeoff, start, "hydra.sweeper.n_trials=8")
    assert states(bakeoff).count("COMPLETE") in (8, 9)  # both may start the last one at the same moment
    assert not {"RUNNING", "WAITING"} & {*states(bakeoff)}


@pytest.fixture
def postgresql(open_folder: Path) -> Iterator[str]:
    """Start a server with an empty database, and return its URL."""
    if reason := mlflow_server.missing():
        pytest.skip(reason)
    with mlflow_server.running_postgres(open_folder / "studies") as uri:
        yield uri


@pytest.mark.external
def test_machines_share_a_study_on_a_server(bakeoff: Bakeoff, start: Start, postgresql: str) -> None:
    # One process alone must not be able to finish them while the other one starts.
    in_two_processes(
        bakeoff, start, "hydra.sweeper.n_trials=60", "hydra.sweeper.storage='${oc.env:STORAGE}'", storage=postgresql
    )
    trials = study(bakeoff, url=postgresql).trials
    assert sum(trial.state.name == "COMPLETE" for trial in trials) in (60, 61)
    assert len({trial.user_attrs["process"]["pid"] for trial in trials}) == 2
    assert not (bakeoff.folder / "outputs" / "optuna.db").exists()
    secret = postgresql.split(":")[2].split("@")[0]
    written = [file for file in bakeoff.folder.rglob("*") if file.is_file()]
    assert written
    assert not [file for file in written if secret.encode() in file.read_bytes()]


def in_two_processes(bakeoff: Bakeoff, start: Start, *words: str, storage: str = "") -> None:
    """Give the same command twice at once, as two machines would; both end well."""
    bakeoff.patch.setenv("STORAGE", storage)
    both = [start(bakeoff.folder, [*STUDY, *NEIGHBOURS, *words]) for _ in range(2)]
    assert [process.wait(400) for process in both] == [0, 0], (bakeoff.folder / OUTPUT).read_text()


# Failures, and stopped trials


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_trial_whose_job_fails_has_failed_and_the_study_continues(bakeoff: Bakeoff, n_jobs: int) -> None:
    answer = search(bakeoff, *either("failing.Failing"), f"workers={n_jobs}")
    assert answer.status == 1
    assert "RuntimeError: the cure is unknown" in answer.err
    assert sorted(states(bakeoff)) == ["COMPLETE", "FAIL"]
    (failed,) = study(bakeoff).get_trials(states=[optuna.trial.TrialState.FAIL])
    assert failed.user_attrs["error"] == "RuntimeError: the cure is unknown"
    assert params_of(study(bakeoff).best_trial) == {"learner._target_": "bakeoff.learners.MajorityClassifier"}


def test_a_study_does_not_start_where_an_edge_of_its_space_cannot_work(bakeoff: Bakeoff) -> None:
    words = ("learner=knn", "learner.n_neighbors=range(60,120)")
    answer = search(bakeoff, *words)
    assert answer.status == 2
    assert "1 of 2 jobs cannot run" in answer.err
    assert "use at most" in answer.err
    assert not (bakeoff.folder / "outputs").exists()
    assert search(bakeoff, *words, "on_invalid=skip", n_trials=8).status in (0, 1)
    assert "COMPLETE" in states(bakeoff)


def test_a_plan_shows_the_space_and_runs_nothing(bakeoff: Bakeoff) -> None:
    words = ("plan", *STUDY, "learner=knn,svm", "search=grid", "seed=range(1,3)")
    answer = bakeoff(*words)
    assert answer.status == 0
    assert "maximize validation_accuracy; 20 trials" in answer.out
    assert re.search(r"svm.gamma: scale, ?0.01, ?0.1, ?1.0", answer.out)
    assert "seed: IntDistribution(high=3, log=False, low=1, step=1)" in answer.out
    assert "cannot run" in answer.out
    assert not (bakeoff.folder / "outputs").exists()


PRUNED = (
    *KEPT[:-1],
    "learner=majority,knn",
    *EACH,
    "hydra.sweeper.n_trials=2",
    *FOLDS,
    THRESHOLD,
    "+hydra.sweeper.pruner.lower=0.6",
)


@pytest.mark.parametrize(
    "word",
    ["workers=1", *(pytest.param(word, marks=pytest.mark.slow) for word in ("workers=2", "timeout=60"))],
)
def test_a_trial_and_its_run_are_stopped_after_the_first_fold(bakeoff: Bakeoff, word: str) -> None:
    answer = bakeoff(*PRUNED, word)
    assert (answer.status, answer.err) == (0, "")
    assert re.search(r"majority iris +stopped +after 1 of 5 folds", answer.out)
    assert sorted(states(bakeoff)) == ["COMPLETE", "PRUNED"]
    runs = {run.info.run_name: run for run in bakeoff.runs()}
    assert runs["knn iris"].info.status == "FINISHED"
    stopped = runs["majority iris"]
    assert (stopped.info.status, stopped.data.tags["stopped"]) == ("KILLED", "after 1 of 5 folds")
    assert stopped.data.metrics["validation_accuracy"] < 0.6
    assert "learner:" in bakeoff.artifact(stopped, "config.yaml")
    # A stopped run is neither finished nor failed.
    assert "no failed job remains" in bakeoff("rerun", "--failed").out
    assert bakeoff("-m", "dataset=iris", "learner=majority", *FOLDS).status == 0
    assert Counter(run.info.status for run in bakeoff.runs()) == {"FINISHED": 2, "KILLED": 1}


def test_folds_are_reported_and_a_trial_with_all_its_folds_is_not_stopped(bakeoff: Bakeoff) -> None:
    pruner = [THRESHOLD, "+hydra.sweeper.pruner.lower=2", "+hydra.sweeper.pruner.n_warmup_steps=3"]
    words = [*FOLDS, "evaluation.folds=3", "learner=knn", "learner.n_neighbors=1,2"]
    search(bakeoff, *words, *pruner, n_trials=1)
    (trial,) = study(bakeoff).trials
    assert trial.state.name == "COMPLETE"
    assert sorted(trial.intermediate_values) == [1, 2, 3]
    assert sum(trial.intermediate_values.values()) / 3 == pytest.approx(trial.value)


REFUSALS = {
    "nothing to search": (["learner=knn"], "there is nothing to search"),
    "a search over data": (["dataset=iris,wine"], "run a study for each"),
    "no validation rows": (["learner=knn,svm", "evaluation=kfold"], "set evaluation.validation=0.2"),
    "pruning on the same rows": (["learner=knn,decision_tree"], "set pruning=none"),
    "tuning on the same rows": (["learner=knn,svm", "tuning=grid"], "set tuning=none"),
    "a test score": (
        ["learner=knn,svm", "hydra.sweeper.objectives=[test_accuracy]"], "name validation_accuracy"
    ),
    "an unknown objective": (
        ["learner=knn,svm", "hydra.sweeper.objectives=[validation_acuracy]"], "Did you mean 'validation_accuracy'?"
    ),
    "a metric that is not computed": (
        ["learner=knn,svm", "hydra.sweeper.objectives=[validation_balanced_accuracy]"],
        "add a score to evaluation.metrics",
    ),
    "no trials": (["learner=knn,svm", "hydra.sweeper.n_trials=0"], "n_trials=0 must be an integer from 1 to max_jobs"),
    "a sampler that does not exist": (
        ["learner=knn,svm", "hydra.sweeper.sampler._target_=optuna.samplers.TPESampel"], "TPESampel' does not exist"
    ),
    "a pruner for two objectives": (
        ["learner=knn,svm", "hydra/sweeper/pruner=wilcoxon",
         "hydra.sweeper.objectives=[validation_accuracy,time/fit]"], "name one objective"
    ),
    "a folder as storage": (["learner=knn,svm", "hydra.sweeper.storage=."], "cannot be used"),
    "a storage that is none": (["learner=knn,svm", "hydra.sweeper.storage=no.db"], "no.db' cannot be used"),
    "a server that is not there": (
        ["learner=knn,svm", "hydra.sweeper.storage=postgresql+none://me:secret@localhost/x"], "cannot be used"
    ),
    "a logarithm of zero": (["learner=svm", "learner.C=tag(log,interval(0,1))"], "learner.C=tag(log,interval(0,1)): "),
}  # fmt: skip


@pytest.mark.parametrize(("words", "sentence"), REFUSALS.values(), ids=REFUSALS.keys())
def test_invalid_input_is_rejected_with_a_sentence_before_anything_runs(
    bakeoff: Bakeoff, words: list[str], sentence: str
) -> None:
    Path(bakeoff.folder / "no.db").write_text("this is not a database" * 100)
    answer = search(bakeoff, *words)
    assert (answer.status, answer.out) == (2, "")
    assert sentence in answer.err
    assert "Traceback" not in answer.err
    assert "secret" not in answer.err
    assert not (bakeoff.folder / "outputs").exists()


# The grammar


@pytest.mark.parametrize(
    ("override", "distribution"),
    [
        ("x=interval(1,5)", optuna.distributions.FloatDistribution(1, 5)),
        ("x=int(interval(1,5))", optuna.distributions.IntDistribution(1, 5)),
        ("x=tag(log,interval(1,5))", optuna.distributions.FloatDistribution(1, 5, log=True)),
        ("x=tag(log,int(interval(1,5)))", optuna.distributions.IntDistribution(1, 5, log=True)),
        ("x=range(1,3)", optuna.distributions.IntDistribution(1, 3)),
        ("x=range(0,10,step=5)", optuna.distributions.IntDistribution(0, 10, step=5)),
        ("x=range(0.5,5.5,step=1)", optuna.distributions.FloatDistribution(0.5, 5.5, step=1)),
        ("x=choice(1,2.5,a)", optuna.distributions.CategoricalDistribution((1, 2.5, "a"))),
        ("x='b c',null", optuna.distributions.CategoricalDistribution(("b c", None))),
        ("x=[20],[50,50]", optuna.distributions.CategoricalDistribution(("[20]", "[50,50]"))),
    ],
)
def test_overrides_are_parsed_as_in_hydra_optuna_sweeper(override: str, distribution: Any) -> None:
    dimension = space_module.parse_dimension(OverridesParser.create().parse_override(override))
    assert dimension.distribution == distribution


@pytest.mark.parametrize("value", [None, True, 1, 1e-9, "scale", "null", "1", "a b'c\"", [50, 50], ["a"], float("inf")])
def test_a_value_of_a_space_comes_back_from_its_override(value: Any) -> None:
    dimension = space_module.make_categorical("x", "x", [value], [override_text(value)])
    override = dimension.format_override(*dimension.edge_values)
    assert OverridesParser.create().parse_override(override).value() == value


def test_a_space_can_be_written_in_the_grammar_of_overrides() -> None:
    (dimension,) = space_module.parse_learner_space("svm", {"C": "tag(log,interval(0.1,10))"}, [])
    assert (dimension.key, dimension.name) == ("learner.C", "svm.C")
    assert dimension.distribution.log
    with pytest.raises(UserError, match=r"space.C=3 must be a list of values"):
        space_module.parse_learner_space("svm", {"C": 3}, [])


def test_edges_hold_each_option_each_value_and_both_ends() -> None:
    parse = OverridesParser.create().parse_override
    learner = space_module.parse_dimension(parse("learner=knn,svm"))
    seed = space_module.parse_dimension(parse("seed=range(1,9)"))
    both = (dataclasses.replace(learner, is_group=True), seed)
    own = {
        "learner=knn": space_module.parse_learner_space("knn", {"weights": ["a", "b", "c"]}, []),
        "learner=svm": (),
    }
    search_space = space_module.SearchSpace((), both, lambda overrides: own[overrides[0]])
    assert [suggestion.values for suggestion in search_space.iterate_edges()] == [
        *({"learner": "knn", "seed": 1, "learner.weights": each} for each in "abc"),
        {"learner": "svm", "seed": 1},
        {"learner": "knn", "seed": 9, "learner.weights": "a"},
    ]


def test_directions_are_the_metrics_own() -> None:
    names = ["validation_accuracy", "train_error", "time/fit", "pruning/leaves_after"]
    chosen = study_key.choose_objectives(names, "classification", None)
    assert [objective.direction for objective in chosen] == ["maximize", "minimize", "minimize", "minimize"]
    entries = [{"_target_": "priced.scores.mistakes", "greater_is_better": False}, "neg_brier_score", "max_error"]
    named = ["validation_neg_brier_score", "validation_cost"]
    chosen = study_key.choose_objectives(named, "classification", entries, {"a": {}})
    assert [objective.direction for objective in chosen] == ["maximize", "minimize"]
    first = study_key.choose_objectives(None, "classification", entries)
    assert first == (study_key.Objective("validation_mistakes", "minimize"),)
    with pytest.raises(UserError, match=r"add a score to evaluation.metrics"):
        study_key.choose_objectives("validation_f1_macro", "classification", entries)
    lowest_error = study_key.Objective("validation_mae", "minimize")
    assert study_key.choose_objectives(None, "regression", ["mae"]) == (lowest_error,)


@pytest.mark.parametrize("line", re.findall(r"^\$ bakeoff (.*)$", DOCS.read_text(), flags=re.MULTILINE))
def test_every_command_of_the_docs_runs(bakeoff: Bakeoff, line: str) -> None:
    words = [word for word in shlex.split(line) if not word.startswith("hydra.sweeper.n_trials=")]
    answer = bakeoff(*words, "hydra.sweeper.n_trials=2", "tracking=none")
    assert (answer.status, answer.err) == (0, "")
    assert "of 2 trials are finished" in answer.out or "; 2 trials" in answer.out
