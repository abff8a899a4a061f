"""docs/tutorial.md: its five commands take raw Titanic to a model that answers over HTTP as `bakeoff predict` does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command import Answer, Bakeoff, command_in
from page_commands import list_commands, read_page
from page_files import write_titanic
from serving import ask, started

PAGE = "docs/tutorial.md"
JSON = "application/json"


def read_records() -> list[dict[str, Any]]:
    """Return the rows that the page sends to the server."""
    (body,) = re.findall(r"^curl .*? -d '(.*?)'$", read_page(PAGE), flags=re.DOTALL | re.MULTILINE)
    records: list[dict[str, Any]] = json.loads(body)["dataframe_records"]
    return records


def join_words(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def commands() -> list[list[str]]:
    """Return the words of the commands of the page, without the name of the program."""
    return [command.words[1:] for command in list_commands(PAGE) if not command.reason]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds the file of the example."""
    folder = tmp_path_factory.mktemp("titanic")
    write_titanic(folder)
    return folder


@pytest.fixture(scope="module")
def answers(folder: Path, commands: list[list[str]]) -> list[Answer]:
    """Run all commands but the last one, which serves until Ctrl-C."""
    with command_in(folder) as bakeoff:
        return [bakeoff(*words) for words in commands[:-1]]


@pytest.mark.slow
def test_each_command_prints_what_the_page_shows(answers: list[Answer], folder: Path) -> None:
    assert [answer.status for answer in answers] == [0] * 4, [answer.err for answer in answers]
    printed = join_words(" ".join(answer.out + answer.err for answer in answers))
    shown = re.findall(r"```text\n(.*?)```", read_page(PAGE), flags=re.DOTALL)
    assert len(shown) == 4
    assert [text for text in shown if join_words(text) not in printed] == []
    assert (folder / "titanic.inspection.html").exists()


@pytest.mark.slow
def test_the_served_model_answers_with_the_probabilities_that_predict_writes(
    answers: list[Answer], folder: Path, commands: list[list[str]], bakeoff: Bakeoff
) -> None:
    assert answers[-1].status == 0
    pd.DataFrame(read_records()).to_csv(folder / "asked.csv", index=False)
    bakeoff.patch.chdir(folder)
    predicted = bakeoff("predict", "titanic@champion", "asked.csv", "output=answers.csv")
    assert predicted.status == 0, predicted.err
    with started(folder, *commands[-1], "port=0") as address:
        body = json.dumps({"dataframe_records": read_records()})
        reply = ask(address, "/invocations", body, content_type=JSON)
    assert reply.status == 200, reply.text
    # Spelled as text, so that no digit is lost.
    written = pd.read_csv(folder / "answers.csv", dtype=str).to_dict("records")
    served = [{name: str(value) for name, value in row.items()} for row in reply.json["predictions"]]
    assert served == written
    assert [row["prediction"] for row in served] == ["1", "0"]
