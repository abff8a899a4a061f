"""Keys that are true or false take nothing else, by one rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from bakeoff.pipeline.config.build import find_target
from bakeoff.pipeline.config.options import CONF
from bakeoff.pipeline.config.settle import find_boolean_parameters, require_booleans
from bakeoff.pipeline.errors import UserError

LEFT_TO_OTHERS = {
    # Read by the sweep.
    ("config.yaml", "resume"),
    ("config.yaml", "dry_run"),
    # A part of the files of datasets, whose functions name it.
    ("dataset/shared/columns.yaml", "drop_missing_target"),
}
HYDRAS = "hydra/"
"""The folder of keys that Hydra and its launchers read."""


def list_booleans(node: Any, target: str | None = None) -> Iterator[tuple[str, str | None]]:
    """Yield each key with a Boolean, and the call that it is an argument of."""
    if isinstance(node, Mapping):
        inner = node.get("_target_", target)
        for key, value in node.items():
            if isinstance(value, bool):
                yield str(key), inner
            yield from list_booleans(value, inner)
    elif isinstance(node, list):
        for item in node:
            yield from list_booleans(item, target)


def _is_checked(target: str, key: str) -> bool:
    """Return whether the rule, or the constraints of an estimator, restrict a key to true and false."""
    constraints = getattr(find_target(target, "key", []), "_parameter_constraints", {})
    return key in find_boolean_parameters(target) or "boolean" in constraints.get(key, [])


def test_every_boolean_of_the_shipped_options_is_read_by_the_rule() -> None:
    unread = []
    for file in sorted(CONF.rglob("*.yaml")):
        name = file.relative_to(CONF).as_posix()
        if name.startswith(HYDRAS):
            continue
        for key, target in list_booleans(yaml.safe_load(file.read_text())):
            is_hydras = key.startswith("_")
            is_known = (name, key) in LEFT_TO_OTHERS or is_hydras
            if not is_known and (target is None or not _is_checked(target, key)):
                unread.append((name, key))
    assert unread == []


@pytest.mark.parametrize("value", [None, 2, 0, 1.0, "", "no", "null", [], [True], float("nan")])
def test_other_values_are_refused_with_what_is_allowed(value: object) -> None:
    node = {"_target_": "bakeoff.pipeline.stages.splitting.KFold", "stratify": value}
    with pytest.raises(UserError, match=r"^evaluation.stratify=.* must be true or false\."):
        require_booleans({"evaluation": node}, (), [])


def test_null_is_left_to_parameters_that_take_it() -> None:
    table = {"_target_": "bakeoff.pipeline.stages.dataset.read_table", "header": None, "strip": True}
    require_booleans(table, ("dataset",), [])


def test_a_target_that_is_not_trusted_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "imported"
    (tmp_path / "untrusted_words.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    monkeypatch.syspath_prepend(tmp_path)
    node = {"_target_": "untrusted_words.Learner", "shuffle": "no"}
    require_booleans({"learner": node}, (), [])
    assert not mark.exists()
