"""``bakeoff explain``: why a model predicts what it does."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.config.requests import read_request
from bakeoff.pipeline.explanation.request import ExplainRequest
from bakeoff.pipeline.text.terminal import print_note


def explain_model(words: Sequence[str]) -> int:
    """Print why a model predicts what it does, and write a page of it.

    Raises
    ------
    UserError
        There is no such model, file or column, the dataset has changed, or the page cannot be written.
    """
    request = read_request("explain", ExplainRequest, words)

    from bakeoff.pipeline.explanation.explain_stored import explain_stored
    from bakeoff.pipeline.explanation.report import print_explanation
    from bakeoff.pipeline.sweep.run_screen import RunScreen

    explanation, page = explain_stored(request, RunScreen().track_folds, print_note)
    print_explanation(explanation)
    if page is not None:
        print(f"\npage: {page}")
    return 0
