"""An inspection on a terminal: a row for each column, then what looks wrong."""

from __future__ import annotations

from bakeoff.pipeline.inspection.profile import Histogram, TableProfile
from bakeoff.pipeline.stages.dataset.table import FEATURE
from bakeoff.pipeline.tables.table import TEXT, Cell, Row, Table, make_table
from bakeoff.pipeline.tables.terminal import print_table
from bakeoff.pipeline.text.numbers import format_count, format_score
from bakeoff.pipeline.text.terminal import escape, make_console
from bakeoff.pipeline.text.words import count_nouns, cut_text

MAX_SHOWN_VALUES = 3
MAX_VALUE_LETTERS = 16


def print_profile(profile: TableProfile) -> None:
    """Print an inspected table to standard output.

    Parameters
    ----------
    profile : TableProfile
    """
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
    """Return a row for each column: what it is taken for and why, its cells, and its association with the target."""
    has_target = profile.target is not None
    columns: Row = ["column", Cell("kind", TEXT), Cell("role", TEXT), "missing", "distinct"]
    columns += [*(["association"] if has_target else []), Cell("cells", TEXT), Cell("why", TEXT)]
    rows = []
    for each in profile.columns:
        column = each.column
        is_known = each.association is not None and each.association == each.association
        association = format_score(each.association) if is_known and each.association is not None else ""
        rows.append([
            column.name,
            column.kind,
            "" if column.role == FEATURE else column.role,
            format_count(column.n_missing),
            format_count(column.n_distinct),
            *([association] if has_target else []),
            _summarize(each.histogram),
            column.reason,
        ])  # fmt: skip
    return make_table(profile.name, columns, rows)


def _summarize(histogram: Histogram | None) -> str:
    """Return the most frequent values or ranges, with their rows.

    Examples
    --------
    >>> _summarize(Histogram(("female", "male"), (466, 843)))
    'male (843), female (466)'
    """
    if histogram is None:
        return ""
    ranked = sorted(zip(histogram.counts, histogram.labels, strict=True), key=lambda pair: -pair[0])
    shown = [f"{cut_text(label, MAX_VALUE_LETTERS)} ({count})" for count, label in ranked[:MAX_SHOWN_VALUES]]
    has_further = histogram.n_other or any(count for count, _ in ranked[MAX_SHOWN_VALUES:])
    return ", ".join([*shown, "…"] if has_further else shown)
