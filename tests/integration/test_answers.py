"""With ``to=json``, a command prints one document, which its schema holds, and everything else to standard error."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Bakeoff, command_in, enter
from documents import SCHEMAS, read_document, read_schema
from jsonschema import Draft202012Validator

from bakeoff import sweep
from bakeoff.pipeline.cli.main import VERBS

FOLDS = ("evaluation=kfold", "evaluation.folds=3")
IRIS = ("dataset=iris", *FOLDS)
SWEEP = ("-m", *IRIS, "learner=majority,knn")
PARTS = """
from sklearn.dummy import DummyClassifier

class Broken(DummyClassifier):
    def fit(self, X, y, sample_weight=None):
        raise ValueError("it does not learn")

class Loud(DummyClassifier):
    def fit(self, X, y, sample_weight=None):
        import os, warnings
        from ctypes import CDLL
        print("printed by Python")
        os.write(1, b"written to the descriptor\\n")
        os.system("echo printed by another process")
        CDLL(None).puts(b"printed by C")
        warnings.warn("a warning of the learner")
        return super().fit(X, y, sample_weight)
"""
NOISE = ("printed by Python", "written to the descriptor", "printed by another process", "printed by C")
COMMANDS: Mapping[str, tuple[Sequence[str], str, int]] = {
    "a sweep": (SWEEP, "sweep", 0),
    "a run": (("dataset=iris", "learner=decision_tree", "learner.max_depth=2"), "run", 0),
    "a run that is not stored": ((*IRIS, "learner=knn", "tracking=none"), "run", 0),
    "a regression": (("dataset=diabetes", "learner=knn_regressor", "tracking=none"), "run", 0),
    "a sweep that cannot start": (("-m", *IRIS, "learner=knn,kn"), "refusal", 2),
    "a plan": (("plan", *SWEEP, "seed=0,1"), "plan", 0),
    "a plan of items": (("plan", "rates=0.62,0.60", "agreement=0.9"), "study_size", 0),
    "a seal": (("plan", "-m", *IRIS, "seed=5", "learner=majority,knn", "seal=q", "metrics=accuracy"), "seal", 0),
    "options": (("list",), "list", 0),
    "metrics": (("list", "metrics"), "list", 0),
    "a store": (("list", "runs", "models"), "list", 0),
    "an inspection": (("inspect", "t.csv", "target=y"), "inspection", 0),
    "a calculation": (("work", "learner=decision_tree", "dataset=mortgage"), "calculation", 0),
    "a comparison": (("compare", "sweep=latest"), "comparison", 0),
    "a difference": (("diff", "@majority", "@knn"), "difference", 0),
    "an ablation": (("ablate", "@decision_tree"), "ablation", 0),
    "a line": (("accept", "line=iris", "base=@majority", "tries=5"), "accept", 0),
    "a judgement": (("accept", "@knn", "line=iris"), "accept", 0),
    "an explanation": (("explain", "m@c"), "explanation", 0),
    "a report": (("report", "@knn"), "report", 0),
    "predictions": (("predict", "m@c", "new.csv"), "prediction", 0),
    "a replay": (("replay", "sweep=latest"), "replay", 0),
    "a verification": (("verify", "study.capsule.zip"), "verification", 0),
    "a diagnosis": (("doctor", "@knn", "quick=true"), "diagnosis", 0),
    "the page of a check": (("help", "BK14"), "help", 0),
    "checks": (("list", "checks"), "list", 0),
    "sheets of a class": (("grade", "sheets", "answers.csv"), "marks", 1),
    "references": (("reference", "list"), "reference", 0),
    "a watched capsule": (("watch", "study.capsule.zip", "n=1"), "watch", 0),
    "a run that fails": (("dataset=iris", "learner=broken", "trust=[loud]"), "failure", 1),
    "a sweep with a job that fails": ((*SWEEP, "learner=majority,broken", "trust=[loud]"), "sweep", 1),
    "failed jobs": (("rerun", "--failed", "trust=[loud]"), "sweep", 1),
    "a check": (("check", "conf/learner/broken.yaml", "trust=[loud]"), "check", 1),
    "the version": (("--version",), "version", 0),
    "help": (("help",), "help", 0),
    "help beside the words of a run": (("dataset=iris", "--help"), "help", 0),
    "help of a verb": (("compare", "--help"), "help", 0),
    "the configuration": (("dataset=iris", "--cfg", "job"), "exit", 0),
    "deletion": (("gc",), "exit", 0),
    "an unknown verb": (("lst",), "refusal", 2),
}
"""What is asked -> the words, the kind of the document, and the exit code; each finds what those before it left.

