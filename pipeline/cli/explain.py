"""``bakeoff explain``: why a model predicts what it does, over all rows and for one."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.pipeline.cli.arguments import parse_arguments, read_list, require_writable_output
from bakeoff.pipeline.errors import UserError

if TYPE_CHECKING:
    from bakeoff.pipeline.explanation import Subject

KEYS = ("row", "columns", "output", "trust", "dataset", "dataset.path", "tracking.uri", "tracking.experiment")
NO_PAGE = "none"
PAGE_SUFFIXES = (".html", ".htm")


def explain_model(words: Sequence[str]) -> int:
    """Print why a model predicts what it does, and write a page of it.

    Parameters
    ----------
    words : sequence of str
        ``RUN``, then ``row=N``, ``columns=[COLUMN,...]``, ``output=FILE.html`` or ``output=none``, ``trust=[PACKAGE]``,
        ``dataset=NAME``, ``dataset.path=FILE``, ``tracking.uri=URI`` and ``tracking.experiment=NAME``.

    Raises
    ------
    UserError
        There is no such run, row or column, the dataset has changed, or the page cannot be written.
    """
    (word, *_), values = parse_arguments("explain", words, ["RUN"], KEYS, rest="FILE")
    _require_page(values)
    number = _read_row(values.get("row"))
    columns = read_list(values.get("columns", ""))

    from bakeoff.pipeline.cli.explanation_report import print_explanation
    from bakeoff.pipeline.explanation import explain_model as explain
    from bakeoff.pipeline.explanation import write_page

    subject = _find_subject(word, values, number)
    explanation = explain(subject, columns)
    print_explanation(explanation)
    if values.get("output") != NO_PAGE:
        target = Path(values.get("output", f"{subject.file_stem}.explanation.html")).expanduser()
        write_page(explanation, target)
        print(f"\npage: {target}")
    return 0


def _require_page(values: Mapping[str, str]) -> None:
    output = values.get("output")
    if output is None or output == NO_PAGE:
        return
    if Path(output).suffix.lower() not in PAGE_SUFFIXES:
        raise UserError(f"explain: output={output!r} must end in .html, or be none, which writes no page.")
    require_writable_output("explain", values)


def _read_row(given: str | None) -> int | None:
    if given is None:
        return None
    if not given.isdigit():
        raise UserError(f"explain: row={given!r} must be the number of a row, from 0 as in predictions.csv.")
    return int(given)


def _find_subject(word: str, values: Mapping[str, str], number: int | None) -> Subject:
    from bakeoff.pipeline.cli.screen import Screen
    from bakeoff.pipeline.explanation import make_run_subject
    from bakeoff.pipeline.refit import load_run, refit_run
    from bakeoff.pipeline.tracking.find_run import find_run_id
    from bakeoff.pipeline.tracking.store import open_store

    store = open_store(values.get("tracking.uri"), values.get("tracking.experiment", "bakeoff"), create=False)
    run_id = find_run_id(store, word, "explain", values.get("dataset", ""))
    run = load_run(store, run_id, read_list(values.get("trust", "")), values.get("dataset.path"))
    print(f"fitting run {run.stored.run_id} ({run.stored.name}) again", file=sys.stderr)
    folds, model = refit_run(run, Screen().track_folds)
    return make_run_subject(run, folds, model, number)
