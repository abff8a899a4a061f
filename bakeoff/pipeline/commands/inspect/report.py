"""An inspection on a terminal, as a self-contained HTML file, and as the YAML file of a dataset."""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from bakeoff.pipeline.commands.inspect.profile import Histogram, TableProfile
from bakeoff.pipeline.config.compose_job import compose_parts
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.table import FEATURE, TARGET
from bakeoff.pipeline.tables.markup import render_template
from bakeoff.pipeline.tables.table import TEXT, Cell, Row, Table, make_table, print_table
from bakeoff.pipeline.text.wording import (
    count_nouns,
    cut_text,
    escape,
    escape_text,
    format_count,
    format_percent,
    format_score,
    make_console,
    show_in_line,
)

TEMPLATE = Path(__file__).parent / "page.html"
MAX_PRINTED_VALUES = 3
MAX_VALUE_LETTERS = 16
DATASET_TEMPLATE = Path(__file__).parent / "dataset.yaml.template"
CONFIRMED = re.compile(r"dataset\.(\w+)=(\w+)(?=[\w=. ]* confirms it\)\.$)")
"""A key in a note on a guess."""
FOUND_KEYS = ("target", "task", "numeric", "nominal", "drop", "units")
"""The keys that the findings decide, including what was given for them."""


def print_profile(profile: TableProfile) -> None:
    """Print an inspected table to standard output, with a row for each column, followed by suspicions."""
    console = make_console()
    goal = f", {profile.task} of {profile.target}" if profile.target is not None else ""
    size = f"{count_nouns(profile.n_rows, 'row')}, {count_nouns(len(profile.columns), 'column')}{goal}"
    console.print(f"[bold]{escape(profile.name)}[/]: {escape(size)}")
    print_table(tabulate_profile(profile), console)
    if profile.target is None:
        console.print("No target is named: add target=COLUMN for associations with it.")
    for note in profile.notes:
        console.print(f"note: {escape(note)}")
    own = [sentence for each in profile.columns for sentence in each.column.suspicions]
    for sentence in (*own, *profile.suspicions):
        console.print(f"[yellow]suspicion:[/] {escape(sentence)}")


def tabulate_profile(profile: TableProfile) -> Table:
    """Return a row per column with its inferred kind, the reason, its cells, and its association with the target."""
    has_target = profile.target is not None
    columns: Row = ["column", Cell("kind", TEXT), Cell("role", TEXT), "missing", "distinct"]
    columns += [*(["association"] if has_target else []), Cell("cells", TEXT), Cell("why", TEXT)]
    rows = []
    for each in profile.columns:
        column = each.column
        association = "" if each.association is None else format_score(each.association)
        rows.append([
            column.name,
            column.kind,
            "" if column.role == FEATURE else column.role,
            format_count(column.n_missing),
            format_count(column.n_distinct),
            *([association] if has_target else []),
            list_values(each.histogram, MAX_PRINTED_VALUES),
            column.reason,
        ])  # fmt: skip
    return make_table(profile.name, columns, rows)


def list_values(histogram: Histogram | None, n_shown: int) -> str:
    """Return the most frequent values or ranges, with their numbers of rows.

    Examples
    --------
    >>> list_values(Histogram(("female", "male"), (466, 843)), 3)
    'male (843), female (466)'
    """
    if histogram is None:
        return ""
    ranked = sorted(zip(histogram.counts, histogram.labels, strict=True), key=lambda pair: -pair[0])
    shown = [f"{cut_text(label, MAX_VALUE_LETTERS)} ({count})" for count, label in ranked[:n_shown]]
    has_further = histogram.n_other or any(count for count, _ in ranked[n_shown:])
    return ", ".join([*shown, "…"] if has_further else shown)


def render_page(profile: TableProfile) -> str:
    """Return the page of an inspection; equal inspections produce equal pages."""
    columns = [each.column for each in profile.columns]
    kinds = Counter(column.kind for column in columns if column.role == FEATURE)
    values = {
        "profile": profile,
        "kinds": ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()),
        "target": next((each for each in profile.columns if each.column.role == TARGET), None),
        "has_associations": any(each.association is not None for each in profile.columns),
        "suspicions": [*profile.suspicions, *(sentence for column in columns for sentence in column.suspicions)],
        "describe_missing": _describe_missing,
        "list_values": list_values,
    }
    return render_template(TEMPLATE, values, {"score": format_score})


def _describe_missing(n_missing: int, n_rows: int) -> str:
    """Return the number of missing cells with their fraction.

    Examples
    --------
    >>> _describe_missing(263, 1309), _describe_missing(0, 1309), _describe_missing(1, 1309)
    ('263 (20 %)', '0', '1 (< 1 %)')
    """
    return f"{format_count(n_missing)} ({format_percent(n_missing / n_rows)})" if n_missing else "0"


def write_dataset_file(profile: TableProfile, node: Mapping[str, Any]) -> str:
    """Return a file that selects the same rows and columns, with the reason for each key that was inferred.

    Parameters
    ----------
    profile : TableProfile
    node : mapping
        The configuration of the dataset.

    Raises
    ------
    UserError
        No target is named.
    """
    if profile.target is None:
        raise UserError("to=yaml needs the column to predict; add target=COLUMN.")
    defaults = compose_parts(["dataset=file"], ["dataset"])["dataset"]
    given = {key: value for key, value in node.items() if value != defaults[key] and key not in FOUND_KEYS}
    guesses = [(*found, note.partition(" (")[0]) for note in profile.notes for found in CONFIRMED.findall(note)]
    values = {"profile": profile, "given": given, "guesses": guesses}
    return render_template(DATASET_TEMPLATE, values, {"yaml": _write_value, "line": show_in_line})


def _write_value(value: Any) -> str:
    """Return a value in which OmegaConf finds no reference."""
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10**6)
    return escape_text(text.removesuffix("...\n").strip())
