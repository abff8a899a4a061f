"""``bakeoff explain``: which columns the predictions of a model rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bakeoff.pipeline.text.wording import print_note

if TYPE_CHECKING:
    from bakeoff.pipeline.commands.explain.request import ExplainRequest


def explain_model(request: ExplainRequest) -> int:
    """Print an explanation of a model and write it to a page.

    Raises
    ------
    UserError
        The model, file or column does not exist, the dataset has changed, or the page cannot be written.
    """
    from bakeoff.pipeline.commands.explain.explain_stored import explain_stored
    from bakeoff.pipeline.commands.explain.report import print_explanation
    from bakeoff.pipeline.sweep.run_screen import RunScreen

    with RunScreen().make_bar() as bar:
        explanation, page = explain_stored(request, bar.show_work, print_note)
    print_explanation(explanation)
    if page is not None:
        print(f"\npage: {page}")
    return 0
