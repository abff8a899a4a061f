"""The explanation of a stored run or model, on the rows of its dataset or of a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment.results import ShowProgress
from bakeoff.pipeline.explanation.explain_model import Subject, explain_model, require_columns
from bakeoff.pipeline.explanation.explanation import Explanation
from bakeoff.pipeline.explanation.file_rows import convert_file_rows
from bakeoff.pipeline.explanation.page import write_page
from bakeoff.pipeline.explanation.request import NO_PAGE, ExplainRequest
from bakeoff.pipeline.explanation.subjects import make_file_subject, make_run_subject, make_version_subject
from bakeoff.pipeline.model import Model
from bakeoff.pipeline.model.rows_of_file import hiding_groups, make_rules, read_rows
from bakeoff.pipeline.replay.refit import LoadedRun, load_run, refit_run
from bakeoff.pipeline.stages.dataset import require_file
from bakeoff.pipeline.tables.output_file import name_file, replace_file, require_output
from bakeoff.pipeline.text.words import expand_home
from bakeoff.pipeline.tracking.find_run import find_run_and_version
from bakeoff.pipeline.tracking.loading import load_model
from bakeoff.pipeline.tracking.store import Store, list_store_paths, open_store


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
    target = expand_home(request.output or f"{name_file(subject.file_stem)}.explanation.html")
    with replace_file(target) as temporary:
        write_page(explanation, temporary)
    return explanation, target


def _find_subject(
    store: Store, request: ExplainRequest, show_progress: ShowProgress, announce: Callable[[str], None]
) -> Subject:
    """Fit the folds of a run again, and return it or the registered model that comes from it."""
    run_id, version = find_run_and_version(store, request.run, request.dataset)
    run = load_run(store, run_id, request.trust, request.dataset__path)
    # Whatever can be refused is refused before the folds are fitted, which may take long.
    require_columns(request.columns, [str(name) for name in run.experiment.dataset.X.columns])
    model = None if version is None else _load_model(request)
    announce(f"fitting run {run.stored.run_id} ({run.stored.name}) again")
    folds, run_model = refit_run(run, show_progress)
    if model is None:
        return make_run_subject(run, folds, run_model)
    for note in model.notes:
        announce(f"explain: {note}")
    return make_version_subject(model, run, folds)


def _find_file_subject(store: Store, request: ExplainRequest, file: Path, announce: Callable[[str], None]) -> Subject:
    """Load a stored model and the rows of a file."""
    model = _load_model(request)
    require_columns(request.columns, model.record.features)
    run, reason = _find_run(store, model, request)
    with hiding_groups():
        require_file(file)
        raw = read_rows(file, request.layout, model.record)
        rules = make_rules(request.layout, model.record.dataset_config)
        rows = convert_file_rows(model, file.name, raw.frame, rules, model.record.target)
    for note in [*model.notes, *raw.notes]:
        announce(f"explain: {note.replace('dataset.', '')}")
    return make_file_subject(model, rows, run, reason)


def _load_model(request: ExplainRequest) -> Model:
    return load_model(
        request.run,
        request.tracking__uri,
        request.tracking__experiment,
        request.dataset,
        request.trust,
    )


def _find_run(store: Store, model: Model, request: ExplainRequest) -> tuple[LoadedRun | None, str]:
    """Return the run that a model comes from, or why it cannot be built again."""
    try:
        return load_run(store, model.record.run_id, request.trust, request.dataset__path), ""
    except UserError as error:
        return None, str(error)
