"""``bakeoff explain``: why a model predicts what it does."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.pipeline.cli.arguments import parse_arguments, read_list
from bakeoff.pipeline.cli.output_file import name_file, replace_file, require_output
from bakeoff.pipeline.cli.rows_of_file import LAYOUT_KEYS, NA_VALUES, make_rules, read_rows
from bakeoff.pipeline.config.trust.trusted_packages import read_trust
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.paths import expand_home
from bakeoff.pipeline.text.terminal import show_controls

if TYPE_CHECKING:
    from bakeoff.pipeline.explanation import FileRows, Subject
    from bakeoff.pipeline.model import Model
    from bakeoff.pipeline.refit import LoadedRun
    from bakeoff.pipeline.tracking.store import Store

FILE_KEYS = (*LAYOUT_KEYS, NA_VALUES)
KEYS = (
    "columns",
    "output",
    "trust",
    "dataset",
    "dataset.path",
    "tracking.uri",
    "tracking.experiment",
    *FILE_KEYS,
)
NO_PAGE = "none"
PAGE_SUFFIXES = (".html", ".htm")
VERB = "explain"


def explain_model(words: Sequence[str]) -> int:
    """Print why a model predicts what it does, and write a page of it.

    Parameters
    ----------
    words : sequence of str
        ``MODEL [FILE]``, then ``columns=[COLUMN,...]``, ``output=FILE.html`` or ``output=none``,
        ``trust=[PACKAGE]``, ``dataset=NAME``, ``dataset.path=FILE``, ``tracking.uri=URI`` and
        ``tracking.experiment=NAME``; keys of the file as in ``conf/dataset/file.yaml``. MODEL is a run or the name of a
        registered model. Without a FILE, it is explained on the rows of its dataset.

    Raises
    ------
    UserError
        There is no such model, file or column, the dataset has changed, or the page cannot be written.
    """
    (word, *files), values = parse_arguments(VERB, words, ["MODEL"], KEYS, rest="FILE")
    _require_files(files, values)
    _require_page(values, files)
    columns = tuple(read_list(values.get("columns", "")))

    from bakeoff.pipeline.explanation import explain_model as explain
    from bakeoff.pipeline.explanation import write_page
    from bakeoff.pipeline.explanation.terminal import print_explanation
    from bakeoff.pipeline.tracking.store import open_store

    store = open_store(
        values.get("tracking.uri"), values.get("tracking.experiment", "bakeoff"), create=False, read_only=True
    )
    if files:
        subject = _find_file_subject(store, word, expand_home(files[0]), values, columns)
    else:
        subject = _find_subject(store, word, values, columns)
    explanation = explain(subject, columns)
    print_explanation(explanation)
    if values.get("output") != NO_PAGE:
        target = expand_home(values.get("output", f"{name_file(subject.file_stem)}.explanation.html"))
        with replace_file(VERB, target) as temporary:
            write_page(explanation, temporary)
        print(f"\npage: {target}")
    return 0


def _require_files(files: Sequence[str], values: Mapping[str, str]) -> None:
    if len(files) > 1:
        raise UserError(f"{VERB}: {len(files)} files were given ({', '.join(files)}); name one, or none.")
    of_files = [key for key in FILE_KEYS if key in values]
    if of_files and not files:
        raise UserError(f"{VERB}: {of_files[0]} is a key of a file, and no file was named.")


def _require_page(values: Mapping[str, str], files: Sequence[str]) -> None:
    output = values.get("output")
    if output is None or output == NO_PAGE:
        return
    target = expand_home(output)
    if target.suffix.lower() not in PAGE_SUFFIXES:
        raise UserError(f"{VERB}: output={output!r} must end in .html, or be none, which writes no page.")
    require_output(VERB, target, [expand_home(file) for file in files], values.get("tracking.uri"))


def _find_subject(store: Store, word: str, values: Mapping[str, str], columns: Sequence[str]) -> Subject:
    """Fit the folds of a run again, and return it or the registered model that comes from it."""
    from bakeoff.pipeline.explanation import make_run_subject, make_version_subject, require_columns
    from bakeoff.pipeline.refit import load_run, refit_run
    from bakeoff.pipeline.sweep.run_screen import RunScreen
    from bakeoff.pipeline.tracking.find_run import find_run_and_version

    trust = read_trust(values.get("trust", ""))
    run_id, version = find_run_and_version(store, word, VERB, values.get("dataset", ""))
    run = load_run(store, run_id, trust, values.get("dataset.path"))
    # Whatever can be refused is refused before the folds are fitted, which may take long.
    require_columns(columns, [str(name) for name in run.experiment.dataset.X.columns])
    model = None if version is None else _load_model(word, values)
    print(f"fitting run {run.stored.run_id} ({run.stored.name}) again", file=sys.stderr)
    folds, run_model = refit_run(run, RunScreen().track_folds)
    if model is None:
        return make_run_subject(run, folds, run_model)
    _print_notes(model.notes)
    return make_version_subject(model, run, folds)


def _find_file_subject(
    store: Store, word: str, file: Path, values: Mapping[str, str], columns: Sequence[str]
) -> Subject:
    """Load a stored model and the rows of a file."""
    from bakeoff.pipeline.explanation import make_file_subject, require_columns

    model = _load_model(word, values)
    require_columns(columns, model.record.features)
    run, reason = _find_run(store, model, values)
    rows, notes = _read_file(model, file, values, model.record.target)
    _print_notes([*model.notes, *notes])
    return make_file_subject(model, rows, run, reason)


def _load_model(word: str, values: Mapping[str, str]) -> Model:
    from bakeoff.pipeline.tracking import load_model

    return load_model(
        word,
        values.get("tracking.uri"),
        values.get("tracking.experiment", "bakeoff"),
        values.get("dataset", ""),
        read_trust(values.get("trust", "")),
        VERB,
    )


def _read_file(model: Model, file: Path, values: Mapping[str, str], target: str) -> tuple[FileRows, Sequence[str]]:
    """Return the rows of a file, and what is to be said of how they were read."""
    from bakeoff.pipeline.explanation import convert_file_rows
    from bakeoff.pipeline.stages.dataset import require_file

    try:
        require_file(file)
        raw = read_rows(file, values, model.record)
        rules = make_rules(values, model.record.dataset_config)
        rows = convert_file_rows(model, file.name, raw.frame, rules, target)
    except UserError as error:
        # The keys of a dataset have the same names here, without the group.
        message = str(error).removeprefix(f"{VERB}: ").replace("dataset.", "")
        raise UserError(f"{VERB}: {message}") from None
    return rows, [note.replace("dataset.", "") for note in raw.notes]


def _find_run(store: Store, model: Model, values: Mapping[str, str]) -> tuple[LoadedRun | None, str]:
    """Return the run that a model comes from, or why it cannot be built again."""
    from bakeoff.pipeline.refit import load_run

    trust = read_trust(values.get("trust", ""))
    try:
        return load_run(store, model.record.run_id, trust, values.get("dataset.path")), ""
    except UserError as error:
        return None, str(error)


def _print_notes(notes: Sequence[str]) -> None:
    for note in notes:
        print(f"{VERB}: {show_controls(note)}", file=sys.stderr)