``@knn`` stands for the newest run of this learner.
"""
RUNNING_SECONDS = 60
FULL_DISK = Path("/dev/full")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with runs, a registered model, a capsule, a user's learner that fails, and one that prints."""
    folder = tmp_path_factory.mktemp("answers")
    (folder / "loud.py").write_text(PARTS)
    (folder / "conf" / "learner").mkdir(parents=True)
    for name in ("Broken", "Loud"):
        (folder / "conf" / "learner" / f"{name.lower()}.yaml").write_text(f"# {name}.\n_target_: loud.{name}\n")
    (folder / "t.csv").write_text("x,y\n" + "".join(f"{row % 7},{'ab'[row % 3 == 0]}\n" for row in range(40)))
    (folder / "answers.csv").write_text("box,answer\nb1,0.5\n")
    (folder / "new.csv").write_text("x\n1\n\n3\n")
    with command_in(folder) as bakeoff:
        for words in (
            ("-m", *IRIS, "learner=naive_bayes,majority"),
            ("paper", "sweep=latest"),
            ("work", "learner=decision_tree", "dataset=mortgage", "blank=0.6", "students=1", "output=sheets"),
            ("dataset=file", "dataset.path=t.csv", "dataset.target=y", "learner=decision_tree"),
            ("ship", "latest", "as=m@c"),
        ):
            answer = bakeoff(*words)
            assert answer.status == 0, answer.err
    return folder


@pytest.mark.slow
def test_every_answer_fits_its_schema(prepared: Path) -> None:
    with command_in(prepared) as bakeoff:
        for name, (words, kind, status) in COMMANDS.items():
            answer = bakeoff(*name_runs(bakeoff, words), "to=json")
            assert answer.status == status, f"{name}: {answer.out}{answer.err}"
            assert read_document(answer.out, kind)["status"] == status
            assert "Traceback" not in answer.err


def name_runs(bakeoff: Bakeoff, words: Sequence[str]) -> list[str]:
    """Return words with the ids of runs in place of the names of their learners."""
    runs = {f"@{each.data.params['learner']}": each.info.run_id for each in reversed(bakeoff.runs())}
    return [re.sub(r"@[a-z_]{2,}", lambda found: runs[found[0]], word) for word in words]


def test_every_kind_of_document_is_asked_for() -> None:
    of_another_test = {"kept_run"}  # which needs a store that is lost: test_lost_store.py
    kinds = {kind for _, kind, _ in COMMANDS.values()} | of_another_test
    assert kinds == {file.stem for file in SCHEMAS.glob("*.json")}


@pytest.mark.parametrize("kind", sorted(file.stem for file in SCHEMAS.glob("*.json")))
def test_a_schema_allows_no_further_key(kind: str) -> None:
    schema = read_schema(kind)
    Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    assert {"format", "format_version"} <= set(schema["required"])
    for part in list_objects(schema):
        # Only what has the keys of a user, such as a configuration, is open.
        assert "additionalProperties" in part or "properties" not in part


def list_objects(schema: Any) -> list[Mapping[str, Any]]:
    """Return the schemas of objects in a schema, with itself."""
    if isinstance(schema, list):
        return [found for each in schema for found in list_objects(each)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if "object" in schema.get("type", ()) else []
    return own + [found for each in schema.values() for found in list_objects(each)]


def test_a_sweep_has_the_jobs_of_python_and_null_for_a_score_that_is_not_defined(bakeoff: Bakeoff) -> None:
    words = ("learner=majority,knn", "dataset=colours", "evaluation=leave_one_out", "tracking=none")
    document = read_document(bakeoff("-m", *words, "to=json").out, "sweep")
    result = sweep(*words)
    assert [job["score"] for job in document["runs"]] == result.runs["score"].tolist()
    undefined = [name for name in result.runs if result.runs[name].dtype == float and result.runs[name].isna().any()]
    assert undefined
    for name in undefined:
        expected = [None if np.isnan(value) else value for value in result.runs[name]]
        assert [job[name] for job in document["runs"]] == expected


@pytest.mark.parametrize(
    ("words", "key", "given", "allowed", "cure"),
    [
        (("learner=kn",), "learner", "kn", None, "Did you mean 'knn'?"),
        (("compare", "a", "b", "alpha=2"), "alpha", "2", "above 0 and below 1", None),
        (("serve", "m", "port=x"), "port", "x", "a whole number", None),
        (("accept", "line=a/b"), "line", "a/b", None, "write at most 80 letters, digits and the signs _ . and -,"),
        (("dataset=iris", "sede=1"), "sede", "1", None, "Did you mean 'seed'?"),
        (("timeout=never",), "timeout", "never", "a duration above 0 and at most 1e+09 s", None),
        (("accept", "latest"), None, None, None, None),
        (("init",), None, None, None, "usage: bakeoff init FOLDER"),
        (
            ("tracking.uri=postgresql://me:hidden@host/x", "~learner"),
            None,
            None,
            None,
            "leave this word out, or choose",
        ),
    ],
)
def test_a_refusal_names_its_parts(
    bakeoff: Bakeoff, words: Sequence[str], key: str | None, given: str | None, allowed: str | None, cure: str | None
) -> None:
    answer = bakeoff(*words, "to=json")
    document = read_document(answer.out, "refusal")
    assert answer.err.replace("\n", " ").count(f"refused: {document['refused']}") == 1
    assert "hidden" not in answer.out
    assert (document["key"], document["given"]) == (key, given)
    assert (document["allowed"] is None) == (allowed is None)
    assert (document["allowed"] or "").startswith(allowed or "")
    assert (document["cure"] or "").startswith(cure or "")
    assert answer.status == 2


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("workers=2",)])
def test_code_that_prints_does_not_reach_the_document(prepared: Path, words: Sequence[str]) -> None:
    mode = ("-m", "seed=1,2") if words else ()
    command = [*mode, *IRIS, "learner=loud", "trust=[loud]", "tracking=none", *words]
    answer = start(prepared, *command, "to=json").communicate()
    read_document(answer[0], "sweep" if words else "run")
    for sentence in NOISE:
        assert sentence in answer[1]


