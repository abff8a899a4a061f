"""``bakeoff reference``: makes, lists and verifies results by which others compare theirs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from bakeoff.pipeline.text.wording import print_note, show_controls

if TYPE_CHECKING:
    from bakeoff.pipeline.commands.reference.request import ReferenceRequest


def handle_references(request: ReferenceRequest) -> int:
    """Make, list or verify a reference: results that others compare theirs with by compare reference=NAME.

    Returns
    -------
    int
        0; of verify, 1 if a score or a fact differs, and 2 if none does but a job cannot run here.

    Raises
    ------
    UserError
        The runs cannot be repeated, or the reference is none, was changed, or needs trust or data.
    """
    from bakeoff.pipeline.sweep.request import set_single_threads

    # NumPy reads the number of threads when it is loaded, and sweeps use one.
    set_single_threads()
    actions: Mapping[str, Callable[[ReferenceRequest], int]] = {"list": _list, "make": _make, "verify": _verify}
    return actions[request.action](request)


def _list(request: ReferenceRequest) -> int:
    """Print the references of this folder, and those that are installed."""
    from bakeoff.pipeline.commands.reference.references import list_references
    from bakeoff.pipeline.tables.table import align_lines, make_table

    columns, rows = list_references(request)
    print(show_controls("\n".join(align_lines(make_table("", columns, rows)))))
    return 0


def _make(request: ReferenceRequest) -> int:
    """Write the runs of a sweep as a reference."""
    from bakeoff.pipeline.commands.reference.references import make_reference

    print(show_controls(make_reference(request)))
    return 0


def _verify(request: ReferenceRequest) -> int:
    """Run jobs of a reference again, and keep with the store when this was done, and what differed."""
    from bakeoff.pipeline.commands.reference.references import verify_reference

    with redirect_stdout(sys.stderr):
        status, sentences = verify_reference(request, lambda sentence: print_note(f"note: {sentence}"))
    print(show_controls("\n".join(sentences)))
    return status
