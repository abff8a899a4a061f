"""``BAKEOFF_TRUST`` grants to every verb what its word ``trust=`` grants."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from command import Bakeoff, command_in, enter

import bakeoff as package
from bakeoff.pipeline.cli.main import VERBS, load
from bakeoff.pipeline.commands.serve.command import ServeRequest
from bakeoff.pipeline.commands.serve.server import open_model
from bakeoff.pipeline.config.requests import list_arguments, read_request
from bakeoff.pipeline.config.trust import TRUST_KEY, TRUST_VARIABLE
from bakeoff.pipeline.errors import UserError

CODE = '''
import pandas as pd
from bakeoff.pipeline.stages.dataset import load_frame
from sklearn.dummy import DummyClassifier


class Own(DummyClassifier):
    """The most frequent class."""


def load_rows():
    """Return 40 rows."""
    table = pd.DataFrame({"u": [row % 7 for row in range(40)], "y": ["ab"[row % 3 == 0] for row in range(40)]})
    return load_frame(table, target="y", name="rows")
'''
FILES = {
    "mine.py": CODE,
    "conf/learner/own.yaml": "# Own.\n_target_: mine.Own\nstrategy: most_frequent\nrandom_state: ${seed}\n",
    "conf/dataset/rows.yaml": "# Own.\n_target_: mine.load_rows\n",
    "new.csv": "u\n1\n2\n",
}
WORDS = ("learner=own", "dataset=rows", "evaluation=kfold", "evaluation.folds=3", "figures=[]")
FIRST_RUN = "FIRST"
"""Stands for the id of a run of another learner."""
COMMANDS = {
    "run": [*WORDS, "tracking=none"],
    "accept": ["accept", "line=own", "base=latest", "tries=3"],
    "ablate": ["ablate", "latest", "keep=false"],
    "check": ["check", "conf/learner/own.yaml"],
    "compare": ["compare", "-m", "learner=own,majority", *WORDS[1:], "keep=false"],
    "diff": ["diff", "latest", FIRST_RUN, "keep=false"],
    "doctor": ["doctor", "latest", "quick=true", "keep=false"],
    "explain": ["explain", "latest"],
    "figures": ["figures", "latest", "confusion_matrix"],
    "inspect": ["inspect", "dataset=rows"],
    "paper": ["paper", "sweep=s", "output=again.zip"],
    "plan": ["plan", "-m", "learner=own,majority", *WORDS[1:]],
    "predict": ["predict", "latest", "new.csv", "output=answers.csv"],
    "reference": ["reference", "make", "sweep=s", "as=own"],
    "replay": ["replay", "latest"],
    "report": ["report", "latest"],
    "ship": ["ship", "latest", "as=own@champion"],
    "verify": ["verify", "study.capsule.zip"],
    "watch": ["watch", "study.capsule.zip"],
    "work": ["work", "learner=naive_bayes", "dataset=rows", "rows=8"],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run and a capsule of own code."""
    folder = tmp_path_factory.mktemp("trusting")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    with command_in(folder) as bakeoff:
        sweep = ("-m", "learner=own,majority", *WORDS[1:], "hydra.sweep.dir=outputs/sweeps/s", "trust=[mine]")
        assert bakeoff(*sweep).status == 0
        assert bakeoff("paper", "sweep=s", "trust=[mine]").status == 0
        answer = bakeoff(*WORDS, "learner.strategy=prior", "trust=[mine]")
        assert answer.status == 0, answer.err
    return folder


@pytest.fixture
def project(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Bakeoff:
    """Return the command in this folder."""
    enter(place, monkeypatch)
    return Bakeoff(place, capsys, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("verb", COMMANDS)
def test_the_environment_grants_trust_to_each_verb(project: Bakeoff, verb: str) -> None:
    words = [project.runs()[-1].info.run_id if word == FIRST_RUN else word for word in COMMANDS[verb]]
    refused = project(*words)
    said = refused.out + refused.err
    assert (refused.status == 0, "trust=[mine]" in said) == (False, True), said
    project.patch.setenv(TRUST_VARIABLE, "mine")
    answer = project(*words)
    assert answer.status == 0, answer.err


@pytest.mark.slow
def test_the_environment_grants_trust_to_a_server_and_to_calls_in_python(
    project: Bakeoff,
) -> None:
    words = ["latest", "port=0"]
    with pytest.raises(UserError, match=r"trust=\[mine\]"):
        open_model(read_request("serve", ServeRequest, words), "127.0.0.1", 0)
    with pytest.raises(UserError, match=r"trust=\[mine\]"):
        package.ablate("latest", keep=False)
    project.patch.setenv(TRUST_VARIABLE, "mine")
    _, opened = open_model(read_request("serve", ServeRequest, words), "127.0.0.1", 0)
    opened.close()
    assert len(package.load("latest").predict(pd.DataFrame({"u": [1, 2]}))) == 2
    assert package.ablate("latest", keep=False).difference == 0


def test_every_verb_with_the_key_is_tried() -> None:
    requests = {verb: load(called.request) for verb, called in VERBS.items() if called.request}
    taking = {
        verb for verb, request in requests.items() if any(each.name == TRUST_KEY for each in list_arguments(request))
    }
    assert taking - {"serve"} <= set(COMMANDS)
