"""The keys of a file compared with the parameters of what it names."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, getsourcefile, signature
from typing import Any

from bakeoff.pipeline.config.targets import KNOWN_PACKAGES
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.part_check.finding import NOTE, OK, WRONG, Finding
from bakeoff.pipeline.part_check.part import REFERENCE, Part
from bakeoff.pipeline.stages.scoring import SCORING_KEYS

OWN_KEYS = {
    "metric": ("name", "greater_is_better", "needs"),
    "evaluation": SCORING_KEYS,
}
"""Keys of a group that are not parameters."""
POSITIONAL_ARGUMENTS = {"metric": 2}
"""Parameters that the framework fills: a metric takes the true and the predicted values."""
FILLED_ARGUMENTS = {"metric": ("sample_weight", "pos_label"), "figure": ("labels", "if_applicable")}
"""Further parameters that the framework fills."""
VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def check_target(part: Part) -> list[Finding]:
    """Import what the file names."""
    if not part.target:
        raise UserError("the file has no _target_: it must name a class or function, such as _target_: mine.MyClass.")
    found = part.find_target()
    if part.target.split(".")[0] in KNOWN_PACKAGES:
        return [Finding(OK, "target", part.target)]
    try:
        source = getsourcefile(found)
    except TypeError:
        source = None  # of a scorer or another object that is neither class nor function
    place = f" from {source}" if source else ""
    return [Finding(OK, "target", f"{part.target} is imported{place}")]


def check_parameters(part: Part) -> list[Finding]:
    """Compare the keys with the parameters of the class or function, and their values with the defaults."""
    if part.target.split(".")[0] in KNOWN_PACKAGES:
        return []  # of functions that come with bakeoff, a file names those keys that it needs
    parameters = _read_parameters(part)
    if parameters is None:
        return [Finding(NOTE, "parameters", f"{part.target} does not say which parameters it has")]
    own_keys = OWN_KEYS.get(part.group, ())
    given = {key: value for key, value in part.node.items() if not key.startswith("_") and key not in own_keys}
    for name in given:
        if name not in parameters:
            raise UserError(f"{name} is not a parameter of {part.target}. {did_you_mean(name, parameters)}")
    absent = [parameter for name, parameter in parameters.items() if name not in given]
    required = [parameter.name for parameter in absent if parameter.default is Parameter.empty]
    if required:
        raise UserError(f"{part.target} needs {', '.join(required)}; add {required[0]}: VALUE to the file.")
    findings = [Finding(OK, "parameters", ", ".join(given) or "none")]
    if absent:
        key = f"+{part.group}.{absent[0].name}=VALUE"
        lines = tuple(f"{each.name}: {write_value(each.default)}" for each in absent)
        findings.append(
            Finding(NOTE, "parameters", f"not in the file, so that no run shows them and only {key} sets one", lines)
        )
    return [*findings, *_compare_defaults(part, given, parameters)]


def check_space(part: Part) -> list[Finding]:
    """Require that a search space names parameters, each with a list of values."""
    if part.space is None:
        return []
    grids = [part.space] if isinstance(part.space, Mapping) else list(part.space)
    known = part.build().get_params()
    wrong = []
    for grid in grids:
        for name, values in grid.items():
            if name not in known:
                wrong.append(f"{name} is not a parameter of {part.target}")
            elif isinstance(values, str) or not isinstance(values, list) or not values:
                wrong.append(f"{name}: {values!r} must be a list of values to try")
    if wrong:
        return [Finding(WRONG, "space", f"conf/space/{part.name}.yaml", tuple(wrong))]
    names = ", ".join(name for grid in grids for name in grid)
    return [Finding(OK, "space", f"conf/space/{part.name}.yaml searches {names}")]


def _read_parameters(part: Part) -> dict[str, Parameter] | None:
    """Return the parameters that keys can set; None if the class or function takes any."""
    try:
        parameters = signature(part.find_target()).parameters
    except (TypeError, ValueError):
        return None
    if any(parameter.kind in VARIADIC for parameter in parameters.values()):
        return None
    settable = list(parameters.items())[POSITIONAL_ARGUMENTS.get(part.group, 0) :]
    filled = FILLED_ARGUMENTS.get(part.group, ())
    return {name: parameter for name, parameter in settable if name not in filled}


def _compare_defaults(part: Part, given: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> list[Finding]:
    """Return a note on values of the file that are not the defaults of the code; references to keys are left out."""
    lines = []
    for name, value in given.items():
        default = parameters[name].default
        is_reference = REFERENCE in str(part.keys.get(name))
        is_open = value is None or default is Parameter.empty
        if is_open or is_reference or not _differs(value, default):
            continue
        lines.append(f"{name}: {write_value(value)} in the file, {write_value(default)} in the code")
    return [Finding(NOTE, "defaults", "the file has other values than the code", tuple(lines))] if lines else []


def write_value(value: Any) -> str:
    """Write a value as in YAML.

    Examples
    --------
    >>> write_value((1, None)), write_value(True), write_value("auto")
    ('[1, null]', 'true', 'auto')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(write_value, value))}]"
    return str(value)


def _differs(given: Any, default: Any) -> bool:
    """Return whether a value of YAML is not the default of the code, of which tuples are lists in YAML."""
    expected = list(default) if isinstance(default, tuple) else default
    return bool(given != expected)
