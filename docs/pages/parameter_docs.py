"""What docstrings say of parameters, for keys that have no comment in YAML."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Sequence

_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", flags=re.DOTALL | re.MULTILINE)
_PARAMETER = re.compile(r"^([\w, ]+?) ?:.*\n((?:^ +.*\n?|^\n)*)", flags=re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.;])\s+(?=[A-Z`])|\n\s*\n|\s+\.\. |\s+- ")


def read_descriptions(targets: Sequence[str]) -> dict[str, str]:
    """Return the first sentence on each parameter of a class: name -> sentence.

    Parameters
    ----------
    targets : sequence of str
        Dotted names, the first of which is the class; empty for none.
    """
    if not targets:
        return {}
    module, _, name = targets[0].rpartition(".")
    target = getattr(importlib.import_module(module), name)
    documented = reversed(inspect.getmro(target)) if inspect.isclass(target) else [target]
    descriptions: dict[str, str] = {}
    for part in documented:
        descriptions.update(read_parameters(inspect.cleandoc(part.__doc__ or "")))
    return {name: _read_first_sentence(description) for name, description in descriptions.items()}


def read_parameters(docstring: str) -> dict[str, str]:
    """Return what the docstring of a function or class says of each parameter: name -> description.

    Parameters
    ----------
    docstring : str
        Without indentation.
    """
    section = _SECTION.search(f"{docstring}\n")
    if section is None:
        return {}
    descriptions = {}
    for names, body in _PARAMETER.findall(section.group(1)):
        description = inspect.cleandoc(body).strip().replace("``", "`")
        descriptions.update({name.strip(): description for name in names.split(",")})
    return descriptions


def _read_first_sentence(description: str) -> str:
    return " ".join(_SENTENCE_END.split(description)[0].split())