def start(folder: Path, *words: str, **options: Any) -> subprocess.Popen[str]:
    """Start the command in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    environment.pop("PYTHONUNBUFFERED", None)  # with it, C writes at once, and no text waits in a buffer
    return subprocess.Popen(
        [sys.executable, "-m", "bakeoff", *words],
        cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
    )  # fmt: skip


@pytest.mark.slow
def test_an_interrupted_sweep_ends_with_a_document(prepared: Path) -> None:
    slow = ("learner=random_forest", "learner.n_estimators=5000", "dataset=digits")
    process = start(prepared, "-m", *slow, "seed=1,2,3", "tracking=none", "to=json")
    assert process.stderr is not None
    assert "3 jobs" in process.stderr.readline()
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=RUNNING_SECONDS)
    assert process.returncode == 130
    assert read_document(out, "failure")["failed"] == "interrupted by Ctrl-C"


def test_a_document_is_the_same_in_each_encoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    out, _ = start(tmp_path, "work", "step=entropy", "counts=[9,5]", "to=json").communicate()
    assert "Σ" in read_document(out, "calculation")["steps"][0]["formula"]


@pytest.mark.skipif(not FULL_DISK.exists(), reason="the system has no device that is full")
@pytest.mark.parametrize("words", ["--version to=json", "list learner to=json", "list learner"])
def test_output_that_cannot_be_written_is_a_failure(words: str, tmp_path: Path) -> None:
    command = f"{shlex.quote(sys.executable)} -m bakeoff {words} > {FULL_DISK}"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    answer = subprocess.run(command, shell=True, cwd=tmp_path, env=environment, text=True, stderr=subprocess.PIPE)
    assert answer.returncode == 1
    assert re.search("failed: .*No space left on device", answer.stderr)
    assert "Traceback" not in answer.stderr


def test_a_file_is_written_beside_the_document(
    prepared: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(prepared, monkeypatch)
    bakeoff = Bakeoff(prepared, capsys, monkeypatch)
    answer = bakeoff("inspect", "t.csv", "target=y", "output=page.html", "to=json")
    assert read_document(answer.out, "inspection")["file"] == "page.html"
    assert (prepared / "page.html").is_file()
    words = name_runs(bakeoff, ["@naive_bayes", "@majority"])
    answer = bakeoff("compare", *words, "output=report.json", "to=json", "keep=false")
    printed = read_document(answer.out, "comparison")
    written = read_document((prepared / "report.json").read_text(), "comparison")
    assert {**written, "status": 0} == printed


def test_help_lists_every_word_of_a_verb(bakeoff: Bakeoff) -> None:
    verbs = read_document(bakeoff("help", "to=json").out, "help")["verbs"]
    assert list(verbs) == list(VERBS)
    for verb, found in verbs.items():
        assert all(re.search(rf"\b{re.escape(word)}", found["text"]) for word in found["words"]), verb


def test_lists_have_whole_names_and_unrounded_scores(
    prepared: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(prepared, monkeypatch)
    bakeoff = Bakeoff(prepared, capsys, monkeypatch)
    lists = read_document(bakeoff("list", "runs", "models", "to=json").out, "list")["lists"]
    stored = {each.info.run_id: each.data.metrics for each in bakeoff.runs()}
    for row in lists["runs"]:
        assert row["score"] == (stored[row["run"]][row["metric"]] if row["metric"] else None)
    assert {row["run"] for row in lists["runs"]} == set(stored)
    (model,) = lists["models"]
    assert (model["model"], model["version"], model["alias"]) == ("m", 1, "c")
    assert model["score"] == stored[model["run"]][model["metric"]]
    scores = [line.split(",")[5] for line in bakeoff("list", "runs", "to=csv").out.splitlines()[1:]]
    assert scores == ["" if row["score"] is None else repr(row["score"]) for row in lists["runs"]]
