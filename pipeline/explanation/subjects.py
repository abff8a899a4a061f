"""What is explained: a run with the test rows of its folds, a registered model, or either on the rows of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.explanation.explain_model import Subject
from bakeoff.pipeline.explanation.file_rows import FileRows
from bakeoff.pipeline.explanation.importances import ScoredPart
from bakeoff.pipeline.explanation.scored_parts import list_scored_parts, make_scoring
from bakeoff.pipeline.model import Model, make_training_record
from bakeoff.pipeline.replay.refit import LoadedRun
from bakeoff.pipeline.text.words import count_nouns

SHOWN_LETTERS = 8
"""Of the id of a run; as many name it on the command line."""
FITTED_ROWS = "rows that the model was fitted on"


def make_run_subject(run: LoadedRun, folds: Sequence[FoldResult], model: FittedModel) -> Subject:
    """Return a run, fitted again, as what is explained.

    Parameters
    ----------
    run : LoadedRun
    folds : sequence of FoldResult
    model : FittedModel
        The run's own.
    """
    experiment = run.experiment
    dataset = experiment.dataset
    record = make_training_record(experiment, model)
    parts, parts_words = list_scored_parts(experiment, folds)
    fitted = dataset.X.iloc[np.unique(model.split.train)]
    return Subject(
        name=f"run {run.stored.run_id[:SHOWN_LETTERS]} ({run.stored.name})",
        model=model.predictor,
        dataset=dataset.name,
        fitted=record.describe_rows(),
        target=dataset.target,
        positive=record.positive or "",
        seed=experiment.seed,
        background=fitted,
        rows=fitted,
        rows_words=f"the {len(fitted):,} {FITTED_ROWS}",
        parts=parts,
        parts_words=parts_words,
        scoring=make_scoring(experiment),
        file_stem=run.stored.run_id[:SHOWN_LETTERS],
    )


def make_version_subject(model: Model, run: LoadedRun, folds: Sequence[FoldResult]) -> Subject:
    """Return a registered model as what is explained, with the importances of the run that it comes from.

    Parameters
    ----------
    model : Model
        Fitted on all rows, or all but a validation part, so that no rows are left to measure importances on.
    run : LoadedRun
    folds : sequence of FoldResult
    """
    experiment = run.experiment
    dataset = experiment.dataset
    record = model.record
    words = FITTED_ROWS if record.is_fitted_on_all_rows else f"rows of {dataset.name}, from which the model was made"
    parts, parts_words = list_scored_parts(experiment, folds)
    run_word = f"run {run.stored.run_id[:SHOWN_LETTERS]}"
    return Subject(
        name=f"{model.name} ({run_word}, {run.stored.name})",
        model=model.estimator,
        dataset=dataset.name,
        fitted=record.describe_rows(),
        target=record.target,
        positive=record.positive or "",
        seed=experiment.seed,
        background=dataset.X,
        rows=dataset.X,
        rows_words=f"the {len(dataset.X):,} {words}",
        parts=parts,
        parts_words=parts_words,
        scoring=make_scoring(experiment),
        facts=(
            f"The model has no test rows: importances are those of {run_word}, whose procedure it was fitted by. "
            "Everything else is of the model itself.",
        ),
        file_stem=model.name.replace(", version ", "-"),
    )


def make_file_subject(model: Model, rows: FileRows, run: LoadedRun | None, reason: str) -> Subject:
    """Return a stored model as what is explained, on the rows of a file.

    Parameters
    ----------
    model : Model
    rows : FileRows
    run : LoadedRun or None
        The run that the model comes from; None if its dataset is not there.
    reason : str
        Why it is not there.
    """
    record = model.record
    m = len(rows.X)
    words = f"rows of {rows.name}"
    experiment = None if run is None else run.experiment
    parts, parts_words = _list_parts(model, rows, experiment)
    subject = Subject(
        name=model.name or f"run {record.run_id[:SHOWN_LETTERS]} ({record.run_name})",
        model=model.estimator,
        dataset=record.dataset,
        fitted=record.describe_rows(),
        target=rows.target,
        positive=record.positive or "",
        seed=0 if experiment is None else experiment.seed,
        background=rows.X,
        rows=rows.X,
        rows_words=f"the {m:,} {words}",
        parts=parts,
        parts_words=parts_words,
        scoring=None if experiment is None else make_scoring(experiment),
        facts=(f"Explained on the {m:,} {words}.",),
        file_stem=rows.name.rpartition(".")[0] or rows.name,
    )
    if run is None:
        note = f"The rows that the model was fitted on are not there; those of the file stand for them. {reason}"
        return replace(subject, facts=(*subject.facts, note))
    dataset = run.experiment.dataset
    return replace(
        subject,
        positive=record.positive or ("" if dataset.positive is None else str(dataset.positive)),
        background=_select_fitted_rows(model, run),
        facts=(*subject.facts, *_describe_copies(rows, run.experiment)),
    )


def _select_fitted_rows(model: Model, run: LoadedRun) -> pd.DataFrame:
    """Return the rows that a model was fitted on; of a registered one, all rows that it was made from."""
    X = run.experiment.dataset.X
    if model.name:
        return X
    split = run.splits.refit or run.splits.folds[-1]
    return X.iloc[np.unique(split.train)]


def _describe_copies(rows: FileRows, experiment: Experiment) -> list[str]:
    """Return how many rows of a file are rows of the dataset, on which scores and importances are optimistic."""
    known = set(_hash_rows(experiment.dataset.X))
    n_copies = sum(code in known for code in _hash_rows(rows.X))
    if not n_copies:
        return []
    copies = count_nouns(n_copies, "row of the file is equal to a row", "rows of the file are equal to rows")
    return [
        f"{copies} of {experiment.dataset.name}, which the model may have been fitted on: on them, "
        "importances are those of what it remembers."
    ]


def _hash_rows(X: pd.DataFrame) -> list[int]:
    """Return a code for each row, by the text of its cells, so that types and categories do not matter."""
    text = X.astype(object).where(X.notna(), None).astype(str)
    codes: list[int] = pd.util.hash_pandas_object(text, index=False).tolist()
    return codes


def _list_parts(model: Model, rows: FileRows, experiment: Experiment | None) -> tuple[list[ScoredPart], str]:
    """Return the rows of a file with known targets, and which these are, or why there are none."""
    target = rows.target
    if rows.truth is None:
        return [], f"{rows.name} has no column {target!r}, so that there is nothing to score"
    if experiment is None:
        return [], "the score of the run needs its dataset, which is not there"
    is_known = ~pd.isna(rows.truth)
    n_known = int(is_known.sum())
    if n_known < 2:
        return [], f"{n_known} rows of {rows.name} have a {target} that the model knows"
    labels_type = experiment.dataset.y.dtype
    truth = rows.truth[is_known].astype(labels_type)
    rest = f" whose {target} the model knows, of {len(rows.X):,}" if n_known < len(rows.X) else ""
    return [ScoredPart(model.estimator, rows.X[is_known], truth)], f"the {n_known:,} rows of {rows.name}{rest}"
