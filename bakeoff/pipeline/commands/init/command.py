"""``bakeoff init``, ``check`` and ``schema``: a project folder for user-defined parts, their trial, and a schema."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.pipeline.config.requests import Request
from bakeoff.pipeline.tables.document import Answer
from bakeoff.pipeline.text.wording import show_controls

if TYPE_CHECKING:
    from bakeoff.pipeline.commands.init.check import Finding
    from bakeoff.pipeline.commands.init.project import CheckRequest, ProjectRequest


EXIT_WRONG = 1
STATUS_WIDTH = 11
SUBJECT_WIDTH = 16
NEXT_STEPS = """
make test     # the tests of its code
make check    # what bakeoff finds wrong with its parts
make run      # one experiment
make compare  # its learner and three others
"""


@dataclass(frozen=True, kw_only=True)
class SchemaRequest(Request):
    """A JSON Schema.

    Attributes
    ----------
    output : Path or None
        The file to write; by default the schema is printed.
    """

    output: Path | None = None


def check_parts(request: CheckRequest) -> Answer:
    """Print what is right and wrong with user-defined parts; the exit code is 1 if something is wrong.

    Raises
    ------
    UserError
        The file does not exist, or does not belong to a group of options.
    """
    from bakeoff.pipeline.commands.init.check import NOTE, WRONG, check_part
    from bakeoff.pipeline.commands.init.project import find_files

    parts: dict[Path, list[Finding]] = {}
    n_all_wrong = 0
    for part in find_files(request):
        print(f"{part.path}", flush=True)
        parts[part.path] = [_print_finding(finding) for finding in check_part(part)]
        statuses = [finding.status for finding in parts[part.path]]
        n_wrong = statuses.count(WRONG)
        print(f"{part.path}: {n_wrong} wrong, {statuses.count(NOTE)} to note\n", flush=True)
        n_all_wrong += n_wrong
    return Answer("check", lambda: {"parts": parts}, EXIT_WRONG if n_all_wrong else 0)


def _print_finding(finding: Finding) -> Finding:
    """Print a finding as soon as there is one, and return it."""
    indent = " " * (STATUS_WIDTH + SUBJECT_WIDTH + 4)
    print(f"  {finding.status:<{STATUS_WIDTH}} {finding.subject:<{SUBJECT_WIDTH}} {show_controls(finding.text)}")
    for line in finding.details:
        print(f"{indent}{show_controls(line)}")
    print(end="", flush=True)
    return finding


def start_project(request: ProjectRequest) -> int:
    """Create a project folder with a dataset, a learner, a metric and their tests, and print how to use it.

    Raises
    ------
    UserError
        The folder is not empty, cannot be written, or has a name that is not valid for a package.
    """
    from bakeoff.pipeline.commands.init.project import make_project

    folder = request.folder
    files = make_project(folder)
    print(f"{folder} holds a dataset, a learner, a metric and their tests:")
    for file in files:
        print(f"  {file}")
    print(f"cd {shlex.quote(str(folder))}{NEXT_STEPS}", end="")
    return 0


def write_schema(request: SchemaRequest) -> int:
    """Print a JSON Schema of YAML files, with which editors complete and check their options, keys and values.

    Raises
    ------
    UserError
        The file cannot be written.
    """
    from bakeoff.pipeline.commands.init.json_schema import make_schema
    from bakeoff.pipeline.tables.output_file import SCHEMA, require_output, write_whole

    output = None if request.output is None else require_output(request.output, SCHEMA)
    text = json.dumps(make_schema(), indent=1, ensure_ascii=False) + "\n"
    if output is None:
        print(text, end="")
    else:
        write_whole(output, text)
    return 0
