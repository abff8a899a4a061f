"""The page about a model: the rows that it was fitted on, its scores, its columns, and examples of requests."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import bakeoff
from bakeoff.pipeline.model import ColumnProfile, Model, TrainingRecord
from bakeoff.pipeline.model.json_records import format_json
from bakeoff.pipeline.model.row_report import format_percent, spell_number
from bakeoff.pipeline.serving.answer import answer_rows, format_answer
from bakeoff.pipeline.serving.request_error import RequestError
from bakeoff.pipeline.serving.request_rows import CSV_TYPE, JSON_TYPE, read_request
from bakeoff.pipeline.stages.dataset import Column
from bakeoff.pipeline.stages.dataset.column import DATE, TEXT
from bakeoff.pipeline.tables.html import render_template

TEMPLATE = Path(__file__).parent / "model_page.html"
MAX_SHOWN_VALUES = 8
MAX_SHOWN_LETTERS = 2000
"""Of the example of an answer."""
STD_SUFFIX = "_std"
PARTS = ("test", "validation", "train")
"""The parts of the data that a run scores, as its scores begin."""


@dataclass(frozen=True)
class ColumnRow:
    """What the page shows of a column.

    Attributes
    ----------
    name, kind : str
    values : str
        The range of numbers, or the most frequent values with their rows.
    missing : str
        The fraction of missing cells in training.
    """

    name: str
    kind: str
    values: str
    missing: str


@dataclass(frozen=True)
class ScoreRow:
    """A metric of the run that chose the model.

    Attributes
    ----------
    name : str
    cells : tuple of str
        For each part of `list_parts`, with the standard deviation over folds if there are several; empty if a part
        does not have the metric.
    """

    name: str
    cells: tuple[str, ...]


def render_model_page(model: Model, address: str) -> str:
    """Return the page about a model as HTML.

    Parameters
    ----------
    model : Model
    address : str
        Where it is served, such as ``http://127.0.0.1:5001``.
    """
    record = model.record
    example = make_example(record)
    body = format_json({"dataframe_records": [example]})
    values = {
        "model": model,
        "record": record,
        "title": model.name or record.run_name or record.dataset,
        "rows": record.describe_rows(),
        "parts": list_parts(record),
        "scores": list_scores(record),
        "columns": [_make_row(column, record.profiles.get(column.name)) for column in record.feature_columns],
        "json_request": _format_request(address, JSON_TYPE, f"-d {shlex.quote(body)}"),
        "csv_request": _format_request(address, CSV_TYPE, "-H 'Accept: text/csv' --data-binary @rows.csv"),
        "answer": _answer_example(model, body),
        "version": bakeoff.__version__,
    }
    return render_template(TEMPLATE, values)


def make_example(record: TrainingRecord) -> dict[str, Any]:
    """Return a row that training might have had: the median of each number, and the most frequent value of others.

    Parameters
    ----------
    record : TrainingRecord
    """
    return {column.name: _choose_cell(column, record.profiles.get(column.name)) for column in record.feature_columns}


def list_parts(record: TrainingRecord) -> list[str]:
    """Return the parts of the data that have scores, that of the test first."""
    return [part for part in PARTS if any(name.startswith(f"{part}_") for name in record.scores)]


def list_scores(record: TrainingRecord) -> list[ScoreRow]:
    """Return the scores of the run, a row for each metric, the headline first."""
    names = [name.partition("_")[2] for name in record.scores if not name.endswith(STD_SUFFIX)]
    rows = []
    for metric in dict.fromkeys(names):
        cells = tuple(_format_score(record, f"{part}_{metric}") for part in list_parts(record))
        rows.append(ScoreRow(metric.replace("_", " "), cells))
    return rows


def _format_score(record: TrainingRecord, name: str) -> str:
    value = record.scores.get(name, math.nan)
    spread = record.scores.get(f"{name}{STD_SUFFIX}", math.nan)
    if math.isnan(value):
        return ""
    has_spread = record.n_folds > 1 and not math.isnan(spread)
    return f"{value:.4f} ± {spread:.4f}" if has_spread else f"{value:.4f}"


def _choose_cell(column: Column, profile: ColumnProfile | None) -> Any:
    if profile is None:
        return column.values[0] if column.values else None
    is_mostly_missing = 2 * profile.n_missing > profile.n
    if is_mostly_missing:
        return None
    if profile.values:
        return max(profile.values, key=lambda value: profile.values[value])
    if column.kind == TEXT:
        return "text"
    if profile.minimum is None:
        return None
    middle = _find_median(profile)
    if profile.kind == DATE:
        return _spell_date(column, profile, middle)
    return int(middle) if middle.is_integer() else middle


def _spell_date(column: Column, profile: ColumnProfile, days: float) -> str:
    """Return a date as the cells of the column spell it."""
    spelled = spell_number(profile, days)
    has_own_format = "%" in column.date_format
    return datetime.fromisoformat(spelled).strftime(column.date_format) if has_own_format else spelled


def _find_median(profile: ColumnProfile) -> float:
    """Return the lower end of the bin that holds the median."""
    ends = [profile.minimum or 0.0, *profile.edges]
    n_before = 0
    for end, count in zip(ends, profile.counts, strict=True):
        n_before += count
        if 2 * n_before > profile.n_present:
            return end
    return ends[-1]


def _make_row(column: Column, profile: ColumnProfile | None) -> ColumnRow:
    values = ", ".join(column.values[:MAX_SHOWN_VALUES])
    missing = ""
    if profile is not None:
        values = _describe_cells(column, profile)
        missing = format_percent(profile.n_missing / profile.n) if profile.n else ""
    return ColumnRow(column.name, column.kind, values, missing)


def _describe_cells(column: Column, profile: ColumnProfile) -> str:
    if not profile.is_number or profile.minimum is None or profile.maximum is None:
        return _list_values({value: count for value, count in profile.values.items() if count})
    if profile.kind != DATE:
        return f"{spell_number(profile, profile.minimum)} to {spell_number(profile, profile.maximum)}"
    first = _spell_date(column, profile, profile.minimum)
    return f"{first} to {_spell_date(column, profile, profile.maximum)}"


def _list_values(counts: Mapping[str, int]) -> str:
    ranked = sorted(counts, key=lambda value: -counts[value])
    shown = ", ".join(f"{value} ({counts[value]:,})" for value in ranked[:MAX_SHOWN_VALUES])
    n_more = len(ranked) - MAX_SHOWN_VALUES
    return f"{shown} and {n_more} more" if n_more > 0 else shown


def _format_request(address: str, content_type: str, rest: str) -> str:
    return f"curl {address}/invocations -H 'Content-Type: {content_type}' {rest}"


def _answer_example(model: Model, body: str) -> str:
    """Return the answer to the example; empty if the model does not take it."""
    try:
        rows = read_request(body.encode(), JSON_TYPE)
        text = format_answer(answer_rows(model, rows), JSON_TYPE)
    except RequestError:
        return ""
    return text if len(text) <= MAX_SHOWN_LETTERS else f"{text[:MAX_SHOWN_LETTERS]}…"
