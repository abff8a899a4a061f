"""Comparison of repeated results with the stored ones: every score of every fold, every table, every prediction.

Values are compared as the shortest text that restores the same number, so that a single bit makes a difference. Times
are omitted, because they are the only results that cannot be repeated.
"""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.tables.table import align_lines, make_table
from bakeoff.pipeline.text.wording import join_words
from bakeoff.pipeline.tracking import card as report
from bakeoff.pipeline.tracking.stored_runs import TABLES, Place

TIME_PREFIXES = ("time/", "fold/time/")
TIME_COLUMNS = ("fit_seconds",)
OUTPUTS = ("predict", "predict_proba", "decision_function")
MISSING = "nothing"
"""Written in place of a value that does not exist."""
UNKNOWN = "not recorded"
DECISIVE_TAGS = {
    "dataset_digest": "data",
    "splits_digest": "splits",
    "code_hash": "code of the learner and the pipeline",
    "blas": "BLAS",
    "threads": "threads",
    "mlflow.source.git.commit": "commit",
    "git_dirty": "files that differ from the commit",
    "host": "machine",
}
"""Tags of a run that may explain a difference, and their names in words."""
IDENTICAL = "identical"
DIFFERENT = "differs"
REFUSED = "refused"
MAX_DIFFERENCES_SHOWN = 12
"""Maximum number of differences shown for a run."""

Values = Mapping[tuple[str, str], str]
"""(name, place) -> value, where the place is the fold, the step, the line or the row."""


@dataclass(frozen=True)
class Difference:
    """A value that differs between the repeat and the stored run, at full precision.

    Attributes
    ----------
    name : str
        A metric, a column of a table, an output of the model, or a fact that the run has recorded about itself.
    place : str
        The place of the value; empty if a run has only one.
    stored, now : str
    """

    name: str
    place: str
    stored: str
    now: str


@dataclass(frozen=True)
class Comparison:
    """The comparison of all values of one kind, such as ``scores``."""

    what: str
    n_values: int
    differences: tuple[Difference, ...]


def compare_values(what: str, stored: Values, now: Values) -> Comparison:
    """Compare values; a value that exists on one side only is also a difference.

    Parameters
    ----------
    what : str
        The kind of values, in the plural.
    stored, now : mapping of (str, str) to str
    """
    places = {**stored, **now}
    pairs = [(*place, stored.get(place, MISSING), now.get(place, MISSING)) for place in places]
    return Comparison(what, len(pairs), tuple(Difference(*pair) for pair in pairs if pair[2] != pair[3]))


def measure_repeat(experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel) -> dict[Place, float]:
    """Return the numbers that would be stored for a repeat: (name, step) -> value."""
    values: dict[Place, float] = {(name, 0): mean for name, mean in report.summarize_folds(experiment, folds).items()}
    if len(folds) > 1:
        for fold in folds:
            values |= {(f"fold/{name}", fold.number): value for name, value in report.measure_fold(fold).items()}
    for name, series in report.get_pruning_path(model).items():
        values |= {(name, step): value for step, value in enumerate(series)}
    return {place: value for place, value in values.items() if not np.isinf(value)}


def write_scores(values: Mapping[Place, float]) -> Values:
    """Return numbers as values to compare, without times."""
    return {
        (name, _describe_step(name, step)): _write(value)
        for (name, step), value in values.items()
        if not name.startswith(TIME_PREFIXES)
    }


def _describe_step(name: str, step: int) -> str:
    """Return in words which value of a metric is meant; empty for a metric with one value."""
    if name.startswith("pruning_path/"):
        return f"step {step}"
    is_series = "/" in name and not name.startswith(("pruning/", "threshold/"))
    return f"fold {step}" if is_series else ""


def _write(number: float) -> str:
    return repr(float(number) + 0.0)  # -0.0 equals 0.0, and a database may keep either


def compare_tables(
    stored: Mapping[str, str], experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel
) -> list[Comparison]:
    """Compare the stored tables cell by cell with those of a repeat.

    Parameters
    ----------
    stored : mapping of str to str
        Name of a table -> its text as CSV.
    experiment : Experiment
    folds : sequence of FoldResult
    model : FittedModel
    """
    with TemporaryDirectory(prefix="bakeoff-") as name:
        folder = Path(name)
        report.write_tables(folder, experiment, folds, model)
        written = {table: (folder / table).read_text() for table in TABLES if (folder / table).is_file()}
    return [
        compare_values(
            f"cells of {table}", _read_cells(table, stored[table]), _read_cells(table, written.get(table, ""))
        )
        for table in TABLES
        if table in stored
    ]


