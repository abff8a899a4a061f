"""What ``bakeoff inspect`` prints: a row for each column, then what looks wrong."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from bakeoff.pipeline.inspection.profile import ColumnProfile, Histogram, TableProfile
from bakeoff.pipeline.stages.dataset.column import FEATURE
from bakeoff.pipeline.text.terminal import escape

PIPE_COLUMNS = 160
"""Width of the table where standard output is not a terminal."""
MAX_SHOWN_VALUES = 3
MAX_VALUE_LETTERS = 16


def print_profile(profile: TableProfile) -> None:
    """Print an inspected table to standard output.

    Parameters
    ----------
    profile : TableProfile
    """
    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, emoji=False, width=PIPE_COLUMNS)
    goal = f", {profile.task} of {profile.target}" if profile.target is not None else ""
    size = f"{profile.n_rows} rows, {len(profile.columns)} columns{goal}"
    console.print(f"[bold]{escape(profile.name)}[/]: {escape(size)}", soft_wrap=True)
    console.print(_tabulate(profile))
    if profile.target is None:
        console.print("No target is named: add target=COLUMN for associations with it.", soft_wrap=True)
    for note in profile.notes:
        console.print(f"note: {escape(note)}", soft_wrap=True)
    own = [sentence for each in profile.columns for sentence in each.column.suspicions]
    for sentence in (*own, *profile.suspicions):
        console.print(f"[yellow]suspicion:[/] {escape(sentence)}", soft_wrap=True)


def _tabulate(profile: TableProfile) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("column", overflow="fold")
    table.add_column("kind")
    table.add_column("role")
    for heading in ("missing", "distinct", *(["association"] if profile.target is not None else [])):
        table.add_column(heading, justify="right")
    table.add_column("cells", overflow="fold")
    table.add_column("why", overflow="fold", style="dim")
    for each in profile.columns:
        table.add_row(*_list_entries(each, has_target=profile.target is not None))
    return table


def _list_entries(profile: ColumnProfile, *, has_target: bool) -> list[str]:
    column = profile.column
    role = "" if column.role == FEATURE else column.role
    entries = [escape(column.name), column.kind, role, str(column.n_missing), str(column.n_distinct)]
    if has_target:
        is_known = profile.association is not None and profile.association == profile.association
        entries.append(f"{profile.association:.2f}" if is_known else "")
    return [*entries, escape(_summarize(profile.histogram)), escape(column.reason)]


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
    shown = [f"{_shorten(label)} ({count})" for count, label in ranked[:MAX_SHOWN_VALUES]]
    n_further = len([count for count, _ in ranked[MAX_SHOWN_VALUES:] if count])
    if n_further or histogram.n_other:
        shown.append("…")
    return ", ".join(shown)


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_VALUE_LETTERS else text[: MAX_VALUE_LETTERS - 1] + "…"
