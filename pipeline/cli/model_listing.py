"""The registered models of a store, as ``bakeoff list models`` prints them: a line for each version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bakeoff.pipeline.cli.arguments import parse_arguments
from bakeoff.pipeline.text.secrets import hide_secrets

if TYPE_CHECKING:
    from bakeoff.pipeline.tracking.registry import RegisteredVersion

KEYS = ("tracking.uri", "tracking.experiment")
COLUMNS = ("model", "version", "alias", "rows", "score of its run", "run")
GAP = "  "
RUN_ID_LETTERS = 8
"""Of the id of a run, as many as find it."""


def list_models(words: Sequence[str]) -> int:
    """Print the versions of all registered models, the newest of each first; return the exit code.

    Parameters
    ----------
    words : sequence of str
        ``[tracking.uri=URI] [tracking.experiment=NAME]``.

    Raises
    ------
    UserError
        There is no store, or a key is not valid.
    """
    _, values = parse_arguments("list models", words, [], KEYS)

    from bakeoff.pipeline.tracking.registry import list_versions
    from bakeoff.pipeline.tracking.store import open_store

    store = open_store(
        values.get("tracking.uri"), values.get("tracking.experiment", "bakeoff"), create=False, read_only=True
    )
    versions = sorted(list_versions(store), key=lambda each: (each.name, -each.version))
    if not versions:
        print(f"no model is registered in {hide_secrets(store.uri)}; `bakeoff ship RUN as=NAME@ALIAS` registers one")
        return 0
    rows = [COLUMNS, *(_describe_version(version) for version in versions)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(GAP.join(cells).rstrip())
    return 0


def _describe_version(version: RegisteredVersion) -> tuple[str, ...]:
    """Return the cells of a version; those that another program did not record are empty."""
    tags = version.tags
    headline = tags.get("headline", "")
    score = f"{headline} {float(tags[headline]):.4f}" if headline in tags else ""
    run = f"{version.run_id[:RUN_ID_LETTERS]} {tags.get('run_name', '')}".strip()
    return (version.name, str(version.version), ", ".join(version.aliases), tags.get("rows", ""), score, run)
