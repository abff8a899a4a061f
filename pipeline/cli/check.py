"""``bakeoff check``: what is wrong with the file of a part of the user, and with the code that it names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bakeoff.pipeline.config.requests import read_request
from bakeoff.pipeline.parts.part_file import CheckRequest, find_files
from bakeoff.pipeline.text.terminal import show_controls

if TYPE_CHECKING:
    from bakeoff.pipeline.parts.check import Finding

EXIT_WRONG = 1
STATUS_WIDTH = 11
SUBJECT_WIDTH = 16


def print_findings(words: Sequence[str]) -> int:
    """Print what is right and wrong with parts of the user; the exit code is 1 if something is wrong.

    Raises
    ------
    UserError
        There is no such file, or it is not one of a group of options.
    """
    request = read_request("check", CheckRequest, words)

    from bakeoff.pipeline.parts.check import NOTE, WRONG, check_part

    n_all_wrong = 0
    for part in find_files(request):
        print(f"{part.path}", flush=True)
        counts = dict.fromkeys((WRONG, NOTE), 0)
        for finding in check_part(part):
            _print_finding(finding)
            if finding.status in counts:
                counts[finding.status] += 1
        print(f"{part.path}: {counts[WRONG]} wrong, {counts[NOTE]} to note\n", flush=True)
        n_all_wrong += counts[WRONG]
    return EXIT_WRONG if n_all_wrong else 0


def _print_finding(finding: Finding) -> None:
    indent = " " * (STATUS_WIDTH + SUBJECT_WIDTH + 4)
    print(f"  {finding.status:<{STATUS_WIDTH}} {finding.subject:<{SUBJECT_WIDTH}} {show_controls(finding.text)}")
    for line in finding.details:
        print(f"{indent}{show_controls(line)}")
    print(end="", flush=True)
