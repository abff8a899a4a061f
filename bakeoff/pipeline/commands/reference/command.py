"""``bakeoff reference``: makes, lists and verifies results by which others compare theirs."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from bakeoff.pipeline.tables.document import Answer
from bakeoff.pipeline.text.wording import print_note, show_controls

if TYPE_CHECKING:
    from bakeoff.pipeline.commands.reference.request import ReferenceRequest


def handle_references(request: ReferenceRequest) -> Answer:
    """Make, list or verify a reference: results that others compare theirs with by compare reference=NAME.

    Returns
    -------
    Answer
        Its exit code is 0; of verify, 1 if a score or a fact differs, and 2 if none does but a job cannot run here.

    Raises
    ------
    UserError
        The runs cannot be repeated, or the reference is none, was changed, or needs trust or data.
    """
    from bakeoff.pipeline.sweep.request import set_single_threads

    # NumPy reads the number of threads when it is loaded, and sweeps use one.
    set_single_threads()
    from bakeoff.pipeline.commands.reference import references

    status = 0
    # Standard output is reserved for the report.
    with redirect_stdout(sys.stderr):
        if request.action == "list":
            sentences = references.list_references(request)
        elif request.action == "make":
            sentences = [references.make_reference(request)]
        else:
            status, sentences = references.verify_reference(request, lambda note: print_note(f"note: {note}"))
    print(show_controls("\n".join(sentences)))
    return Answer("reference", lambda: {"sentences": sentences}, status)
