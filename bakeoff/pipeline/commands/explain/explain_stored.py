"""The explanation of a stored run or model, on the rows of its dataset."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from bakeoff.pipeline.commands.explain.explain_model import Explanation, Subject, explain_model, require_columns
from bakeoff.pipeline.commands.explain.report import render_page
from bakeoff.pipeline.commands.repetition.refit import LoadedRun, load_run, refit_run
from bakeoff.pipeline.config.requests import RefitRequest
from bakeoff.pipeline.model import permutation, pyfunc, training_record
from bakeoff.pipeline.sweep.jobs import ShowWork
from bakeoff.pipeline.tables.output_file import EXPLANATION, NO_FILE, name_file, require_output, write_whole
from bakeoff.pipeline.text.wording import shorten_id
from bakeoff.pipeline.tracking import models, names
from bakeoff.pipeline.tracking.store import list_store_paths


def explain_stored(
    request: RefitRequest,
    columns: Sequence[str],
    output: Path | None,
    show_work: ShowWork,
    announce: Callable[[str], None],
) -> tuple[Explanation, Path | None]:
    """Explain a stored model, write the page, and return the explanation and the path of the page.

    Parameters
    ----------
    request : RefitRequest
    columns : sequence of str
        Columns whose partial dependence is shown; the most important ones if there are none.
    output : Path or None
        The file of the page, or `NO_FILE`; by default it is named after the run or model.
    show_work : callable
        Shows how much of a run that is fitted again is done.
    announce : callable
        Receives a sentence before such a fit, which may take long, and sentences on the model.

    Raises
    ------
    UserError
        The model or the column does not exist, the dataset has changed, or the page cannot be written.
    """
    require_page = partial(require_output, kind=EXPLANATION, store=list_store_paths(request.tracking__uri))
    page = None if output in (None, NO_FILE) else require_page(output)
    store, run = load_run(request)
    # Invalid requests are refused before the folds are fitted, which may take long.
    require_columns(columns, [str(name) for name in run.experiment.dataset.X.columns])
    model = None
    if names.find_version(store, request.run) is not None:
        model = models.load_model(request)
        for note in model.notes:
            announce(f"explain: {note}")
    if output is None:
        file_stem = shorten_id(run.stored.run_id) if model is None else model.name.replace(", version ", "-")
        page = require_page(f"{name_file(file_stem)}.explanation.html")
    announce(f"fitting run {run.stored.run_id} ({run.stored.name}) again")
    subject = _make_subject(run, model, show_work)
    explanation = explain_model(subject, columns)
    if page is not None:
        write_whole(page, render_page(explanation))
    return explanation, page


def _make_subject(run: LoadedRun, shipped: pyfunc.Model | None, show_work: ShowWork) -> Subject:
    """Fit a run again, and return it, or the model registered from it, with the rows of its dataset."""
    folds, fitted = refit_run(run, show_work)
    parts, parts_words = permutation.list_scored_parts(run.experiment, folds)
    X = run.experiment.dataset.X
    run_id = shorten_id(run.stored.run_id)
    make = partial(Subject, experiment=run.experiment, parts=parts, parts_words=parts_words)
    if shipped is None:
        rows = X.iloc[np.unique(fitted.split.train)]
        return make(
            name=f"run {run_id} ({run.stored.name})",
            model=fitted.predictor,
            record=training_record.make_training_record(run.experiment, fitted),
            rows=rows,
            rows_words=f"the {len(rows):,} rows that the model was fitted on",
        )
    # A model fitted on all rows, or all but a validation part, has no rows left on which to measure importances.
    return make(
        name=f"{shipped.name} (run {run_id}, {run.stored.name})",
        model=shipped.estimator,
        record=shipped.record,
        rows=X,
        rows_words=f"the {len(X):,} rows of the dataset",
        facts=(
            f"The model has no test rows: the importances come from run {run_id}, which used the same "
            "procedure. Everything else describes the model itself.",
        ),
    )
