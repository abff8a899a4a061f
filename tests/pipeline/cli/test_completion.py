"""Completion: verbs from the table, their keys and values from requests, and the rest by Hydra."""

from __future__ import annotations

import pytest

from bakeoff.pipeline.cli.main import VERBS, complete_line, run_words


@pytest.mark.parametrize(
    ("line", "completed", "remaining"),
    [
        ("bakeoff", [*VERBS], "bakeoff"),
        ("bakeoff co", ["compare"], "bakeoff co"),
        ("bakeoff learner=k", [], "bakeoff learner=k"),
        ("bakeoff learner=knn dataset=", [], "bakeoff learner=knn dataset="),
        ("bakeoff help pre", ["predict"], None),
        ("bakeoff rm latest dry_run=", ["dry_run=false", "dry_run=true"], None),
        ("bakeoff rm tr", ["tracking.uri=", "tracking.experiment="], None),
        ("bakeoff compare fail_if=w", ["fail_if=worse"], "bakeoff fail_if=w"),
        ("bakeoff plan lea", [], "bakeoff lea"),
        ("bakeoff work students=1 blank", ["blank="], "bakeoff blank"),
        ("bakeoff compare to=html -m learner=k", [], "bakeoff -m learner=k"),
        ("bakeoff  plan   lea", [], "bakeoff lea"),
        ("bakeoff work K", [], "bakeoff K"),
    ],
)
def test_a_line_is_completed(
    line: str, completed: list[str], remaining: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complete_line(line) == remaining
    assert sorted(capsys.readouterr().out.split()) == sorted(completed)


def test_a_shell_asks_with_a_flag(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COMP_LINE", "bakeoff help pre")
    assert run_words(["-sc", "query=bash"]) == 0
    assert capsys.readouterr().out == "predict\n"
    monkeypatch.setenv("COMP_LINE", "bakeoff lerner=knn see")
    assert run_words(["-sc", "query=bash"]) == 0
    answer = capsys.readouterr()
    assert (answer.out.strip(), answer.err) == ("", "")
    assert run_words(["help=query=bash", "query=bash"]) == run_words(["predic"]) == 2
    assert capsys.readouterr().out == ""
