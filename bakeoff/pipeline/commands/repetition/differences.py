"""Comparison of repeated results with earlier ones: every score, every cell of a table, every prediction.

Values are compared as the shortest text that restores the same number, so that a single bit makes a difference. Times
are omitted, because they are the only results that cannot be repeated.
"""

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.sweep.job_runner import JobResult
from bakeoff.pipeline.tables.table import align_lines, make_table
from bakeoff.pipeline.tracking import card
from bakeoff.pipeline.tracking.stored_runs import TABLES, Place

TIME_PREFIXES = ("time/", "fold/time/")
TIME_COLUMNS = ("fit_seconds",)
SCORES = "scores"
MODEL_OUTPUTS = "outputs of its model"
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
CLOSE = 1e-9
"""The tolerance for close numbers: other processors add in a different order, which only changes the last digits."""
MAX_DIFFERENCES_SHOWN = 12

Values = Mapping[tuple[str, str], str]
"""(name, place) -> value, where the place is the fold, the step, the line or the row."""
Numbers = Mapping[str, Values]
"""The kind of values, in the plural, such as ``scores`` -> the values."""


@dataclass(frozen=True)
class Difference:
    """A value that differs between two results, at full precision.

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

    @property
    def size(self) -> float:
        """The absolute difference of two numbers; infinite if a value is missing, undefined or text."""
        try:
            size = abs(float(self.stored) - float(self.now))
        except ValueError:
            return math.inf
        return math.inf if math.isnan(size) else size

    @property
    def is_close(self) -> bool:
        """Whether both values are numbers that differ only in their last digits."""
        return math.isfinite(self.size) and math.isclose(
            float(self.stored), float(self.now), rel_tol=CLOSE, abs_tol=CLOSE
        )


@dataclass(frozen=True)
class Comparison:
    """The comparison of all values of one kind, such as ``scores``."""

    what: str
    n_values: int
    differences: tuple[Difference, ...]


def compare_numbers(stored: Numbers, now: Numbers) -> list[Comparison]:
    """Compare the values of each kind that is stored; one that exists on one side only is also a difference.

    Parameters
    ----------
    stored, now : mapping of str to mapping
    """
    return [compare_values(what, values, now.get(what, {})) for what, values in stored.items()]


def compare_values(what: str, stored: Values, now: Values) -> Comparison:
    """Compare the values of one kind."""
    places = {**stored, **now}
    pairs = [(*place, stored.get(place, MISSING), now.get(place, MISSING)) for place in places]
    return Comparison(what, len(pairs), tuple(Difference(*pair) for pair in pairs if pair[2] != pair[3]))


def show_differences(differences: Sequence[Difference]) -> list[str]:
    """Return the first differences as the lines of a table, with their sizes, and the number of the others."""
    shown = differences[:MAX_DIFFERENCES_SHOWN]
    n_hidden = len(differences) - len(shown)
    return [*align_differences(shown, has_sizes=True), *[f"  and {n_hidden} more"] * (n_hidden > 0)]


def align_differences(differences: Sequence[Difference], *, has_sizes: bool = False) -> list[str]:
    """Return differences as the lines of a table."""
    rows = []
    for each in differences:
        size = f"(by {each.size:.3g})" if has_sizes and math.isfinite(each.size) else ""
        rows.append([f"  {each.name}", each.place, each.stored, f"→ {each.now}", size])
    return align_lines(make_table("", [""] * 5, rows)) if rows else []


def find_changes(stored: Mapping[str, str], repeated: Mapping[str, str]) -> tuple[Difference, ...]:
    """Return what was different when the stored run was made, according to the tags of both runs.

    Parameters
    ----------
    stored : mapping of str to str
        The tags of the stored run; some may be missing, such as the commit if there was no repository.
    repeated : mapping of str to str
        The tags that a repeat would have.
    """
    then, now = (
        {(name, ""): str(version) for name, version in json.loads(tags.get("versions", "{}")).items()}
        | {(what, ""): tags.get(tag, UNKNOWN) for tag, what in DECISIVE_TAGS.items()}
        for tags in (stored, repeated)
    )
    return compare_values("circumstances", then, now).differences


def measure_result(result: JobResult) -> dict[str, Values]:
    """Return the scores and the cells of the tables that would be stored for a result."""
    experiment, folds, model = result.prepared.experiment, result.folds, result.model
    with TemporaryDirectory(prefix="bakeoff-") as temporary:
        folder = Path(temporary)
        card.write_tables(folder, experiment, folds, model)
        tables = {table: (folder / table).read_text(encoding="utf-8") for table in TABLES if (folder / table).is_file()}
    values: dict[Place, float] = {(name, 0): mean for name, mean in card.summarize_folds(experiment, folds).items()}
    if len(folds) > 1:
        for fold in folds:
            values |= {(f"fold/{name}", fold.number): value for name, value in card.measure_fold(fold).items()}
    for name, series in card.get_pruning_path(model).items():
        values |= {(name, step): value for step, value in enumerate(series)}
    return measure_record({place: value for place, value in values.items() if not np.isinf(value)}, tables)


def measure_record(scores: Mapping[Place, float], tables: Mapping[str, str]) -> dict[str, Values]:
    """Return the numbers of a record, without times.

    Parameters
    ----------
    scores : mapping of (str, int) to float
        The name of a metric and its step -> its value.
    tables : mapping of str to str
        The name of a table -> its text as CSV.
    """
    cells = {f"cells of {name}": dict(_iterate_cells(name, text)) for name, text in tables.items()}
    return {
        SCORES: {
            (name, _describe_step(name, step)): write_number(value)
            for (name, step), value in scores.items()
            if not name.startswith(TIME_PREFIXES)
        },
        **cells,
    }


def write_number(number: float) -> str:
    """Return the shortest text that restores a number."""
    return repr(float(number) + 0.0)  # -0.0 equals 0.0, and a database may keep either


def _describe_step(name: str, step: int) -> str:
    """Return in words which value of a metric is meant; empty for a metric with one value."""
    if name.startswith("pruning_path/"):
        return f"step {step}"
    is_series = "/" in name and not name.startswith(("pruning/", "threshold/"))
    return f"fold {step}" if is_series else ""


def _iterate_cells(table: str, text: str) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the cells of a CSV table by column and line, without times."""
    names: list[str] = []
    for line, row in enumerate(csv.reader(StringIO(text, newline="")), start=1):
        names = names or row
        for position, cell in enumerate(row if line > 1 else []):
            name = names[position] if position < len(names) else f"column {position + 1}"
            if name not in TIME_COLUMNS:
                yield (f"{table} {name}", f"line {line}"), _settle_cell(cell)


def _settle_cell(cell: str) -> str:
    """Return a cell in a canonical spelling, because versions of pandas may write the same number differently."""
    try:
        return write_number(float(cell))
    except ValueError:
        return cell


def measure_model(model: Any, dataset: Dataset) -> dict[str, Values]:
    """Return the outputs of a fitted estimator for every row of a dataset."""
    outputs = {
        (f"model.{method}", f"row {row}"): str(output)
        for method in OUTPUTS
        if hasattr(model, method)
        for row, output in enumerate(np.asarray(getattr(model, method)(dataset.X)).tolist())
    }
    return {MODEL_OUTPUTS: outputs}
