"""``bakeoff diff`` and ``bakeoff ablate``: which of several changes matter."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import partial
from typing import TYPE_CHECKING

from bakeoff.pipeline.commands.comparison_report.delivery import require_report_output, write_report
from bakeoff.pipeline.commands.diff.request import AblateRequest, DiffRequest, ReportRequest
from bakeoff.pipeline.config.flags import find_source, read_flags
from bakeoff.pipeline.config.requests import divide_words, read_request
from bakeoff.pipeline.sweep.request import set_single_threads
from bakeoff.pipeline.tables.document import Answer
from bakeoff.pipeline.tables.output_file import CSV, DIFFERENCE, TERMINAL, write_table
from bakeoff.pipeline.text.wording import print_note

if TYPE_CHECKING:
    from bakeoff.pipeline.commands.diff.result import DifferenceResult
    from bakeoff.pipeline.config.engine import ConfigSource

EXIT_WORSE = 1


def diff_runs(words: Sequence[str]) -> Answer:
    """Show what differs between two runs, and how much each change between their configurations mattered.

    Hybrids of both configurations are run as a sweep; its keys, such as workers=2, max_jobs=8 or dry_run=true, and
    those of another evaluation, such as evaluation=repeated_kfold, may follow.

    Raises
    ------
    UserError
        The runs cannot be compared, or a key is invalid.
    """
    own, others, source = split_words(words, DiffRequest)
    request = read_request("diff", DiffRequest, own)
    require_report_output(request.output, DIFFERENCE, request.tracking__uri)
    from bakeoff.pipeline.commands.diff.difference import explain_difference

    with redirect_stdout(sys.stderr):
        findings = explain_difference(request, others, source, _write_command("diff", words))
    _show(request, findings)
    status = EXIT_WORSE if request.fail_if == "worse" and findings.is_worse else 0
    return Answer(findings.kind, findings.to_dict, status)


def ablate_run(words: Sequence[str]) -> int | Answer:
    """Show how much each option of a run matters: each that differs from its default is set back, one at a time.

    Keys of the sweep and of another evaluation may follow, as for diff.

    Raises
    ------
    UserError
        The run cannot be repeated, or a key is invalid.
    """
    own, others, source = split_words(words, AblateRequest)
    request = read_request("ablate", AblateRequest, own)
    require_report_output(request.output, DIFFERENCE, request.tracking__uri)
    from bakeoff.pipeline.commands.diff.ablation import ablate

    with redirect_stdout(sys.stderr):
        findings = ablate(request, others, source, _write_command("ablate", words))
    if findings is None:
        return 0
    _show(request, findings)
    return Answer(findings.kind, findings.to_dict)


def split_words(words: Sequence[str], request: type[ReportRequest]) -> tuple[list[str], list[str], ConfigSource]:
    """Return the words of a request, the overrides of the sweep of hybrids, and the configuration files."""
    # Hybrids share the processors as the jobs of a sweep do. NumPy reads the variables when it is loaded.
    set_single_threads()
    arguments = read_flags(words)
    runs = [word for word in arguments.overrides if "=" not in word]
    own, others = divide_words(request, [word for word in arguments.overrides if "=" in word])
    return [*runs, *own], others, find_source(arguments)


def _write_command(verb: str, words: Sequence[str]) -> str:
    return shlex.join(["bakeoff", verb, *words])


def _show(request: ReportRequest, findings: DifferenceResult) -> None:
    """Write the report, or the changed rows to a CSV file and the report to the terminal."""
    from bakeoff.pipeline.commands.comparison_report.kept_report import SUFFIX

    output = request.output
    form = DIFFERENCE.find_format(output, request.to)
    if output is not None and request.to is None and form == CSV:
        write_table(findings.rows, output)
        print_note(f"the rows are in {output}")
        output = None
        form = TERMINAL
    write_report(findings.report, form, output, partial(findings.render, form))
    if request.keep and not findings.is_plan:
        experiment = request.tracking__experiment
        kept = findings.keep(experiment)
        print_note(f"kept as run {kept.run_id} of experiment {experiment}{SUFFIX}")
