"""Studies, run as a person runs them, on real SQLite files and a real PostgreSQL server."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from command import Answer, Bakeoff
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf
from sqlalchemy.pool import NullPool

from pipeline.refusal import Refusal
from pipeline.study.objectives import Objective, choose_objectives

optuna = pytest.importorskip("optuna")
space = pytest.importorskip("pipeline.study.space")

DOCS = Path(__file__).parents[1] / "docs" / "optuna.md"
STUDY = ("-m", "hydra/sweeper=optuna", "dataset=iris", "tracking=none")
THRESHOLD = "hydra.sweeper.pruner._target_=optuna.pruners.ThresholdPruner"
GRID = "hydra.sweeper.sampler._target_=optuna.samplers.GridSampler"
BOTH = (GRID, "+hydra.sweeper.sampler.search_space.learner=[majority,knn]")
"""Takes each of the two learners once."""


def study(bakeoff: Bakeoff, name: str | None = None, url: str | None = None) -> Any:
    """Load the folder's study, or the named one, without keeping connections open."""
    url = url or f"sqlite:///{bakeoff.folder}/outputs/optuna.db"
    storage = optuna.storages.RDBStorage(url, engine_kwargs={"poolclass": NullPool})
    return optuna.load_study(study_name=name, storage=storage)  # of no name: the only study


def each_target(other: str) -> tuple[str, str]:
    """Return a sampler that takes the other class and the majority once each."""
    grid = f"{{learner._target_:[{other},learners.MajorityClassifier]}}"
    return GRID, f"+hydra.sweeper.sampler.search_space={grid}"


def states(bakeoff: Bakeoff) -> list[str]:
    return [trial.state.name for trial in study(bakeoff).trials]


def results(bakeoff: Bakeoff) -> dict[str, Any]:
    """Read the results of the latest sweep."""
    files = (bakeoff.folder / "outputs" / "sweeps").glob("*/optimization_results.yaml")
    found = OmegaConf.to_container(OmegaConf.load(max(files)))
    assert isinstance(found, dict)
    return {str(key): value for key, value in found.items()}


def search(bakeoff: Bakeoff, *words: str, n_trials: int = 2) -> Answer:
    return bakeoff(*STUDY, f"hydra.sweeper.n_trials={n_trials}", *words)


# What is found


def test_the_better_of_two_learners_is_found_printed_and_written(bakeoff: Bakeoff) -> None:
    answer = search(bakeoff, "learner=majority,knn", *BOTH)
    assert (answer.status, answer.err) == (0, "")
    found = results(bakeoff)
    assert found["best_params"] == {"learner": "knn"}
    assert found["best_value"] == study(bakeoff).best_value > 0.8
    assert "maximize validation_accuracy" in answer.out
    assert "Best parameters: learner=knn" in answer.out
    assert "bakeoff dataset=iris tracking=none learner=knn" in answer.out


def test_the_choice_is_made_by_validation_rows_and_the_test_score_is_recorded(bakeoff: Bakeoff) -> None:
    bakeoff("-m", "hydra/sweeper=optuna", "dataset=iris", "learner=majority,knn", *BOTH, "hydra.sweeper.n_trials=2")
    best = study(bakeoff).best_trial
    run = bakeoff.client().get_run(best.user_attrs["run_id"])
    assert run.data.metrics["validation_accuracy"] == best.value
    assert best.user_attrs["recorded"] == {"test_accuracy": run.data.metrics["test_accuracy"]}
    assert run.info.run_name == "knn iris"
    assert results(bakeoff)["run_id"] == run.info.run_id


def test_an_error_is_minimized(bakeoff: Bakeoff) -> None:
    answer = bakeoff(
        *STUDY, "dataset=diabetes", "learner=ridge", "learner.alpha=tag(log,interval(0.001,1000000))",
        "evaluation.metrics=[rmse]", "hydra.sweeper.n_trials=3",
    )  # fmt: skip
    assert "minimize validation_rmse" in answer.out
    assert results(bakeoff)["best_value"] == min(trial.value for trial in study(bakeoff).trials)


def test_the_same_seed_makes_the_same_study(bakeoff: Bakeoff) -> None:
    words = ["learner=knn", "learner.n_neighbors=range(1,30)"]
    for name in ("a", "b"):
        search(bakeoff, *words, f"hydra.sweeper.study_name={name}", n_trials=3)
    assert [t.params for t in study(bakeoff, "a").trials] == [t.params for t in study(bakeoff, "b").trials]


