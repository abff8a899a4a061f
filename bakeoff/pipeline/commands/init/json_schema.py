"""A JSON Schema of YAML files, with which editors complete, describe and check them.

``schema.json`` has the keys of an experiment, and the types of values. The rest is read: options and descriptions from
the files in ``conf/``, keys and types from the constructors, and ranges from what learners declare.
"""

import json
from collections.abc import Mapping
from inspect import formatannotation, isclass, signature
from math import inf
from numbers import Integral
from pathlib import Path
from typing import Any

from bakeoff.pipeline.config.build import find_target
from bakeoff.pipeline.config.options import (
    CONF,
    FIGURE_LIST,
    FIGURE_PACKAGE,
    FIGURES,
    GROUPS,
    ROOT_FILE,
    find_option_files,
    load_option_file,
    read_listing,
    read_notes,
)
from bakeoff.pipeline.config.requests import read_sentences
from bakeoff.pipeline.config.targets import TARGET_KEY, name_key, read_own_names, walk
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.wording import MISSING_VALUE

FRAME = Path(__file__).parent / "schema.json"
EXPERIMENT = "experiment"
KEYS = "properties"
Keys = dict[str, Any]


def make_schema() -> Keys:
    """Return a JSON Schema (draft 7) for experiments and for the files of options."""
    schema = json.loads(FRAME.read_text(encoding="utf-8"))
    known = schema["definitions"]
    members = {}
    for group in GROUPS:
        options = [name for names in read_listing(group) for name in names]
        known["choice"]["patternProperties"][f"^(override )?/?{group}$"] = {"enum": [None, *options]}
        members[group] = sorted({_read_option(group, option, known) for option in options})
        known.setdefault(group, {"anyOf": [*map(_refer, members[group]), _refer("part")]})
    names = [name for name in known if "." in name]
    part = known["part"]
    part["properties"][TARGET_KEY]["anyOf"][0]["enum"] = sorted({*names, *read_own_names("")})
    part["allOf"] = [{"if": {"properties": {TARGET_KEY: {"const": name}}}, "then": _refer(name)} for name in names]
    parameters = {key for name in members["learner"] for key in known[name][KEYS]}
    known["space"]["propertyNames"]["anyOf"][0]["enum"] = sorted(parameters - {TARGET_KEY, "defaults"})
    _add_figures(known)
    for key, note in read_notes([CONF / ROOT_FILE]).items():
        known[EXPERIMENT][KEYS][key]["description"] = note
    return schema


def _add_figures(known: Keys) -> None:
    """Add the names of figures to the definitions, and the arguments of those that are shipped."""
    known["figure"]["enum"] += [name for names in read_listing(FIGURE_LIST) for name in names]
    for name, (class_name, _) in FIGURES.items():
        arguments: Keys = {"type": ["object", "null"], "additionalProperties": False, KEYS: {}}
        known["figure_arguments"][KEYS][name] = arguments
        found = _find_class(f"{FIGURE_PACKAGE}.{class_name}", FIGURE_LIST)
        _add_keys(arguments[KEYS], {}, found, {}, known)


def _refer(name: str) -> Keys:
    return {"$ref": f"#/definitions/{name}"}


def _read_option(group: str, option: str, known: Keys) -> str:
    """Add the keys of an option, and of each class in it, to the definitions, and return the name of its own."""
    files = find_option_files(group, option)
    content: Keys = {}
    for file in reversed(files):
        content |= load_option_file(file)
    own_name = f"{group}-keys"  # of files without a class
    notes = read_notes(files)
    for path, node in walk(content, (group,)):
        if isinstance(node, Mapping) and (TARGET_KEY in node or node is content):
            name = str(node.get(TARGET_KEY) or own_name)
            own = {"defaults": _refer("names"), TARGET_KEY: {"enum": [None, node.get(TARGET_KEY)]}}
            added = {"type": "object", "additionalProperties": False, KEYS: own}
            found = _find_class(name, name_key(path[group == EXPERIMENT :]))
            _add_keys(known.setdefault(name, added)[KEYS], node, found, notes, known)
    return str(content.get(TARGET_KEY) or own_name)


def _find_class(name: str, key: str) -> Any:
    """Return the class or function of a part; None if there is none, or it needs trust or a package."""
    try:
        return find_target(name, key, ())
    except UserError:
        return None


def _add_keys(properties: Keys, node: Mapping[str, Any], found: Any, notes: Mapping[str, str], known: Keys) -> None:
    """Add the keys of a part: those in its file, and the parameters of its class or function."""
    parameters = dict(signature(found).parameters) if found else {}
    constraints = getattr(found, "_parameter_constraints", {})
    notes = {**(read_sentences(found) if isclass(found) else {}), **notes}
    for key in {**node, **parameters}:
        default = type(node.get(key)).__name__.replace("int", "float")
        annotation = formatannotation(parameters[key].annotation) if key in parameters else default
        kinds = constraints.get(key) or annotation.strip("'").split(" | ")
        allowed = [*(_describe_kind(kind, known) for kind in kinds), _refer("reference")]
        if node.get(key) == MISSING_VALUE:
            allowed.append({"const": MISSING_VALUE})
        properties.setdefault(key, {"description": notes.get(key, ""), "anyOf": allowed})


def _describe_kind(kind: Any, known: Keys) -> Keys:
    """Return the schema of an alternative in an annotation, or of a constraint of scikit-learn."""
    if getattr(kind, "type", None) is str:
        return {"enum": sorted(kind.options)}
    if hasattr(kind, "closed"):
        low = "minimum" if kind.closed in ("left", "both") else "exclusiveMinimum"
        high = "maximum" if kind.closed in ("right", "both") else "exclusiveMaximum"
        bounds = {low: kind.left, high: kind.right}
        finite = {side: bound for side, bound in bounds.items() if bound not in (None, -inf, inf)}
        return {"type": "integer" if kind.type is Integral else "number", **finite}
    word = getattr(kind, "__name__", str(kind)).partition("[")[0].rpartition(".")[2]
    return _refer(word if word in known else "part" if isclass(kind) else "value")
