"""``bakeoff doctor``: what a careful colleague would say about a run or a study."""

from dataclasses import asdict

from bakeoff.pipeline.commands.doctor.request import DIAGNOSIS, DoctorRequest
from bakeoff.pipeline.sweep.request import set_single_threads
from bakeoff.pipeline.tables.document import Answer
from bakeoff.pipeline.text.wording import print_note

EXIT_FOUND = 1


def examine(request: DoctorRequest) -> Answer:
    """Examine a run or a sweep by all checks, and print each finding with its code and its cure.

    Returns
    -------
    Answer
        Its exit code is 1 if a finding has the severity of fail_on=, else 0.

    Raises
    ------
    UserError
        The run or the sweep does not exist, a check is unknown, or the file cannot be written.
    """
    from bakeoff.pipeline.commands.comparison_report.delivery import require_report_output, write_report

    set_single_threads()
    require_report_output(request.output, DIAGNOSIS, request.tracking__uri)
    from bakeoff.pipeline.commands.doctor.diagnosis import diagnose

    diagnosis = diagnose(request, print_note)
    write_report(diagnosis.report, request.form, request.output, lambda: diagnosis.render(request.form))
    status = EXIT_FOUND if diagnosis.fails(request.fail_on) else 0
    return Answer("diagnosis", lambda: asdict(diagnosis), status)


def read_pages() -> dict[str, str]:
    """Return the page of each check by its code."""
    from bakeoff.pipeline.commands.doctor.diagnosis import list_checks

    return {check.code: check.page for check in list_checks()}