def test_two_objectives_give_every_trial_that_no_other_beats(bakeoff: Bakeoff) -> None:
    answer = search(
        bakeoff, "learner=majority,knn", *BOTH, "hydra.sweeper.objectives=[validation_accuracy,time/predict]"
    )
    assert answer.status == 0
    found = results(bakeoff)["solutions"]
    assert {"learner": "knn"} in [solution["params"] for solution in found]
    assert all(len(solution["values"]) == 2 for solution in found)
    assert [direction.name for direction in study(bakeoff).directions] == ["MAXIMIZE", "MINIMIZE"]


def test_each_learner_is_searched_in_its_own_space(bakeoff: Bakeoff) -> None:
    words = ["learner=knn,perceptron,majority", "hydra.sweeper.spaces=true", "hydra/sweeper/sampler=random"]
    assert search(bakeoff, *words, "preprocessing=standardize", n_trials=9).status == 0
    names = {trial.params["learner"]: {*trial.params} - {"learner"} for trial in study(bakeoff).trials}
    assert names["majority"] == set()
    assert names["knn"] == {"knn.n_neighbors", "knn.weights", "knn.metric"}
    assert all(name.startswith("perceptron.") for name in names["perceptron"])
    assert all(key.startswith("learner") for key in results(bakeoff)["best_params"])


def test_what_is_given_is_no_longer_part_of_the_learners_own_space(bakeoff: Bakeoff) -> None:
    words = ["learner=knn", "hydra.sweeper.spaces=true", "learner.metric=euclidean", "learner.n_neighbors=range(1,3)"]
    assert search(bakeoff, *words, n_trials=1).status == 0
    assert set(study(bakeoff).trials[0].params) == {"learner.n_neighbors", "knn.weights"}


def test_params_of_the_configuration_are_searched_and_the_command_line_overrules_them(bakeoff: Bakeoff) -> None:
    params = "+hydra.sweeper.params={learner:knn,learner.n_neighbors:'range(1,9)',learner.weights:'choice(uniform)'}"
    assert search(bakeoff, params, "learner.n_neighbors=int(interval(20,21))", n_trials=1).status == 0
    assert study(bakeoff).trials[0].params["learner.n_neighbors"] in (20, 21)
    assert results(bakeoff)["best_params"]["learner.weights"] == "uniform"


def test_names_of_runs_begin_with_what_the_study_chose(bakeoff: Bakeoff) -> None:
    params = "+hydra.sweeper.params.learner.n_neighbors='int(interval(7,7))'"
    assert "n_neighbors=7 knn iris" in search(bakeoff, "learner=knn", params, n_trials=1).out


# What goes on


def test_the_same_command_continues_up_to_n_trials(bakeoff: Bakeoff) -> None:
    words = ["learner=knn", "learner.n_neighbors=range(1,30)"]
    search(bakeoff, *words, n_trials=2)
    assert "2 of 5 trials are finished" in search(bakeoff, *words, n_trials=5).out
    assert states(bakeoff) == ["COMPLETE"] * 5
    assert len({str(trial.params) for trial in study(bakeoff).trials}) > 2
    assert search(bakeoff, *words, n_trials=5).status == 0
    assert len(states(bakeoff)) == 5


def test_another_space_or_other_data_are_another_study(bakeoff: Bakeoff) -> None:
    for dataset, k in (("iris", "1,2"), ("iris", "1,3"), ("wine", "1,2")):
        search(bakeoff, "learner=knn", f"dataset={dataset}", f"learner.n_neighbors={k}", n_trials=1)
    with closing(sqlite3.connect(bakeoff.folder / "outputs" / "optuna.db")) as database:
        assert database.execute("SELECT count(*) FROM studies").fetchone() == (3,)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["learner=knn", "dataset=wine", "learner.n_neighbors=1,2"], "was made with fixed"),
        (["learner=knn", "learner.n_neighbors=1,3"], "was made with another space"),
        (["learner=knn", "learner.n_neighbors=1,2", "hydra.sweeper.direction=minimize"], "was made with objectives"),
    ],
)
def test_a_named_study_is_not_mixed_with_something_else(bakeoff: Bakeoff, words: list[str], said: str) -> None:
    search(bakeoff, "learner=knn", "learner.n_neighbors=1,2", "hydra.sweeper.study_name=mine", n_trials=1)
    answer = search(bakeoff, *words, "hydra.sweeper.study_name=mine")
    assert answer.status == 2
    assert said in answer.err
    assert "give another study_name" in answer.err.lower()


