"""The explanation of a stored run or model, on the rows of its dataset or of a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import FittedModel, FoldResult
from bakeoff.pipeline.experiment.results import ShowProgress
from bakeoff.pipeline.explanation.explain_model import Explanation, Subject, explain_model, require_columns
from bakeoff.pipeline.explanation.importances import ScoredPart
from bakeoff.pipeline.explanation.report import render_page
from bakeoff.pipeline.explanation.request import NO_PAGE, ExplainRequest
from bakeoff.pipeline.explanation.scored_rows import list_scored_parts
from bakeoff.pipeline.model.further_rows import convert_rows, hiding_groups, make_rules, read_rows
from bakeoff.pipeline.model.served_model import Model
from bakeoff.pipeline.model.training_record import make_training_record
from bakeoff.pipeline.replay.refit import LoadedRun, load_run, refit_run
from bakeoff.pipeline.stages.dataset import ColumnRules, convert_like, require_file
from bakeoff.pipeline.tables.output_file import name_file, replace_file, require_output
from bakeoff.pipeline.text.words import count_nouns, expand_home
from bakeoff.pipeline.tracking.find_run import find_run_id
from bakeoff.pipeline.tracking.loading import load_model
from bakeoff.pipeline.tracking.registry import find_version
from bakeoff.pipeline.tracking.store import Store, list_store_paths, open_store

SHOWN_LETTERS = 8
"""Of the id of a run; as many name it on the command line."""


def explain_stored(
    request: ExplainRequest, show_progress: ShowProgress, announce: Callable[[str], None]
) -> tuple[Explanation, Path | None]:
    """Explain a stored model, write the page, and return the explanation and the file of the page.

    Parameters
    ----------
    request : ExplainRequest
    show_progress : ShowProgress
        Of the folds of a run that is fitted again.
    announce : callable
        Receives a sentence before such a fit, which may take long, and those on the model and the file.

    Raises
    ------
    UserError
        There is no such model, file or column, the dataset has changed, or the page cannot be written.
    """
    if request.output not in (None, NO_PAGE):
        inputs = [] if request.file is None else [request.file]
        require_output(str(request.output), inputs, list_store_paths(request.tracking__uri))
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False, read_only=True)
    if request.file is None:
        subject = _find_subject(store, request, show_progress, announce)
    else:
        subject = _find_file_subject(store, request, request.file, announce)
    explanation = explain_model(subject, request.columns)
    if request.output == NO_PAGE:
        return explanation, None
    page = expand_home(request.output or f"{name_file(subject.file_stem)}.explanation.html")
    with replace_file(page) as temporary:
        temporary.write_text(render_page(explanation), encoding="utf-8")
    return explanation, page


def _find_subject(
    store: Store, request: ExplainRequest, show_progress: ShowProgress, announce: Callable[[str], None]
) -> Subject:
    """Fit the folds of a run again, and return it or the registered model that comes from it."""
    run_id = find_run_id(store, request.run, request.dataset)
    version = find_version(store, request.run)
    run = load_run(store, run_id, request.trust, request.dataset__path)
    # Whatever can be refused is refused before the folds are fitted, which may take long.
    require_columns(request.columns, [str(name) for name in run.experiment.dataset.X.columns])
    shipped = None if version is None else _load_model(request)
    announce(f"fitting run {run.stored.run_id} ({run.stored.name}) again")
    folds, fitted = refit_run(run, show_progress)
    for note in () if shipped is None else shipped.notes:
        announce(f"explain: {note}")
    return _make_subject(run, folds, fitted, shipped)


def _make_subject(run: LoadedRun, folds: Sequence[FoldResult], fitted: FittedModel, shipped: Model | None) -> Subject:
    """Return the subject of an explanation: a run that was fitted again, or the model registered from it."""
    dataset = run.experiment.dataset
    parts, parts_words = list_scored_parts(run.experiment, folds)
    run_id = run.stored.run_id[:SHOWN_LETTERS]
    make = partial(Subject, experiment=run.experiment, parts=parts, parts_words=parts_words)
    if shipped is None:
        X = dataset.X.iloc[np.unique(fitted.split.train)]
        return make(
            name=f"run {run_id} ({run.stored.name})",
            model=fitted.predictor,
            record=make_training_record(run.experiment, fitted),
            background=X,
            rows=X,
            rows_words=f"the {len(X):,} rows that the model was fitted on",
            file_stem=run_id,
        )
    # Fitted on all rows, or all but a validation part, it has no rows left to measure importances on.
    is_on_all = shipped.record.is_fitted_on_all_rows
    which = "that the model was fitted on" if is_on_all else f"of {dataset.name}, from which the model was made"
    return make(
        name=f"{shipped.name} (run {run_id}, {run.stored.name})",
        model=shipped.estimator,
        record=shipped.record,
        background=dataset.X,
        rows=dataset.X,
        rows_words=f"the {len(dataset.X):,} rows {which}",
        facts=(
            f"The model has no test rows: importances are those of run {run_id}, whose procedure it was fitted by. "
            "Everything else is of the model itself.",
        ),
        file_stem=shipped.name.replace(", version ", "-"),
    )


def _find_file_subject(store: Store, request: ExplainRequest, file: Path, announce: Callable[[str], None]) -> Subject:
    """Load a stored model and the rows of a file, on which it is explained."""
    model = _load_model(request)
    record = model.record
    require_columns(request.columns, record.features)
    try:
        run = load_run(store, record.run_id, request.trust, request.dataset__path)
        reason = ""
    except UserError as error:
        run, reason = None, str(error)
    with hiding_groups():
        require_file(file)
        raw = read_rows(file, request.layout, record)
        rules = make_rules(record, request.layout)
        X = convert_rows(record, raw.frame, rules).frame
        truth = _read_truth(model, raw.frame, rules)
    for note in [*model.notes, *raw.notes]:
        announce(f"explain: {note.replace('dataset.', '')}")
    words = f"the {len(X):,} rows of {file.name}"
    parts, parts_words = _list_file_parts(model, X, truth, file.name, run)
    return Subject(
        name=model.name or f"run {record.run_id[:SHOWN_LETTERS]} ({record.run_name})",
        model=model.estimator,
        record=record,
        experiment=None if run is None else run.experiment,
        background=X if run is None else _select_fitted_rows(model, run),
        rows=X,
        rows_words=words,
        parts=parts,
        parts_words=parts_words,
        facts=(f"Explained on {words}.", *_compare_with_dataset(X, run, reason)),
        file_stem=file.stem or file.name,
    )


def _load_model(request: ExplainRequest) -> Model:
    """Load the model of a run or a registered name."""
    uri, experiment = request.tracking__uri, request.tracking__experiment
    return load_model(request.run, uri, experiment, request.dataset, request.trust)


def _read_truth(model: Model, frame: pd.DataFrame, rules: ColumnRules) -> np.ndarray | None:
    """Return the targets of the rows of a file, missing where the model knows no such class; None without a column."""
    target = model.record.target
    if target not in frame.columns:
        return None
    cells = frame[target]
    known = [column for column in model.record.columns if column.name == target]
    if known:
        cells = convert_like(frame, known, rules).frame[target]
    if not hasattr(model.estimator, "classes_"):
        return pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64)
    labels = {str(label): label for label in model.estimator.classes_}
    truth = np.empty(len(cells), dtype=object)
    truth[:] = [labels.get(str(cell).strip()) for cell in cells]
    return truth


def _list_file_parts(
    model: Model, X: pd.DataFrame, truth: np.ndarray | None, name: str, run: LoadedRun | None
) -> tuple[list[ScoredPart], str]:
    """Return the rows of a file with known targets, and which these are, or why there are none."""
    target = model.record.target
    if truth is None:
        return [], f"{name} has no column {target!r}, so that there is nothing to score"
    if run is None:
        return [], "the score of the run needs its dataset, which is not there"
    is_known = ~pd.isna(truth)
    n_known = int(is_known.sum())
    if n_known < 2:
        return [], f"{n_known} rows of {name} have a {target} that the model knows"
    rest = f" whose {target} the model knows, of {len(X):,}" if n_known < len(X) else ""
    known = truth[is_known].astype(run.experiment.dataset.y.dtype)
    return [ScoredPart(model.estimator, X[is_known], known)], f"the {n_known:,} rows of {name}{rest}"


def _select_fitted_rows(model: Model, run: LoadedRun) -> pd.DataFrame:
    """Return the rows that a model was fitted on; of a registered one, all rows that it was made from."""
    X = run.experiment.dataset.X
    split = run.splits.refit or run.splits.folds[-1]
    return X if model.name else X.iloc[np.unique(split.train)]


def _compare_with_dataset(X: pd.DataFrame, run: LoadedRun | None, reason: str) -> list[str]:
    """Return how many rows of a file are rows of the dataset, on which scores and importances are optimistic."""
    if run is None:
        return [f"The rows that the model was fitted on are not there; those of the file stand for them. {reason}"]
    dataset = run.experiment.dataset
    n_copies = int(_hash_rows(X).isin(_hash_rows(dataset.X)).sum())
    if not n_copies:
        return []
    copies = count_nouns(n_copies, "row of the file is equal to a row", "rows of the file are equal to rows")
    return [
        f"{copies} of {dataset.name}, which the model may have been fitted on: on them, importances are those of what "
        "it remembers."
    ]


def _hash_rows(X: pd.DataFrame) -> pd.Series:
    """Return a code for each row, by the text of its cells, so that types and categories do not matter."""
    text = X.astype(object).where(X.notna(), None).astype(str)
    return pd.util.hash_pandas_object(text, index=False)
