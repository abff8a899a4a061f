"""The body of a request is bounded by what it says of itself."""

from __future__ import annotations

import json
from io import BytesIO

import pandas as pd
import pytest

from bakeoff.pipeline.serving import request_rows
from bakeoff.pipeline.serving.answer import format_notes
from bakeoff.pipeline.serving.request_rows import JSON_TYPE, PARQUET_TYPE, RequestError, read_request


def test_a_small_body_of_very_many_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    body = BytesIO()
    pd.DataFrame({"x": [1.0] * 100_000}).to_parquet(body)
    assert len(body.getvalue()) < 5_000
    assert len(read_request(body.getvalue(), PARQUET_TYPE).frame) == 100_000
    monkeypatch.setattr(request_rows, "read_machine_bytes", lambda: 1_000_000)
    with pytest.raises(RequestError, match="100,000 rows of 1 columns; send fewer at a time") as refusal:
        read_request(body.getvalue(), PARQUET_TYPE)
    assert refusal.value.status == 413


def test_lists_inside_one_another_are_refused() -> None:
    with pytest.raises(RequestError, match="recursion"):
        read_request(b'{"inputs": ' + b"[" * 100_000, JSON_TYPE)


def test_notes_that_do_not_fit_into_a_header_are_counted() -> None:
    notes = tuple(f"column {number}: {'x' * 300}" for number in range(40))
    kept = json.loads(format_notes(notes))
    assert kept[-1] == f"and {40 - len(kept) + 1} more"
    assert tuple(kept[:-1]) == notes[: len(kept) - 1]
    assert json.loads(format_notes(("x" * 5000,))) == ["1 notes, which are too long for a header"]
