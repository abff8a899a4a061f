"""Keys take values of the types in the annotations of their parameters and nothing else, by one rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from inspect import isclass
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
import yaml

from bakeoff.pipeline.config.build import build_object, find_target, require_arguments
from bakeoff.pipeline.config.options import CONF
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.keys import FileLayout, build_from_keys

READ_BY_OTHERS = {"resume", "dry_run", "drop_missing_target", "header", "strip"}
"""Keys of sweeps, and those that build_from_keys reads for the functions that load a dataset."""


def list_booleans(node: Any, target: str = "") -> Iterator[tuple[str, str]]:
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
    function = find_target(target, "key", [])
    if "boolean" in getattr(function, "_parameter_constraints", {}).get(key, []):
        return True
    try:
        require_arguments(function, {key: "no"}, "key", target)
    except UserError as error:
        return "must be true or false" in str(error)
    return False


def test_every_boolean_of_the_shipped_options_is_read_by_the_rule() -> None:
    for file in CONF.rglob("*.yaml"):
        for key, target in list_booleans(yaml.safe_load(file.read_text())):
            is_hydras = key.startswith("_") or "hydra" in file.parts
            assert is_hydras or key in READ_BY_OTHERS or _is_checked(target, key), (file, key)


@pytest.mark.parametrize("value", [None, 2, 0, 1.0, "", "no", "null", [], [True], float("nan")])
def test_other_values_are_refused_with_what_is_allowed(value: object) -> None:
    node = {"_target_": "bakeoff.pipeline.stages.splitting.KFold", "stratify": value}
    with pytest.raises(UserError, match=r"^evaluation.stratify=.* must be true or false(; give one, .*)?\.$"):
        build_object(node, "evaluation", [])


def test_null_is_left_to_parameters_that_take_it() -> None:
    assert build_from_keys({"header": None, "strip": True}, FileLayout)[0].header is None
    for key in ("header", "strip"):
        with pytest.raises(UserError, match=rf"^dataset.{key}='no' must be true or false( or null)?\.$"):
            build_from_keys({key: "no"}, FileLayout)


SINGLE = (True, 3, 1.5, "word")
ACCEPTED: dict[Any, tuple[Any, ...]] = {
    bool: (True,),
    int: (3,),
    float: (3, 1.5),
    str: SINGLE,
    Sequence: ([1],),
    Mapping: ({"a": 1},),
    NoneType: (None,),
}
"""The types of parameters -> the values that they take."""


def list_targets(node: Any) -> Iterator[str]:
    """Yield the classes and functions of bakeoff in a file."""
    for key, value in node.items() if isinstance(node, Mapping) else enumerate(node if isinstance(node, list) else ()):
        if key == "_target_" and str(value).startswith("bakeoff.pipeline."):
            yield value
        yield from list_targets(value)


def list_parameters() -> list[tuple[str, Any, str, set[Any]]]:
    """Return each parameter of the shipped options whose types are known: its target, and these types."""
    targets = {name for file in CONF.glob("[!h]*/*.yaml") for name in list_targets(yaml.safe_load(file.read_text()))}
    found = []
    for target in sorted(targets):
        function = find_target(target, "key", [])
        try:
            hints = get_type_hints(function.__init__ if isclass(function) else function)
        except NameError:  # of a type that is imported for the type checker alone
            continue
        for name, hint in hints.items():
            kinds = get_args(hint) if get_origin(hint) is UnionType else (hint,)
            types = {get_origin(kind) or kind for kind in kinds}
            if types <= ACCEPTED.keys() and name != "return":
                found.append((target, function, name, types))
    return found


def test_every_parameter_of_the_shipped_options_refuses_values_of_other_types_by_its_key() -> None:
    parameters = list_parameters()
    assert len(parameters) > 60
    for target, function, name, types in parameters:
        accepted = [repr(value) for kind in types for value in ACCEPTED[kind]]
        for value in (*SINGLE, [1], {"a": 1}, None):
            given = {name: value}
            if repr(value) in accepted:
                require_arguments(function, given, "key", target)
                continue
            with pytest.raises(UserError) as refusal:
                require_arguments(function, given, "key", target)
            shown = "null" if value is None else repr(value)
            assert str(refusal.value).startswith(f"key.{name}={shown} must be "), (target, refusal.value)
