"""Verbs for studies that others can verify: ``paper`` and ``verify``."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from bakeoff.pipeline.tables.document import Answer
from bakeoff.pipeline.text.wording import print_note, show_controls

if TYPE_CHECKING:
    from bakeoff.pipeline.commands.paper.request import PaperRequest, VerifyRequest


def write_study(request: PaperRequest) -> int:
    """Write a capsule of a study: tables, figures and text for a paper, and what others need to verify them.

    Raises
    ------
    UserError
        The runs cannot be compared or repeated, data are missing or have changed, or code needs trust.
    """
    from bakeoff.pipeline.commands.paper.capsule import compute_digest, write_capsule
    from bakeoff.pipeline.commands.paper.contents import make_capsule
    from bakeoff.pipeline.tables.output_file import CAPSULE, require_output
    from bakeoff.pipeline.tracking.store import list_store_paths

    output = require_output(request.output, CAPSULE, store=list_store_paths(request.tracking__uri))
    files, facts = make_capsule(request)
    write_capsule(output, files, facts)
    print(f"{output} with {', '.join(files)}")
    digest = compute_digest(output.read_bytes())
    print(f"Its SHA-256 is {digest}; publish it elsewhere, so that changes can be detected.")
    return 0


def verify_study(request: VerifyRequest) -> Answer:
    """Run the jobs of a capsule again in this folder, and print whether every score and table is the same.

    Returns
    -------
    Answer
        Its exit code is 0 if no score differs by more than tolerance= and all tables are identical, 1 if one does, 2 if
        no score does but a job cannot run here.

    Raises
    ------
    UserError
        The capsule cannot be checked: it was changed, needs trust, or its data are missing.
    """
    from bakeoff.pipeline.sweep.request import set_single_threads

    # NumPy reads the number of threads when it is loaded, and sweeps use one.
    set_single_threads()
    from bakeoff.pipeline.commands.paper.verify import verify_capsule

    # Standard output is reserved for the report.
    with redirect_stdout(sys.stderr):
        report = verify_capsule(request, lambda sentence: print_note(f"note: {sentence}"))
    print(show_controls("\n".join(report.sentences)))
    return Answer("verification", lambda: {"sentences": report.sentences}, report.status)
