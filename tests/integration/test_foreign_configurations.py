"""Configurations of others: no file makes code run, grants trust, or says where Hydra writes.

Each attack tries to write the file `TRACE`, by a module that writes it when it is imported or called.
"""

from __future__ import annotations

import json
import logging
import re
import shutil
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from command import Answer, Bakeoff
from hydra.types import RunMode

import bakeoff as package
from bakeoff.pipeline.config.engine import ROOT_NAME, SHIPPED_FILES, ConfigSource, open_engine
from bakeoff.pipeline.config.trust import PLUGIN_PACKAGE, leave_out_current_folder
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking import provenance

TRACE = "trace.txt"
INTRUDER = f"""
from pathlib import Path
from sklearn.dummy import DummyClassifier

def leave_trace(*args, **kwargs):
    Path({TRACE!r}).write_text("an attack was here")

leave_trace()

class Learner(DummyClassifier):
    pass
"""
QUICK = ("dataset=iris", "learner=sklearn_majority", "tracking=none")
SWEEP = ["-m", "seed=1,2"]
GLOBAL = "# @package _global_\n"
OWN_LEARNER = "learner:\n  _target_: intruder.Learner\n"
LOG = "  {group}_logging:\n    version: 1\n    handlers: {{one: {{{maker}: intruder.leave_trace}}}}\n"


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in {"intruder.py": INTRUDER, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def require_refusal(answer: Answer, folder: Path, said: Sequence[str]) -> None:
    assert not (folder / TRACE).exists()
    assert answer.status == 2, answer.out + answer.err
    assert [words for words in said if words not in answer.err] == []


# Trust

GRANTING: Mapping[str, tuple[Mapping[str, str], Sequence[str], str]] = {
    "an experiment": (
        {"conf/experiment/theirs.yaml": f"{GLOBAL}trust: [intruder]\n{OWN_LEARNER}"},
        ["experiment=theirs"],
        "conf/experiment/theirs.yaml",
    ),
    "an experiment, by a resolver": (
        {"conf/experiment/theirs.yaml": f"{GLOBAL}trust: ${{oc.decode:'[intruder]'}}\n{OWN_LEARNER}"},
        ["experiment=theirs"],
        "conf/experiment/theirs.yaml",
    ),
    "an option of another group": (
        {"conf/learner/theirs.yaml": f"{GLOBAL}trust: [intruder]\n{OWN_LEARNER}"},
        ["learner=theirs"],
        "conf/learner/theirs.yaml",
    ),
    "a file among the defaults": (
        {
            "conf/experiment/theirs.yaml": f"{GLOBAL}defaults:\n  - more@_global_\n{OWN_LEARNER}",
            "conf/experiment/more.yaml": "trust: [intruder]\n",
        },
        ["experiment=theirs"],
        "conf/experiment/more.yaml",
    ),
    "a folder of the command": (
        {"theirs/experiment/theirs.yaml": f"{GLOBAL}trust: [intruder]\n{OWN_LEARNER}"},
        ["--config-dir", "theirs", "experiment=theirs"],
        "theirs/experiment/theirs.yaml",
    ),
    "another root file": (
        {
            "theirs/mine.yaml": f"defaults: [config, _self_]\ntrust: [intruder]\n{OWN_LEARNER}",
            "conf/learner/x.yaml": "a: 1\n",
        },
        ["--config-dir", "theirs", "--config-name", "mine"],
        "theirs/mine.yaml",
    ),
}


@pytest.mark.parametrize(("name", "mode_words"), [*((name, []) for name in GRANTING), ("an experiment", SWEEP)])
def test_no_file_grants_trust(bakeoff: Bakeoff, name: str, mode_words: list[str]) -> None:
    files, words, file = GRANTING[name]
    write_files(bakeoff.folder, files)
    others = [word for word in QUICK if not (word.startswith("learner=") and "learner=theirs" in words)]
    answer = bakeoff(*mode_words, *others, *words)
    require_refusal(answer, bakeoff.folder, [file, "trust"])
    assert "add trust=VALUE to the command" in answer.err
    assert [file for file in (bakeoff.folder / "outputs").rglob("*") if file.is_file()] == []


@pytest.mark.parametrize("part", ["task", "hydra"])
def test_no_file_writes_into_the_words_of_the_command(bakeoff: Bakeoff, part: str) -> None:
    text = f"{GLOBAL}{OWN_LEARNER}hydra:\n  overrides:\n    {part}: ['trust=[intruder]']\n"
    write_files(bakeoff.folder, {"conf/experiment/theirs.yaml": text})
    answer = bakeoff(*SWEEP, *QUICK, "experiment=theirs")
    require_refusal(answer, bakeoff.folder, [f"hydra.overrides.{part}", "is set in conf/experiment/theirs.yaml"])


def test_a_call_of_python_grants_trust_and_a_file_does_not(bakeoff: Bakeoff) -> None:
    text = f"{GLOBAL}trust: [intruder]\n{OWN_LEARNER}"
    write_files(bakeoff.folder, {"conf/experiment/theirs.yaml": text})
    for function in (package.run, package.sweep):
        with pytest.raises(UserError, match=r"trust is set in conf/experiment/theirs\.yaml"):
            function("experiment=theirs", *QUICK)
    assert not (bakeoff.folder / TRACE).exists()
    (bakeoff.folder / "conf/experiment/theirs.yaml").write_text(f"{GLOBAL}{OWN_LEARNER}")
    package.run("experiment=theirs", *QUICK, trust=["intruder"])
    assert (bakeoff.folder / TRACE).exists()


def test_a_file_that_repeats_what_the_command_trusts_is_refused_no_more(bakeoff: Bakeoff) -> None:
    write_files(bakeoff.folder, {"conf/experiment/theirs.yaml": f"{GLOBAL}trust: [intruder]\n{OWN_LEARNER}"})
    answer = bakeoff("experiment=theirs", *QUICK, "trust=[intruder]")
    assert (answer.status, (bakeoff.folder / TRACE).exists()) == (0, True)


@pytest.mark.slow
def test_the_environment_grants_trust_to_the_workers_of_a_sweep(bakeoff: Bakeoff) -> None:
    write_files(bakeoff.folder, {"conf/learner/theirs.yaml": "_target_: intruder.Learner\n"})
    bakeoff.patch.setenv("BAKEOFF_TRUST", "intruder")
    answer = bakeoff("-m", "learner=theirs", "dataset=iris", "tracking=none", "seed=1,2", "workers=2")
    assert (answer.status, (bakeoff.folder / TRACE).exists()) == (0, True), answer.err


# What Hydra itself calls, sets and writes

HYDRA: Mapping[str, tuple[str, str]] = {
    "a callback": ("  callbacks:\n    one: {_target_: intruder.leave_trace}\n", "hydra.callbacks"),
    "the log of a job, by a factory": (LOG.format(group="job", maker="()"), "hydra.job_logging"),
    "the log of Hydra": (LOG.format(group="hydra", maker="()"), "hydra.hydra_logging"),
    "the file of a log": (
        "  job_logging: {handlers: {one: {class: logging.FileHandler, filename: trace.txt}}}\n",
        "hydra.job_logging",
    ),
    "a sweeper": ("  sweeper: {_target_: intruder.leave_trace}\n", "hydra.sweeper._target_"),
    "the values of a sweeper": (
        "  sweeper: {params: {_target_: intruder.leave_trace}}\n",
        "hydra.sweeper.params._target_",
    ),
    "a launcher": ("  launcher: {_target_: intruder.leave_trace}\n", "hydra.launcher._target_"),
    "variables": ("  job: {env_set: {BAKEOFF_TRUST: intruder}}\n", "hydra.job.env_set"),
    "the folder of a run": ("  run: {dir: .}\n", "hydra.run.dir"),
    "the folder of a sweep": ("  sweep: {dir: .}\n", "hydra.sweep.dir"),
    "the folder of a store": ("  sweep: {dir: outputs/artifacts}\n", "hydra.sweep.dir"),
    "the folders of jobs": ("  sweep: {subdir: ../../..}\n", "hydra.sweep.subdir"),
    "all of Hydra's keys, by a reference": ("  ${theirs}\n", "hydra"),
    "a job, by a reference": ("  job: ${theirs}\n", "hydra.job"),
    "a sweeper, by a reference": ("  sweeper: ${theirs}\n", "hydra.sweeper"),
    "variables among the values of a sweeper": (
        "  sweeper: {params: {+hydra.job.env_set.A: b}}\n",
        "hydra.sweeper.params.+hydra.job.env_set.A",
    ),
    "variables among the values of a grid": (
        "  sweeper: {params: [{seed: '1,2'}, {+hydra.job.env_set.A: b}]}\n",
        "hydra.sweeper.params[1].+hydra.job.env_set.A",
    ),
    "trust among the values of a grid": ("  sweeper: {params: [{trust: intruder}]}\n", "hydra.sweeper.params[0].trust"),
    "an object of a sweeper": (
        "  sweeper: {objectives: [{_target_: intruder.leave_trace}]}\n",
        "hydra.sweeper.objectives",
    ),
    "the storage of a study": ("  sweeper: {storage: precious.db}\n", "hydra.sweeper.storage"),
    "an object of a launcher": ("  launcher: {ray: {_recursive_: true}}\n", "hydra.launcher.ray._recursive_"),
    "the name of the job": ("  job: {name: ../../mine}\n", "hydra.job.name"),
    "the folder of Hydra's files": ("  output_subdir: ../../../mine\n", "hydra.output_subdir"),
}


COMMANDS = [("a callback", []), ("the log of Hydra", []), ("a launcher", SWEEP), ("the folder of a sweep", SWEEP)]
"""Cases that the command refuses before it does anything; the others are refused by the same check."""


@pytest.mark.parametrize("name", HYDRA)
def test_no_file_says_what_hydra_does(bakeoff: Bakeoff, name: str) -> None:
    text, key = HYDRA[name]
    write_files(bakeoff.folder, {"conf/experiment/theirs.yaml": f"{GLOBAL}hydra:\n{text}"})
    require_no_composition(["experiment=theirs"], rf"{re.escape(key)}\S* is set in conf/experiment/theirs\.yaml")
    assert not (bakeoff.folder / TRACE).exists()


@pytest.mark.parametrize(("name", "mode_words"), COMMANDS)
def test_a_command_refuses_before_hydra_acts(bakeoff: Bakeoff, name: str, mode_words: list[str]) -> None:
    text, key = HYDRA[name]
    files = {"conf/experiment/theirs.yaml": f"{GLOBAL}hydra:\n{text}", "mine/config.yaml": "kept: 1\n"}
    write_files(bakeoff.folder, files)
    before = sorted(bakeoff.folder.rglob("*"))
    answer = bakeoff(*mode_words, *QUICK, "experiment=theirs")
    require_refusal(answer, bakeoff.folder, [key, "is set in conf/experiment/theirs.yaml"])
    assert sorted(bakeoff.folder.rglob("*")) == before
    assert (bakeoff.folder / "mine/config.yaml").read_text() == "kept: 1\n"


def require_no_composition(words: list[str], message: str, source: ConfigSource = SHIPPED_FILES) -> None:
    """Compose as every command does, with Hydra's log, which is configured at once."""
    with pytest.raises(UserError, match=message), open_engine(source) as engine:
        engine.compose_config(ROOT_NAME, [*QUICK, *words], RunMode.RUN, with_log_configuration=True)


@pytest.mark.parametrize(("package", "word"), [("# @package hydra.job\n", "+extra=x"), ("", "+extra@hydra.job=x")])
def test_a_file_is_judged_where_its_package_places_it(bakeoff: Bakeoff, package: str, word: str) -> None:
    write_files(bakeoff.folder, {"theirs/extra/x.yaml": f"{package}env_set: {{BAKEOFF_TRUST: intruder}}\n"})
    message = r"hydra\.job\.env_set\.BAKEOFF_TRUST is set in theirs/extra/x\.yaml"
    require_no_composition([word], message, ConfigSource(folder="theirs"))


SHELL = {
    "commands": ("setup: ['touch trace.txt']", "setup"),
    "options of sbatch": ("additional_parameters: {wrap: touch trace.txt}", "additional_parameters"),
    "a line break in a name": ('partition: "x\\ntouch trace.txt"', "partition"),
    "a folder of pickles": ("submitit_folder: /elsewhere", "submitit_folder"),
    "another python": ("python: ./evil", "python"),
}


@pytest.mark.parametrize("name", SHELL)
def test_no_file_gives_a_launcher_shell_commands(bakeoff: Bakeoff, name: str) -> None:
    text, key = SHELL[name]
    write_files(bakeoff.folder, {"conf/experiment/theirs.yaml": f"{GLOBAL}hydra:\n  launcher: {{{text}}}\n"})
    require_no_composition(
        ["hydra/launcher=submitit_slurm", "experiment=theirs"], rf"hydra\.launcher\.{key}\S* is set in"
    )


def test_no_file_sends_code_to_a_cluster(bakeoff: Bakeoff) -> None:
    text = f"{GLOBAL}hydra:\n  launcher: {{ray: {{init: {{address: 'theirs:6379'}}}}}}\n"
    write_files(bakeoff.folder, {"conf/experiment/theirs.yaml": text})
    require_no_composition(
        ["hydra/launcher=ray", "experiment=theirs"], r"hydra\.launcher\.ray\.init\.address is set in"
    )


def test_a_file_may_name_a_sweep(bakeoff: Bakeoff) -> None:
    text = f"{GLOBAL}hydra:\n  sweep: {{dir: outputs/sweeps/mine}}\n"
    write_files(bakeoff.folder, {"conf/experiment/mine.yaml": text})
    with open_engine() as engine:
        composed = engine.compose_config(ROOT_NAME, [*QUICK, "experiment=mine"], RunMode.RUN)
    assert composed.hydra.sweep.dir == "outputs/sweeps/mine"


def test_a_file_may_choose_numbers_and_the_partition_of_a_cluster(bakeoff: Bakeoff) -> None:
    text = f"{GLOBAL}hydra:\n  launcher: {{partition: short, timeout_min: 5, mem_gb: 2}}\n"
    write_files(bakeoff.folder, {"conf/experiment/mine.yaml": text})
    words = ["hydra/launcher=submitit_slurm", "experiment=mine", "hydra.launcher.setup=['module load python']"]
    with open_engine() as engine:
        given = [*QUICK, *words, "+hydra.launcher.additional_parameters.nice=10"]
        composed = engine.compose_config(ROOT_NAME, given, RunMode.RUN)
    assert composed.hydra.launcher.partition == "short"


def test_no_package_joins_the_search_path_untrusted(bakeoff: Bakeoff) -> None:
    write_files(
        bakeoff.folder, {"theirs/root.yaml": "defaults: [config, _self_]\nhydra:\n  searchpath: ['pkg://intruder']\n"}
    )
    answer = bakeoff(*QUICK, "--config-path", "pkg://intruder")
    require_refusal(answer, bakeoff.folder, ["this folder of options does not exist"])
    for words in (["hydra.searchpath=[pkg://intruder]"], ["--config-dir", "theirs", "--config-name", "root"]):
        require_refusal(bakeoff(*QUICK, *words), bakeoff.folder, ["hydra.searchpath"])


def test_a_folder_of_plugins_in_the_current_folder_is_not_imported(bakeoff: Bakeoff) -> None:
    write_files(bakeoff.folder, {"hydra_plugins/__init__.py": INTRUDER, "hydra_plugins/more.py": INTRUDER})
    bakeoff.patch.syspath_prepend(bakeoff.folder)
    bakeoff.patch.delitem(sys.modules, PLUGIN_PACKAGE, raising=False)
    leave_out_current_folder()
    assert not (bakeoff.folder / TRACE).exists()
    assert str(bakeoff.folder / PLUGIN_PACKAGE) not in sys.modules[PLUGIN_PACKAGE].__path__


def test_the_command_may_say_where_hydra_writes(bakeoff: Bakeoff) -> None:
    answer = bakeoff(*QUICK, "hydra.run.dir=elsewhere", "hydra.output_subdir=kept", "+hydra.job.env_set.ONE='1'")
    assert answer.status == 0, answer.err
    assert (bakeoff.folder / "elsewhere/kept/config.yaml").is_file()
    shutil.rmtree(bakeoff.folder / "elsewhere")
    answer = bakeoff("-m", *QUICK, "seed=1,2", "hydra.sweep.dir=elsewhere")
    assert answer.status == 0, answer.err
    assert (bakeoff.folder / "elsewhere/multirun.yaml").is_file()


def test_the_log_and_the_current_folder_of_a_run_are_those_of_hydra(bakeoff: Bakeoff) -> None:
    root = logging.getLogger()
    bakeoff.patch.setattr(root, "handlers", list(root.handlers))
    bakeoff.patch.setattr(root, "level", root.level)
    words = ("hydra.run.dir=elsewhere/${seed}", "hydra/job_logging=default", "hydra.job.chdir=true")
    answer = bakeoff(*QUICK, "seed=7", *words)
    assert answer.status == 0, answer.err
    assert (bakeoff.folder / "elsewhere/7/bakeoff.log").is_file()
    assert Path.cwd() == bakeoff.folder


def test_a_pickled_job_is_not_read(bakeoff: Bakeoff) -> None:
    (bakeoff.folder / "job.pickle").write_bytes(b"cintruder\nleave_trace\n(tR.")
    write_files(bakeoff.folder, {})
    answer = bakeoff("--experimental-rerun", "job.pickle")
    require_refusal(answer, bakeoff.folder, ["--experimental-rerun reads a pickle"])


# Jobs that the store holds


def store_failed_job(bakeoff: Bakeoff, overrides: Sequence[str], author: tuple[str, str]) -> None:
    """Write a job into the store as somebody else may do it."""
    assert bakeoff("dataset=iris", "learner=majority", "tracking.models=false").status == 0
    client = bakeoff.client()
    (run,) = bakeoff.runs()
    client.set_tag(run.info.run_id, "overrides", json.dumps(list(overrides)))
    client.set_tag(run.info.run_id, "mlflow.user", author[0])
    client.set_tag(run.info.run_id, "host", author[1])
    client.set_terminated(run.info.run_id, "FAILED")


def test_a_job_that_runs_again_has_the_trust_of_the_command_and_not_of_the_store(bakeoff: Bakeoff) -> None:
    write_files(bakeoff.folder, {})
    theirs = (*QUICK[:2], "learner._target_=intruder.Learner", "trust=[intruder]", "hydra.job.env_set={A: b}")
    store_failed_job(bakeoff, theirs, ("eve\x1b[2J", "elsewhere"))
    answer = bakeoff("rerun", "--failed", "tracking.models=false")
    assert (answer.status, (bakeoff.folder / TRACE).exists()) == (2, False), answer.out
    assert "add trust=[intruder]" in answer.err + answer.out
    shown = "a job of eve\\x1b[2J@elsewhere runs again: bakeoff dataset=iris learner=sklearn_majority"
    assert [shown] == [line[6 : 6 + len(shown)] for line in answer.err.splitlines() if "runs again" in line]
    assert "trust=[intruder]" not in answer.err.partition("runs again")[2].splitlines()[0]
    answer = bakeoff("rerun", "--failed", "trust=[intruder]", "tracking.models=false")
    assert (answer.status, (bakeoff.folder / TRACE).exists()) == (0, True), answer.err


def test_the_author_of_a_job_writes_no_line_of_his_own(bakeoff: Bakeoff) -> None:
    store_failed_job(bakeoff, ("dataset=iris", "learner=majority"), ("eve\nnote: all is well", "elsewhere"))
    lines = bakeoff("rerun", "--failed", "tracking.models=false").err.splitlines()
    assert any("eve\\nnote: all is well@elsewhere runs again" in line for line in lines)
    assert not any(line.startswith("note: all is well") for line in lines)


def test_jobs_of_this_user_run_again_without_a_word(bakeoff: Bakeoff) -> None:
    here = (provenance.find_user(), socket.gethostname())
    store_failed_job(bakeoff, ("dataset=iris", "learner=majority", "seed=3", "tracking.models=false"), here)
    answer = bakeoff("rerun", "--failed")
    assert answer.status == 0, answer.err
    assert "runs again" not in answer.err
