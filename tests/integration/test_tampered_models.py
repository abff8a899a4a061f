"""Models and runs that somebody else has changed in the store: nothing of them runs, and each is refused by name.

Each attack tries to write the file `TRACE`.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pandas as pd
import pytest
import yaml
from command import Answer, command_in, enter

import bakeoff as package
from bakeoff.pipeline.errors import UserError

TRACE = "trace.txt"
INTRUDER = f"from pathlib import Path\nPath({TRACE!r}).write_text('an attack was here')\nclass Learner:\n    pass\n"
TOUCH = f"touch {TRACE}"


@dataclass(frozen=True)
class Victim:
    """A run with a model, and the folders of its files."""

    folder: Path
    run_id: str
    model: Path
    artifacts: Path

    def left_trace(self) -> bool:
        return (self.folder / TRACE).exists()

    def __call__(self, *words: str) -> Answer:
        """Run the command in the folder of the store."""
        with command_in(self.folder) as bakeoff:
            return bakeoff(*words)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Victim:
    """Store one run, and keep a copy of its files."""
    folder = tmp_path_factory.mktemp("stored")
    with command_in(folder) as bakeoff:
        answer = bakeoff("dataset=iris", "learner=naive_bayes")
        assert answer.status == 0, answer.err
        (run,) = bakeoff.runs()
        (model,) = (file.parent for file in folder.rglob("model.skops"))
        (config,) = (file for file in folder.rglob("config.yaml") if "artifacts" in file.parts)
        shutil.copytree(model, folder / "copy" / "model")
        shutil.copytree(config.parent, folder / "copy" / "artifacts")
        (folder / "rows.csv").write_text("".join(f"{line}\n" for line in _make_rows()))
    return Victim(folder, run.info.run_id, model, config.parent)


@pytest.fixture
def victim(stored: Victim, monkeypatch: pytest.MonkeyPatch) -> Iterator[Victim]:
    """Give the run as it was stored, and undo what a test does to it."""
    enter(stored.folder, monkeypatch)
    monkeypatch.syspath_prepend(stored.folder)
    yield stored
    sys.modules.pop("intruder", None)
    for name, place in (("model", stored.model), ("artifacts", stored.artifacts)):
        shutil.rmtree(place)
        shutil.copytree(stored.folder / "copy" / name, place)
    for left in (TRACE, "intruder.py"):
        (stored.folder / left).unlink(missing_ok=True)


def _make_rows() -> list[str]:
    names = ["sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)"]
    return [",".join(names), "5.1,3.5,1.4,0.2"]


def make_node(module: str, name: str, loader: str, **content: Any) -> dict[str, Any]:
    """Return a node of a schema of skops."""
    return {"__module__": module, "__class__": name, "__loader__": loader, "__id__": id(content), **content}


def make_text(value: Any) -> dict[str, Any]:
    return {**make_node("builtins", "str", "JsonNode", content=json.dumps(value)), "is_json": True}


def make_call(module: str, name: str, *texts: str) -> dict[str, Any]:
    """Return a node for which skops would call a function with texts."""
    arguments = make_node("builtins", "tuple", "TupleNode", content=[make_text(text) for text in texts])
    return make_node(module, name, "ConstructorFromReduceNode", content=arguments)


def write_schema(victim: Victim, node: dict[str, Any]) -> None:
    """Hide a node in the stored model, beside what is there."""
    file = victim.model / "model.skops"
    with ZipFile(io.BytesIO(file.read_bytes())) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members["schema.json"])
    schema["content"]["content"]["hidden"] = node
    members["schema.json"] = json.dumps(schema).encode()
    with ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


NODES: dict[str, tuple[dict[str, Any], str]] = {
    "a function of Python": (make_call("os", "system", TOUCH), "os.system"),
    "a function of Python's own": (make_call("builtins", "eval", f"open('{TRACE}','w')"), "builtins.eval"),
    "a function of ours": (
        make_call("bakeoff.pipeline.tracking.provenance", "_call_git", ".", "-c", f"alias.x=!{TOUCH}", "x"),
        "bakeoff.pipeline.tracking.provenance._call_git",
    ),
    "what a module of ours imports": (
        make_call("bakeoff.pipeline.stages.preprocessing.transformers", "f_classif", "x"),
        "bakeoff.pipeline.stages.preprocessing.transformers.f_classif",
    ),
    "a function of scikit-learn": (
        make_call("sklearn.utils._testing", "assert_run_python_script_without_output", f"open('{TRACE}','w')"),
        "sklearn.utils._testing.assert_run_python_script_without_output",
    ),
    "a type of the user": (make_node("intruder", "Learner", "ObjectNode"), "intruder.Learner"),
    "a method": (
        make_node(
            "sklearn.dummy",
            "DummyClassifier",
            "MethodNode",
            content={"func": "fit", "obj": make_node("sklearn.dummy", "DummyClassifier", "ObjectNode")},
        ),
        "sklearn.dummy.DummyClassifier.fit",
    ),
    "a caller of methods": (
        {
            **make_node("operator", "methodcaller", "OperatorFuncNode"),
            "attrs": make_node("builtins", "tuple", "TupleNode", content=[make_text("system")]),
        },
        "operator.methodcaller",
    ),
}


@pytest.mark.parametrize("name", NODES)
def test_a_type_that_was_not_reviewed_is_refused_by_name_before_anything_is_built(victim: Victim, name: str) -> None:
    node, named = NODES[name]
    (victim.folder / "intruder.py").write_text(INTRUDER)
    write_schema(victim, node)
    with pytest.raises(UserError, match=rf"(needs code|contains).*{named}"):
        package.load(victim.run_id)
    assert not victim.left_trace()


@pytest.mark.parametrize("name", ["a function of Python", "a function of ours", "a function of scikit-learn"])
def test_what_runs_programs_is_refused_whatever_is_trusted(victim: Victim, name: str) -> None:
    node, named = NODES[name]
    write_schema(victim, node)
    with pytest.raises(UserError, match=named):
        package.load(victim.run_id, trust=["os", "bakeoff", "sklearn"])
    assert not victim.left_trace()


def test_every_verb_refuses_a_tampered_model(victim: Victim) -> None:
    write_schema(victim, NODES["a function of Python"][0])
    for words in (
        ["predict", "latest", "rows.csv", "output=answers.csv"],
        ["serve", "latest", "port=0"],
    ):
        answer = victim(*words)
        assert (answer.status, "os.system" in answer.err, victim.left_trace()) == (2, True, False), answer
    replayed = victim("replay", "latest")
    assert ("os.system" in replayed.out + replayed.err, victim.left_trace()) == (True, False)
    assert not (victim.folder / "answers.csv").exists()


class Malicious:
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.system, (TOUCH,)


def test_the_files_that_mlflow_would_follow_are_not_read(victim: Victim) -> None:
    file = victim.model / "MLmodel"
    record = yaml.safe_load(file.read_text())
    record["flavors"]["sklearn"] |= {"pickled_model": "model.pkl", "serialization_format": "cloudpickle"}
    record["flavors"]["sklearn"] |= {"skops_trusted_types": ["os.system"], "code": "code"}
    record["flavors"]["python_function"] |= {"loader_module": "intruder", "code": "code", "model_path": "model.pkl"}
    file.write_text(yaml.safe_dump(record))
    (victim.model / "model.pkl").write_bytes(pickle.dumps(Malicious()))
    (victim.model / "requirements.txt").write_text(f"intruder @ file://{victim.model}/code\n")
    (victim.model / "code").mkdir()
    (victim.model / "code" / "intruder.py").write_text(INTRUDER)
    answer = victim("predict", "latest", "rows.csv", "output=answers.csv")
    assert (answer.status, victim.left_trace()) == (0, False), answer.err
    write_schema(victim, NODES["a type of the user"][0])
    with pytest.raises(UserError, match=r"intruder\.Learner.*add trust=\[intruder\]"):
        package.load(victim.run_id)
    assert not victim.left_trace()
    (victim.model / "model.skops").unlink()
    with pytest.raises(UserError, match=r"there is no model\.skops"):
        package.load(victim.run_id)
    assert not victim.left_trace()


def test_a_type_of_the_user_is_admitted_if_the_call_trusts_its_package(victim: Victim) -> None:
    """What stops the attacks above is the trust that is missing."""
    (victim.folder / "intruder.py").write_text(INTRUDER)
    write_schema(victim, NODES["a type of the user"][0])
    with pytest.raises(UserError, match="intruder"):
        package.load(victim.run_id)
    assert package.load(victim.run_id, trust=["intruder"]).predict(pd.read_csv("rows.csv")).shape[0] == 1


def _make_bomb(victim: Victim) -> bytes:
    written = io.BytesIO()
    with ZipFile(written, "w", ZIP_DEFLATED) as archive, ZipFile(victim.model / "model.skops") as stored:
        archive.writestr("schema.json", stored.read("schema.json"))
        with archive.open("zeros.npy", "w", force_zip64=True) as member:
            for _ in range(300):
                member.write(bytes(1 << 20))
    return written.getvalue()


def _add_traversal(victim: Victim) -> bytes:
    written = io.BytesIO((victim.model / "model.skops").read_bytes())
    with ZipFile(written, "a") as archive:
        archive.writestr(f"../../../../{TRACE}", "out of the archive")
        archive.writestr(str(victim.folder / TRACE), "out of the archive")
    return written.getvalue()


def _make_archive(name: str, content: str) -> bytes:
    written = io.BytesIO()
    with ZipFile(written, "w") as archive:
        archive.writestr(name, content)
    return written.getvalue()


def _make_shared_parts(victim: Victim) -> bytes:
    """Return a model of 60 lists, each of which holds the one before twice: skops would look at 2**60 of them."""
    node = make_text("innermost")
    for level in range(1, 61):
        inner = {**node, "__id__": level}
        again = {**make_node("builtins", "list", "CachedNode"), "__id__": level}
        node = make_node("builtins", "list", "ListNode", content=[inner, again])
    schema = {**node, "__id__": 99, "protocol": 2, "_skops_version": "0.16.0"}
    return _make_archive("schema.json", json.dumps(schema))


BROKEN: dict[str, Callable[[Victim], bytes]] = {
    "empty": lambda victim: b"",
    "no archive": lambda victim: b"not a model",
    "cut": lambda victim: (victim.model / "model.skops").read_bytes()[:-200],
    "a pickle": lambda victim: pickle.dumps(Malicious()),
    "a bomb": _make_bomb,
    "parts that share parts": _make_shared_parts,
    "a schema that is none": lambda victim: _make_archive("schema.json", "[" * 100_000),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_archive_that_is_none_or_grows_without_bound_is_refused(victim: Victim, name: str) -> None:
    content = BROKEN[name](victim)
    (victim.model / "model.skops").write_bytes(content)
    with pytest.raises(
        UserError, match=r"cannot be used: (BadZipFile|RecursionError|it would unpack|its parts would be visited)"
    ):
        package.load(victim.run_id)
    assert not victim.left_trace()


def test_members_of_an_archive_are_written_nowhere(victim: Victim) -> None:
    (victim.model / "model.skops").write_bytes(_add_traversal(victim))
    package.load(victim.run_id)
    assert not list(victim.folder.rglob(TRACE))
    assert not victim.left_trace()


@pytest.mark.parametrize("grants", [False, True], ids=["", "and trusts it"])
@pytest.mark.parametrize("words", [["figures"], ["explain"], ["replay"], ["report"], ["ship"]], ids=str)
def test_a_stored_configuration_runs_and_grants_nothing(victim: Victim, words: list[str], grants: bool) -> None:
    (victim.folder / "intruder.py").write_text(INTRUDER)
    file = victim.artifacts / "config.yaml"
    spec = yaml.safe_load(file.read_text())
    spec["learner"] = {"_target_": "intruder.Learner"}
    spec["trust"] = ["intruder"] if grants else []
    file.write_text(yaml.safe_dump(spec))
    more = {"figures": ["confusion_matrix"], "explain": ["output=none"], "ship": ["as=theirs"]}.get(words[0], [])
    answer = victim(*words, victim.run_id, *more)
    assert (answer.status, victim.left_trace()) == (2, False), answer.out + answer.err
    assert "trust=[intruder]" in answer.err