def test_trials_of_a_process_that_died_are_told_failed_and_made_up_for(bakeoff: Bakeoff) -> None:
    words = ["learner=knn", "learner.n_neighbors=range(1,30)"]
    search(bakeoff, *words, n_trials=1)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    lost = study(bakeoff).ask()
    lost.set_user_attr("process", [socket.gethostname(), ended.pid])
    study(bakeoff).ask().set_user_attr("process", ["another machine", 1])
    search(bakeoff, *words, n_trials=3)
    assert states(bakeoff) == ["COMPLETE", "FAIL", "RUNNING", "COMPLETE"]


def test_an_interrupted_trial_is_told_failed_and_finished_ones_are_kept(bakeoff: Bakeoff) -> None:
    target = "learner._target_=choice(learners.MajorityClassifier,failing.Interrupting)"
    words = ["learner=majority", "trust=[failing]", target, *each_target("failing.Interrupting")]
    assert search(bakeoff, *words, "hydra.sweeper.n_jobs=2").status == 130
    assert states(bakeoff) in (["COMPLETE", "FAIL"], ["FAIL", "FAIL"])
    assert study(bakeoff).trials[-1].user_attrs["error"] == "interrupted"


def test_two_processes_share_a_study_and_make_no_trial_too_many(bakeoff: Bakeoff) -> None:
    in_two_processes(bakeoff, "hydra.sweeper.n_trials=8")
    assert states(bakeoff).count("COMPLETE") == 8
    assert not {"RUNNING", "WAITING"} & {*states(bakeoff)}


def test_machines_share_a_study_on_a_server(bakeoff: Bakeoff, postgresql: str) -> None:
    in_two_processes(bakeoff, "hydra.sweeper.n_trials=6", f"hydra.sweeper.storage={postgresql}")
    trials = study(bakeoff, url=postgresql).trials
    assert sum(trial.state.name == "COMPLETE" for trial in trials) == 6
    assert len({trial.user_attrs["process"][1] for trial in trials if "process" in trial.user_attrs}) == 2
    assert not (bakeoff.folder / "outputs" / "optuna.db").exists()


