"""What may decide the result of a job and is not part of its identity, which a line says."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from bakeoff.pipeline.identity.config_hash import is_of_notebook, list_targets
from bakeoff.pipeline.identity.digests import names_file, parse_source
from bakeoff.pipeline.identity.user_code import UserModule, is_of_user, trace_targets
from bakeoff.pipeline.text.secrets import is_secret_name

MAX_PATH_PARTS = 4
WRITES_FILE = re.compile(r"\.(write_text|write_bytes|touch)\(")
"""A statement that makes the file that it names."""
READ_VARIABLE = re.compile(r"(?:environb?(?:\.get|\.pop|\.setdefault)?|getenv)[\[(]'(\w+)'")
TEXT = re.compile(r"'([^'\n]+)'")


def describe_unidentified(spec: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each thing that may decide the result of a job and is not part of its identity.

    Parameters
    ----------
    spec : mapping
        The settled configuration.
    """
    targets = list_targets(spec)
    sentences = [
        f"{target.partition('.')[2]} is defined in a notebook, and code of a notebook has no identity: its jobs always "
        "run, even if they are done."
        for target in sorted(targets)
        if is_of_notebook(target)
    ]
    for module in trace_targets(targets):
        names = _list_read_names(module) if is_of_user(module.name) else []
        if names:
            sentences.append(
                f"{module.name} reads {', '.join(names)}, which is not part of a job's identity: after a change "
                "of it, a job that is done does not run again; make it a key of the configuration, or use resume=false."
            )
    return sentences


def _list_read_names(module: UserModule) -> list[str]:
    """Return the environment variables that a module reads by name, and the files whose names stand in it."""
    if module.file.suffix != ".py":
        return []
    # A statement is one line without comments, and its texts have single quotes.
    code = ast.unparse(parse_source(module.file.read_bytes()))
    variables = {name for name in READ_VARIABLE.findall(code) if not is_secret_name(name)}
    reading = [line for line in code.splitlines() if not WRITES_FILE.search(line)]
    files = {path for line in reading for path in _list_paths(line) if names_file(path, module.file.parent)}
    whole = {path for path in files if not any(other.endswith(f"/{path}") for other in files)}
    return [*sorted(variables), *sorted(whole)]


def _list_paths(line: str) -> list[str]:
    """Return the texts in a line of code, and those that follow one another as the parts of a path."""
    texts = TEXT.findall(line)
    return ["/".join(texts[start : start + n]) for start in range(len(texts)) for n in range(1, MAX_PATH_PARTS + 1)]
