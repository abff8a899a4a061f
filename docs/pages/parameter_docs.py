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
        descriptions.update(_read_parameters(inspect.cleandoc(part.__doc__ or "")))
    return descriptions


def _read_parameters(text: str) -> dict[str, str]:
    section = _SECTION.search(f"{text}\n")
    if section is None:
        return {}
    descriptions = {}
    for names, body in _PARAMETER.findall(section.group(1)):
        first = _SENTENCE_END.split(inspect.cleandoc(body).strip())[0]
        sentence = " ".join(first.replace("``", "`").split())
        descriptions.update({name.strip(): sentence for name in names.split(",")})
    return descriptions