def in_two_processes(bakeoff: Bakeoff, *words: str) -> None:
    """Give the same command twice at once, as two machines would; both end well."""
    command = [sys.executable, "-m", "pipeline", *STUDY, "learner=knn", "learner.n_neighbors=range(1,30)", *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    both = [
        subprocess.Popen(command, cwd=bakeoff.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for _ in range(2)
    ]
    told = [process.communicate(timeout=120)[0].decode() for process in both]
    assert [process.returncode for process in both] == [0, 0], told


@pytest.fixture
def postgresql() -> Iterator[str]:
    """Start a server with an empty database, and return its URL."""
    pytest.importorskip("psycopg")
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
    if programs is None:
        pytest.skip("no PostgreSQL on this machine: install Debian's postgresql")
    folder = Path(mkdtemp(prefix="bakeoff-"))
    become = []
    if os.geteuid() == 0:  # which the server refuses to be
        shutil.chown(folder, "postgres")
        become = ["runuser", "-u", "postgres", "--"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    control = [*become, str(programs / "pg_ctl"), "-D", str(folder / "data"), "-w", "-l", str(folder / "log")]
    where = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
    start = [*become, str(programs / "initdb"), "-D", str(folder / "data"), "-A", "trust", "-U", "bakeoff"]
    try:
        for command in (start, [*control, "-o", where, "start"]):
            subprocess.run(command, check=True, cwd="/", stdout=subprocess.DEVNULL, timeout=60)
        yield f"postgresql+psycopg://bakeoff@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=False, cwd="/", stdout=subprocess.DEVNULL)
        shutil.rmtree(folder)


# What goes wrong, and what is stopped


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_failing_trial_is_told_failed_and_the_study_goes_on(bakeoff: Bakeoff, n_jobs: int) -> None:
    target = "learner._target_=choice(failing.Failing,learners.MajorityClassifier)"
    words = ["learner=majority", "trust=[failing]", target, *each_target("failing.Failing")]
    answer = search(bakeoff, *words, f"hydra.sweeper.n_jobs={n_jobs}")
    assert answer.status == 1
    assert "RuntimeError: the cure is unknown" in answer.err
    assert sorted(states(bakeoff)) == ["COMPLETE", "FAIL"]
    (failed,) = study(bakeoff).get_trials(states=[optuna.trial.TrialState.FAIL])
    assert failed.user_attrs["error"] == "RuntimeError: the cure is unknown"
    assert results(bakeoff)["best_params"] == {"learner._target_": "learners.MajorityClassifier"}


def test_a_study_of_which_nothing_works_says_so_and_ends(bakeoff: Bakeoff) -> None:
    answer = search(bakeoff, "learner=knn", "learner.n_neighbors=200,300", n_trials=2)
    assert answer.status == 2
    assert "no trial is finished" in answer.out
    assert states(bakeoff) == ["FAIL", "FAIL"]


def test_a_trial_is_pruned_after_the_first_fold_and_its_run_is_killed(bakeoff: Bakeoff) -> None:
    answer = bakeoff(
        "-m", "hydra/sweeper=optuna", "dataset=iris", "learner=majority,knn", *BOTH, "hydra.sweeper.n_trials=2",
        "evaluation=kfold", "evaluation.validation=0.2",
        THRESHOLD, "+hydra.sweeper.pruner.lower=0.6",
    )  # fmt: skip
    assert answer.status == 0
    assert "majority iris" in answer.out
    assert "pruned after 1 of 5 folds" in answer.out
    assert sorted(states(bakeoff)) == ["COMPLETE", "PRUNED"]
    runs = {run.info.run_name: run for run in bakeoff.runs()}
    assert runs["knn iris"].info.status == "FINISHED"
    pruned = runs["majority iris"]
    assert (pruned.info.status, pruned.data.tags["pruned"]) == ("KILLED", "true")
    assert pruned.data.metrics["validation_accuracy"] < 0.6
    assert "learner:" in bakeoff.artifact(pruned, "config.yaml")


def test_folds_are_reported_and_a_trial_that_ends_well_is_not_pruned_at_its_last_fold(bakeoff: Bakeoff) -> None:
    pruner = [THRESHOLD, "+hydra.sweeper.pruner.lower=2", "+hydra.sweeper.pruner.n_warmup_steps=3"]
    words = ["evaluation=kfold", "evaluation.folds=3", "evaluation.validation=0.2", "learner=knn"]
    search(bakeoff, *words, "learner.n_neighbors=1,2", *pruner, n_trials=1)
    (trial,) = study(bakeoff).trials
    assert trial.state.name == "COMPLETE"
    assert sorted(trial.intermediate_values) == [1, 2, 3]
    assert trial.intermediate_values[3] == trial.value


@pytest.mark.parametrize("other", ["failing.Failing", "learners.MeanRegressor"])
def test_scores_of_jobs_that_ran_elsewhere_are_told_when_they_come_back(
    bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    monkeypatch.setattr("pipeline.study.sweeper.HERE", "elsewhere")
    target = f"learner._target_=choice({other},learners.MajorityClassifier)"
    words = ["learner=majority", "trust=[failing]", target, *each_target(other), "hydra.sweeper.n_jobs=2"]
    assert search(bakeoff, *words).status == 1
    assert sorted(states(bakeoff)) == ["COMPLETE", "FAIL"]
    refused = search(bakeoff, "learner=knn,svm", "hydra/sweeper/pruner=median")
    assert "stops jobs that run in this process only" in refused.err


REFUSALS = {
    "nothing to search": (["learner=knn"], "there is nothing to search"),
    "a search over data": (["dataset=iris,wine"], "run a study for each"),
    "a search over a space": (["learner=knn", "space.n_neighbors=1,2"], "search learner.n_neighbors"),
    "an option that does not exist": (["learner=knn,smv"], "Did you mean 'svm'?"),
    "a key that does not exist": (["learner=knn", "learner.k=1,2"], "learner.k is not a key"),
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
        "Add balanced_accuracy to evaluation.metrics",
    ),
    "a direction that is none": (["learner=knn,svm", "hydra.sweeper.direction=up"], "must be minimize or maximize"),
    "directions that do not fit": (
        ["learner=knn,svm", "hydra.sweeper.direction=[minimize,maximize]"], "give one for each"
    ),
    "no trials": (["learner=knn,svm", "hydra.sweeper.n_trials=0"], "n_trials=0 must be a whole number from 1"),
    "a sampler that does not exist": (
        ["learner=knn,svm", "hydra.sweeper.sampler._target_=optuna.samplers.TPESampel"], "Did you mean 'TPESampler'?"
    ),
    "a pruner for two objectives": (
        ["learner=knn,svm", "hydra/sweeper/pruner=median",
         "hydra.sweeper.objectives=[validation_accuracy,time/fit]"], "name one objective"
    ),
    "a folder as storage": (["learner=knn,svm", "hydra.sweeper.storage=."], "is a folder"),
    "a storage that is none": (["learner=knn,svm", "hydra.sweeper.storage=no.db"], "no.db' cannot be used"),
    "a server that is not there": (
        ["learner=knn,svm", "hydra.sweeper.storage=postgresql+none://me:secret@localhost/x"], "psycopg"
    ),
    "a logarithm of zero": (["learner=svm", "learner.C=tag(log,interval(0,1))"], "learner.C=tag(log,interval(0,1)): "),
}  # fmt: skip


@pytest.mark.parametrize(("words", "sentence"), REFUSALS.values(), ids=REFUSALS.keys())
def test_refused_with_a_sentence_before_anything_ran(bakeoff: Bakeoff, words: list[str], sentence: str) -> None:
    Path(bakeoff.folder / "no.db").write_text("this is not a database" * 100)
    answer = search(bakeoff, *words)
    assert (answer.status, answer.out) == (2, "")
    assert sentence in answer.err
    assert "Traceback" not in answer.err
    assert "secret" not in answer.err
    assert len(answer.err.strip().splitlines()) == 1


def test_without_optuna_the_refusal_says_what_to_install(bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    answer = search(bakeoff, "learner=knn,svm")
    assert answer.status == 2
    assert 'pip install "bakeoff[optuna]"' in answer.err


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
def test_overrides_are_read_as_the_plugin_of_hydra_reads_them(override: str, distribution: Any) -> None:
    dimension = space.read(OverridesParser.create().parse_override(override))
    assert dimension.distribution == distribution


@pytest.mark.parametrize("value", [None, True, 1, 1e-9, "scale", "null", "1", "a b'c\"", [50, 50], ["a"], float("inf")])
def test_a_value_of_a_space_comes_back_from_its_override(value: Any) -> None:
    dimension = space.choice("x", "x", [value])
    assert OverridesParser.create().parse_override(dimension.override(*dimension.values)).value() == value


def test_a_space_may_be_written_in_the_grammar_of_overrides() -> None:
    parse = OverridesParser.create().parse_override
    (dimension,) = space.own_dimensions("svm", {"C": "tag(log,interval(0.1,10))"}, [], parse)
    assert (dimension.key, dimension.name) == ("learner.C", "svm.C")
    assert dimension.distribution.log
    with pytest.raises(Refusal, match=r"space.C=3 must be a list of values"):
        space.own_dimensions("svm", {"C": 3}, [], parse)


def test_directions_are_the_metrics_own() -> None:
    names = ["validation_accuracy", "train_error", "time/fit", "pruning/leaves_after"]
    chosen = choose_objectives(names, None, "classification", None)
    assert [objective.direction for objective in chosen] == ["maximize", "minimize", "minimize", "minimize"]
    assert choose_objectives(None, "minimize", "regression", ["mae"]) == (Objective("validation_mae", "minimize"),)


@pytest.mark.parametrize("line", re.findall(r"^\$ bakeoff (.*)$", DOCS.read_text(), flags=re.MULTILINE))
def test_every_command_of_the_docs_runs(bakeoff: Bakeoff, line: str) -> None:
    answer = bakeoff(*shlex.split(line), "hydra.sweeper.n_trials=2", "tracking=none")
    assert (answer.status, answer.err) == (0, "")
    assert "2 trials are finished" in answer.out
