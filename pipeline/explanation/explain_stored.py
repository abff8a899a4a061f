"""The explanation of a stored run or model, on the rows of its dataset or of a file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from bakeoff.pipeline.explanation.explain_model import Explanation, Subject, explain_model, require_columns
from bakeoff.pipeline.explanation.report import render_page
from bakeoff.pipeline.explanation.request import NO_PAGE, ExplainRequest
from bakeoff.pipeline.model.further_rows import convert_rows, hiding_groups, make_rules, read_rows
from bakeoff.pipeline.model.permutation import ScoredPart, list_scored_parts
from bakeoff.pipeline.model.pyfunc import Model
from bakeoff.pipeline.model.training_record import make_training_record
from bakeoff.pipeline.replay.refit import LoadedRun, load_run, refit_run
from bakeoff.pipeline.stages.dataset.convert import convert_like
from bakeoff.pipeline.stages.dataset.files import require_file
from bakeoff.pipeline.stages.dataset.guesses import leave_out_guesses
from bakeoff.pipeline.stages.dataset.keys import ColumnRules
from bakeoff.pipeline.stages.dataset.numerals import settle_numerals
from bakeoff.pipeline.sweep.work import ShowWork
from bakeoff.pipeline.tables.output_file import name_file, replace_file, require_output
from bakeoff.pipeline.text.wording import count_nouns, expand_home
from bakeoff.pipeline.tracking.loading import load_model
from bakeoff.pipeline.tracking.names import find_run_id, find_version
from bakeoff.pipeline.tracking.store import list_store_paths, open_store

SHOWN_LETTERS = 8
"""The number of characters shown of a run id, which suffice to name the run on the command line."""


def explain_stored(
    request: ExplainRequest, show_work: ShowWork, announce: Callable[[str], None]
) -> tuple[Explanation, Path | None]:
    """Explain a stored model, write the page, and return the explanation and the path of the page.

    Parameters
    ----------
    request : ExplainRequest
    show_work : callable
        Shows how much of a run that is fitted again is done.
    announce : callable
        Receives a sentence before such a fit, which may take long, and sentences on the model and the file.

    Raises
    ------
    UserError
        The model, file or column does not exist, the dataset has changed, or the page cannot be written.
    """
    if request.output not in (None, NO_PAGE):
        inputs = [] if request.file is None else [request.file]
        require_output(str(request.output), inputs, list_store_paths(request.tracking__uri))
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    run = load_run(store, find_run_id(store, request.run, request.dataset), request.trust, request.dataset__path)
    # Invalid requests are refused before the folds are fitted, which may take long.
    require_columns(request.columns, [str(name) for name in run.experiment.dataset.X.columns])
    is_registered = find_version(store, request.run) is not None
    model = None
    if is_registered or request.file is not None:
        uri, experiment = request.tracking__uri, request.tracking__experiment
        model = load_model(request.run, uri, experiment, request.dataset, request.trust)
        for note in model.notes:
            announce(f"explain: {note}")
    if model is not None and request.file is not None:
        subject = _make_file_subject(run, model, request.file, request, announce)
    else:
        announce(f"fitting run {run.stored.run_id} ({run.stored.name}) again")
        subject = _make_subject(run, model, show_work)
    explanation = explain_model(subject, request.columns)
    if request.output == NO_PAGE:
        return explanation, None
    page = expand_home(request.output or f"{name_file(subject.file_stem)}.explanation.html")
    with replace_file(page) as temporary:
        temporary.write_text(render_page(explanation), encoding="utf-8")
    return explanation, page


def _make_subject(run: LoadedRun, shipped: Model | None, show_work: ShowWork) -> Subject:
    """Fit a run again, and return it, or the model registered from it, with the rows of its dataset."""
    folds, fitted = refit_run(run, show_work)
    parts, parts_words = list_scored_parts(run.experiment, folds)
    X = run.experiment.dataset.X
    run_id = run.stored.run_id[:SHOWN_LETTERS]
    make = partial(Subject, experiment=run.experiment, parts=parts, parts_words=parts_words)
    if shipped is None:
        rows = X.iloc[np.unique(fitted.split.train)]
        return make(
            name=f"run {run_id} ({run.stored.name})",
            model=fitted.predictor,
            record=make_training_record(run.experiment, fitted),
            rows=rows,
            rows_words=f"the {len(rows):,} rows that the model was fitted on",
            file_stem=run_id,
        )
    # A model fitted on all rows, or all but a validation part, has no rows left on which to measure importances.
    return make(
        name=f"{shipped.name} (run {run_id}, {run.stored.name})",
        model=shipped.estimator,
        record=shipped.record,
        rows=X,
        rows_words=f"the {len(X):,} rows of the dataset",
        facts=(
            f"The model has no test rows: the importances are those of run {run_id}, which used the same "
            "procedure. Everything else describes the model itself.",
        ),
        file_stem=shipped.name.replace(", version ", "-"),
    )


def _make_file_subject(
    run: LoadedRun, model: Model, file: Path, request: ExplainRequest, announce: Callable[[str], None]
) -> Subject:
    """Return a stored model with the rows of a file."""
    record = model.record
    with hiding_groups():
        require_file(file)
        raw = read_rows(file, request.layout, record)
        rules = make_rules(record, request.layout)
        converted = convert_rows(record, raw.frame, rules)
        X = converted.frame
        truth = _read_truth(model, raw.frame, rules)
    for note in leave_out_guesses((*raw.notes, *converted.notes)):
        announce(f"explain: {note.replace('dataset.', '')}")
    is_known = ~pd.isna(truth)
    n_known = int(is_known.sum())
    known = truth[is_known].astype(run.experiment.dataset.y.dtype)
    return Subject(
        name=model.name or f"run {record.run_id[:SHOWN_LETTERS]} ({record.run_name})",
        model=model.estimator,
        record=record,
        experiment=run.experiment,
        rows=X,
        rows_words=f"the {len(X):,} rows of {file.name}",
        parts=[ScoredPart(model.estimator, X[is_known], known)] if n_known > 1 else [],
        parts_words=f"the {n_known:,} of {len(X):,} rows of {file.name} whose {record.target} is known to the model",
        facts=tuple(_compare_with_dataset(X, run)),
        file_stem=file.stem,
    )


def _read_truth(model: Model, frame: pd.DataFrame, rules: ColumnRules) -> np.ndarray:
    """Return the targets of the rows of a file; targets that are absent or unknown to the model are missing."""
    target = model.record.target
    truth = np.full(len(frame), None, dtype=object)
    if target not in frame.columns:
        return truth
    cells = frame[target]
    columns = [column for column in model.record.columns if column.name == target]
    if columns:
        settled = settle_numerals(frame[[target]], rules, "the rows").rules
        cells = convert_like(frame, columns, settled).frame[target]
    if not hasattr(model.estimator, "classes_"):
        return pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64)
    labels = {str(label): label for label in model.estimator.classes_}
    truth[:] = [labels.get(str(cell).strip()) for cell in cells]
    return truth


def _compare_with_dataset(X: pd.DataFrame, run: LoadedRun) -> list[str]:
    """Return how many rows of a file occur in the dataset, where scores and importances are optimistic."""
    dataset = run.experiment.dataset
    # The text of the cells is compared, so that types and categories do not matter.
    codes, codes_of_dataset = (
        pd.util.hash_pandas_object(rows.astype(object).where(rows.notna(), None).astype(str), index=False)
        for rows in (X, dataset.X)
    )
    n_copies = int(codes.isin(codes_of_dataset).sum())
    if not n_copies:
        return []
    copies = count_nouns(n_copies, "row of the file is equal to a row", "rows of the file are equal to rows")
    return [f"{copies} of {dataset.name}; on these, the importances reflect memorized training rows."]
