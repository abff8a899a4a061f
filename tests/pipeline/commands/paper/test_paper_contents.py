"""The content of a capsule: a part has one name for all jobs with the same settings."""

from __future__ import annotations

from typing import Any

from bakeoff.pipeline.commands.paper.contents import _name_part


def test_settings_of_one_option_that_differ_have_names_that_differ() -> None:
    named: dict[str, Any] = {}
    values = [{"k": 1}, {"k": 1.0}, {"k": True}, {"k": 1}, {"k": 3}]
    names = [_name_part(named, "knn", value) for value in values]
    assert names == ["knn", "knn (2)", "knn (3)", "knn", "knn (4)"]
    assert [named[name] for name in names] == values
