"""The command ``bakeoff compare`` around its jobs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bakeoff.pipeline.commands.compare import command
from bakeoff.pipeline.commands.compare.request import CompareRequest
from bakeoff.pipeline.tables.document import Answer


@pytest.mark.parametrize(("status", "is_compared"), [(0, True), (1, True), (2, False), (130, False)])
def test_jobs_are_compared_unless_their_sweep_was_refused_or_interrupted(
    status: int, is_compared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []

    def compare(request: CompareRequest, words: str) -> tuple[SimpleNamespace, bool]:
        compared.append((request.sweep, words))
        return SimpleNamespace(), False

    monkeypatch.setattr(command, "_run_jobs", lambda request, words: ("monday", status))
    monkeypatch.setattr(command, "_compare", compare)
    answer = command.compare_stored_runs(["-m", "learner=knn,majority"])
    assert (answer.status if isinstance(answer, Answer) else answer) == status
    assert compared == [("monday", "bakeoff compare -m learner=knn,majority")] * is_compared
