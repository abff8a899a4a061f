"""Configurations that would be larger than they look are refused before they are written out."""

from __future__ import annotations

from typing import Any

import pytest

from bakeoff.pipeline.config.nodes import MAX_NODES, load_bounded_yaml, require_bounded_references, require_bounded_yaml
from bakeoff.pipeline.errors import UserError


def nested(levels: int, width: int) -> str:
    """Return YAML whose lines repeat one another."""
    lines = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]" for i in range(1, levels)]
    return "\n".join([f"a0: &a0 [{', '.join(['1'] * width)}]", *lines])


def count_nodes(value: Any) -> int:
    """Return the number of nodes of a value, the repeated ones included."""
    if isinstance(value, dict):
        return 1 + sum(1 + count_nodes(child) for child in value.values())
    return 1 + sum(map(count_nodes, value)) if isinstance(value, list) else 1


@pytest.mark.parametrize("width", [2, 3, 10])
def test_the_nodes_of_yaml_are_counted_as_they_would_be_written_out(width: int) -> None:
    levels = next(n for n in range(1, 30) if count_nodes(load_small(nested(n, width))) > MAX_NODES)
    require_bounded_yaml(nested(levels - 1, width), "fits.yaml")
    with pytest.raises(UserError, match=rf"large\.yaml, line {levels}, brings more than 100,000 values"):
        load_bounded_yaml(nested(levels, width), "large.yaml")


def load_small(text: str) -> Any:
    """Return what a text holds; the repeated parts are one object each."""
    import yaml

    return yaml.safe_load(text)


def test_merged_mappings_count_as_often_as_they_are_merged() -> None:
    lines = [f"a{i}: &a{i} {{p: *a{i - 1}, q: *a{i - 1}, <<: *a{i - 1}}}" for i in range(1, 30)]
    with pytest.raises(UserError, match="brings more than"):
        require_bounded_yaml("\n".join(["a0: &a0 {x: 1}", *lines]), "merged.yaml")


def test_what_is_no_yaml_is_left_to_its_parser() -> None:
    require_bounded_yaml("a: [1, 2", "open.yaml")


def test_interpolations_are_measured_as_they_resolve() -> None:
    values = {"a": "x" * 1000, "b": "${a}${a}", "c": ["${b}", "${.0}", "${oc.select:b}"], "d": {"e": "${..b}", "f": 3}}
    del values["c"][1]  # type: ignore[attr-defined]
    require_bounded_references(values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"a": "${b}", "b": "${a}"}, "a refers to itself"),
        ({"a": {"b": "${a}"}}, "refers to itself"),
        ({"a": {"b": "${.c}", "c": "${.b}"}}, r"a\.b -> a\.c -> a\.b"),
        ({"k0": "x" * 20} | {f"k{i}": f"${{k{i - 1}}}" * 10 for i in range(1, 9)}, "would hold more than 10,000,000"),
        ({"k0": [1, 2]} | {f"k{i}": [f"${{k{i - 1}}}"] * 10 for i in range(1, 9)}, "would hold more than 10,000,000"),
        ({f"k{i}": f"${{k{i + 1}}}" for i in range(300)}, "more than 100 values refer to one another"),
    ],
)
def test_interpolations_without_bound_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        require_bounded_references(values)
