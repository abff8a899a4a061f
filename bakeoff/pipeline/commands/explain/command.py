"""``bakeoff explain``: which columns the predictions of a model rely on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bakeoff.pipeline.config.requests import RefitRequest
from bakeoff.pipeline.tables.document import Answer
from bakeoff.pipeline.text.wording import print_note


@dataclass(frozen=True, kw_only=True)
class ExplainRequest(RefitRequest):
    """A model to explain.

    Attributes
    ----------
    columns : tuple of str
        Columns whose partial dependence is shown; by default the most important ones.
    output : Path or None
        The file to which the page is written, or none for no page; by default it is named after the run or model.
    """

    columns: tuple[str, ...] = ()
    output: Path | None = None


def explain_model(request: ExplainRequest) -> Answer:
    """Print an explanation of a model and write it to a page.

    Raises
    ------
    UserError
        The model, file or column does not exist, the dataset has changed, or the page cannot be written.
    """
    from bakeoff.pipeline.sweep.request import set_single_threads

    # The many products of small matrices are slower with several threads. NumPy reads their number when it is loaded.
    set_single_threads()
    from bakeoff.pipeline.commands.explain.explain_stored import explain_stored
    from bakeoff.pipeline.commands.explain.report import print_explanation
    from bakeoff.pipeline.sweep.run_screen import RunScreen

    with RunScreen().make_bar() as bar:
        explanation, page = explain_stored(request, request.columns, request.output, bar.show_work, print_note)
    print_explanation(explanation)
    if page is not None:
        print(f"\npage: {page}")
    return Answer("explanation", lambda: {**vars(explanation), "outputs": explanation.outputs.words, "page": page})