def _read_cells(table: str, text: str) -> Values:
    """Return the cells of a CSV table by column and line, without times."""
    cells = {}
    names: list[str] = []
    for line, row in enumerate(csv.reader(StringIO(text, newline="")), start=1):
        names = names or row
        for position, cell in enumerate(row if line > 1 else []):
            name = names[position] if position < len(names) else f"column {position + 1}"
            if name not in TIME_COLUMNS:
                cells[f"{table} {name}", f"line {line}"] = _settle_cell(cell)
    return cells


def _settle_cell(cell: str) -> str:
    """Return a cell in a canonical spelling, because versions of pandas may write the same number differently."""
    try:
        return _write(float(cell))
    except ValueError:
        return cell


def compare_models(stored: Any, repeated: Any, dataset: Dataset) -> Comparison:
    """Compare the outputs of two fitted models for every row of a dataset.

    Parameters
    ----------
    stored, repeated : estimator
        Fitted estimators.
    dataset : Dataset
    """
    return compare_values("outputs of its model", _list_outputs(stored, dataset), _list_outputs(repeated, dataset))


def _list_outputs(model: Any, dataset: Dataset) -> Values:
    return {
        (f"model.{method}", f"row {row}"): str(output)
        for method in OUTPUTS
        if hasattr(model, method)
        for row, output in enumerate(np.asarray(getattr(model, method)(dataset.X)).tolist())
    }


def find_changes(stored: Mapping[str, str], repeated: Mapping[str, str]) -> tuple[Difference, ...]:
    """Return what was different when the stored run was made, according to the tags of both runs.

    Parameters
    ----------
    stored : mapping of str to str
        The tags of the stored run; some may be missing, such as the commit if there was no repository.
    repeated : mapping of str to str
        The tags that the replay would have.
    """
    then, now = (
        {(name, ""): str(version) for name, version in json.loads(tags.get("versions", "{}")).items()}
        | {(what, ""): tags.get(tag, UNKNOWN) for tag, what in DECISIVE_TAGS.items()}
        for tags in (stored, repeated)
    )
    return compare_values("circumstances", then, now).differences


@dataclass(frozen=True)
class ReplayReport:
    """The result of the replay of a run.

    Attributes
    ----------
    run_id, name : str
    verdict : str
        The verdict: ``identical``, ``differs`` or ``refused``.
    reason : str
        Why the run differs if the reason is not a number, or why it was refused.
    comparisons : tuple of Comparison
    changes : tuple of Difference
        What was different when the stored run was made.
    notes : tuple of str
        Notes on what could not be compared.
    """

    run_id: str
    name: str
    verdict: str
    reason: str
    comparisons: tuple[Comparison, ...] = ()
    changes: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The verdict and its basis in one line."""
        words = []
        for each in self.comparisons:
            count = f"{each.n_values}" if self.verdict == IDENTICAL else f"{len(each.differences)} of {each.n_values}"
            words.append(f"{count} {each.what}")
        return f"{self.verdict}: {self.reason or join_words(words) or 'there was nothing to compare'}"

    def to_lines(self) -> list[str]:
        """Return the report as lines of text."""
        lines = [f"replay of {self.name} (run {self.run_id})", self.summary]
        lines += [f"not compared: {note}" for note in self.notes]
        if self.verdict == DIFFERENT:
            differences = [each for comparison in self.comparisons for each in comparison.differences]
            lines += _list_differences(differences[:MAX_DIFFERENCES_SHOWN])
            n_hidden = len(differences) - MAX_DIFFERENCES_SHOWN
            lines += [f"  and {n_hidden} more"] * (n_hidden > 0)
            if not self.changes:
                lines.append("nothing recorded by the run has changed since")
        if self.changes:
            lines += ["changed since the stored run:", *_list_differences(self.changes)]
        return lines


def _list_differences(differences: Sequence[Difference]) -> list[str]:
    """Return differences as the lines of a table."""
    rows = [[f"  {each.name}", each.place, each.stored, f"→ {each.now}"] for each in differences]
    return align_lines(make_table("", [""] * 4, rows)) if rows else []
